"""The planning node."""
