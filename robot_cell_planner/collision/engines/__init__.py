"""Collision engines: coal and Bullet behind a common protocol."""
