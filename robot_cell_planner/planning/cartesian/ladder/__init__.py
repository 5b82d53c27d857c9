"""Ladder graphs of inverse kinematic solutions along a Cartesian path, and their shortest paths."""
