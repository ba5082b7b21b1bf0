"""A proxy between functions and the emulator that lets single AWS calls go wrong on demand."""
