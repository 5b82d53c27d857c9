"""Cartesian path: options, waypoints, curves, points and samples along it."""
