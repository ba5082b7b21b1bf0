"""The `no-undo` command."""
