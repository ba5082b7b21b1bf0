"""No Undo: everything reversible runs unattended; the one irreversible step happens once."""
