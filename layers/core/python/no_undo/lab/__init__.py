"""In-memory twins of the stores, for the crash lab and for tests: standard library only."""
