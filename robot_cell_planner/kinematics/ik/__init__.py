"""Inverse kinematics: analytic and numeric solvers, search, and reasons for failure."""
