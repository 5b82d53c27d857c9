"""Meshes: loading in a confined process, caching by content, inertia and convex decomposition."""
