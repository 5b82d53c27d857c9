"""Trajectories: timing, sampling and validation."""
