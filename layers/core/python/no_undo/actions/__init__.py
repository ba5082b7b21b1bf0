"""Irreversible actions: one module per kind, plugged into the gate through one protocol."""
