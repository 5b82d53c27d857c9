"""Compiled kernels of certificates, for several configurations at once."""
