"""Foxit eSign as the sandbox plays it: folders, sending, signing, downloads."""
