"""Turns events into typed inputs and results into answers."""
