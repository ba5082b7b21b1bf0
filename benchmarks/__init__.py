"""What is measured, against what, and how: `make bench` (see README.md in this folder)."""
