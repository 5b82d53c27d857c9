"""Paths: simplification, timing, validity and verification."""
