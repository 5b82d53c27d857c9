"""Compiled kernels of certified RRT-Connect and of shortcutting."""
