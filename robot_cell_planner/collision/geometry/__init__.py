"""Collision geometry: shapes, their placements, and the broad phase over their boxes."""
