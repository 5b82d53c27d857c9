"""Tracking of a Cartesian path with inverse kinematics, and failure reports."""
