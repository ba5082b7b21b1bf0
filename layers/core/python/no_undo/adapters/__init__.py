"""Everything that talks to AWS, a vendor or a library: one module per technology and port."""
