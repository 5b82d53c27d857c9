"""Path planners and their registry."""
