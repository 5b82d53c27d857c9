"""Compiled kernels of the sphere test, vectorized over several configurations."""
