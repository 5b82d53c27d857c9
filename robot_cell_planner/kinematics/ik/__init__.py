"""Inverse kinematics: analytic and numeric solvers, search and failure analysis."""
