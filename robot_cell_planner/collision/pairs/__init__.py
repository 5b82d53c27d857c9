"""Pairs of collision objects that are checked, and their margins."""
