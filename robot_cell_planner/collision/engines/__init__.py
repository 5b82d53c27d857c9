"""Collision engines: coal and Bullet behind one protocol."""
