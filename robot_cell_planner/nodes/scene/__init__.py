"""The scene node."""
