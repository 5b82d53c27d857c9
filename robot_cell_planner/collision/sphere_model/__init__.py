"""Sphere models: spheres that together contain a solid, with a proof of it."""
