"""The Cartesian path: options, waypoints, segments, points and samples along it."""
