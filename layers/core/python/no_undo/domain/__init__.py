"""Rules without I/O: standard library only, no clock, no randomness."""
