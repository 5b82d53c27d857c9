"""Planning: targets, joint space and Cartesian motions, path tools."""
