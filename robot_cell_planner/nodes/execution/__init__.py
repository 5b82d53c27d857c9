"""The execution node."""
