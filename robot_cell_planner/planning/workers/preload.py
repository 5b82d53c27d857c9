"""Imports of workers before their first request, which compile the kernels or load them from disk."""

from __future__ import annotations

import atexit
import gc

# Slow to import, and imported lazily elsewhere.
import scipy.linalg
import scipy.sparse.csgraph  # noqa: F401

from . import tasks
from .warm_up import KERNELS

for _, compile_kernels in KERNELS:
    compile_kernels()

# A collection in a worker would write to the pages of all these objects, which it shares with the others.
gc.collect()
gc.freeze()
atexit.register(gc.unfreeze)  # or frozen objects outlive the libraries that they belong to

__all__ = ["tasks"]
