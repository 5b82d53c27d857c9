"""Ladder graphs of inverse kinematics solutions along a Cartesian path, and their shortest paths."""
