"""Imports of workers before their first request, which compile the kernels or load them from disk."""

from __future__ import annotations

import scipy.linalg  # noqa: F401 (slow to import, and imported lazily elsewhere)

from . import tasks
from .warm_up import KERNELS

for _, compile_kernels in KERNELS:
    compile_kernels()

__all__ = ["tasks"]
