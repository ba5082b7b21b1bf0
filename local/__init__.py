"""What exists only on a laptop: the emulator launcher, the stack, the vendor sandbox, the demo."""
