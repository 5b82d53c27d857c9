"""Cartesian planning: a frame follows lines and arcs through waypoints."""
