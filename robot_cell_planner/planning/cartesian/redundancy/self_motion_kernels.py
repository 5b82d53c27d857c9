"""Compiled kernel of self-motion: selection of configurations that are apart from each other."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ....system.compiled import compiled

Array = NDArray[np.float64]
TWO_PI = 2.0 * math.pi


@compiled
def select_distinct(found: Array, candidates: Array, angular: Array, distance: float) -> NDArray[np.bool_]:
    """Return which candidates (k, n) are selected, in their order: (k,).

    A candidate is selected if some joint differs by at least a distance [rad or m], modulo 2 pi, from that of each
    configuration in `found` (c, n) and of each candidate selected before.

    angular: Whether each joint is angular (n,).
    """
    count, n = candidates.shape
    known = found.shape[0]
    selected = np.zeros(count, dtype=np.bool_)
    for k in range(count):
        apart = True
        for other in range(known + k):
            if other >= known and not selected[other - known]:
                continue
            near = True
            for i in range(n):
                value = found[other, i] if other < known else candidates[other - known, i]
                gap = value - candidates[k, i]
                if angular[i]:
                    gap -= TWO_PI * round(gap / TWO_PI)
                if abs(gap) >= distance:
                    near = False
                    break
            if near:
                apart = False
                break
        selected[k] = apart
    return selected
