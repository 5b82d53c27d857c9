"""Imports of workers before their first request, which compile the kernels or load them from disk."""

from __future__ import annotations

# Slow to import, and imported lazily elsewhere.
import scipy.linalg
import scipy.sparse.csgraph
import scipy.spatial.transform  # noqa: F401

from . import tasks
from .warm_up import KERNELS

for _, compile_kernels in KERNELS:
    compile_kernels()

__all__ = ["tasks"]
