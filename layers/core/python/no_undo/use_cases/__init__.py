"""One module per function; each knows ports and the domain, never an adapter."""
