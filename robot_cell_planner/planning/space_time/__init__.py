"""Motions of one robot while other robots follow known trajectories."""
