"""The collision node."""
