"""Redundant arms: self-motion at a pose, and smoothing along a path."""
