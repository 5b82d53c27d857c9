"""Covering spheres: balls that together hold a solid, with a proof of it."""
