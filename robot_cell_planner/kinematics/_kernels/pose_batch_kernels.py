"""Compiled kernel that verifies the candidates of many poses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...system.borrowed_arrays import borrowed
from ...system.compiled import compiled
from .chain_kernels import Array
from .ik_kernels import verify


@compiled
def verify_each(
    chain: Array,
    targets: Array,
    rotation_weights: Array,
    candidates: Array,
    counts: NDArray[np.int64],
    seed: Array,
    limits: Array,
    angular: Array,
    tolerance: Array,
) -> tuple[Array, NDArray[np.int64]]:
    """Call `verify` for each of the targets (k, 4, 4) with its number of candidates (k,), which follow each other.

    Returns:
        The solutions (c, n) of all targets in their order, and the number of each (k,).
    """
    targets, candidates = borrowed((targets, candidates))
    rows = np.empty((candidates.shape[0] + targets.shape[0], candidates.shape[1]))
    found = np.empty(targets.shape[0], dtype=np.int64)
    first, filled = 0, 0
    for k in range(targets.shape[0]):
        last = first + counts[k]
        solutions, _ = verify(
            chain, targets[k], rotation_weights, candidates[first:last], seed, limits, angular, tolerance
        )
        first, found[k] = last, solutions.shape[0]
        rows[filled : filled + found[k]] = solutions
        filled += found[k]
    return rows[:filled].copy(), found
