"""Planners that search for a path between configurations, and their registry."""
