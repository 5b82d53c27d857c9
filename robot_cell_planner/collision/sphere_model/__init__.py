"""Sphere models: spheres that together contain a collision geometry, with a proof of containment."""
