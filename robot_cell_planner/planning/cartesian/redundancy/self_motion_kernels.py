"""Compiled kernels of self-motion: null spaces, and selection of configurations that are apart from each other."""

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


@compiled
def find_null_spaces(jacobians: Array, bases: Array) -> None:
    """Compute orthonormal bases of null spaces.

    The Householder QR factorization with column pivoting (Golub and Van Loan, "Matrix Computations", 2013, 5.4) of a
    transposed Jacobian has the basis in the last columns of Q, also if rows are zero or depend on each other.

    Args:
        jacobians: Matrices (k, m, n) of rank n - r or less.
        bases: Set to the bases (k, n, r).
    """
    count, m, n = jacobians.shape
    redundancy = bases.shape[2]
    rank = n - redundancy
    rows, factors = np.empty((m, n)), np.empty(rank)
    for k in range(count):
        rows[:, :] = jacobians[k]
        for step in range(rank):
            largest, pivot = -1.0, step
            for row in range(step, m):
                square = 0.0
                for i in range(step, n):
                    square += rows[row, i] * rows[row, i]
                if square > largest:
                    largest, pivot = square, row
            for i in range(n):
                rows[step, i], rows[pivot, i] = rows[pivot, i], rows[step, i]
            # The Householder vector replaces the row from its diagonal on.
            norm = math.sqrt(largest)
            rows[step, step] += math.copysign(norm, rows[step, step])
            factors[step] = 1.0 / (norm * abs(rows[step, step])) if norm > 0.0 else 0.0
            for row in range(step + 1, m):
                product = 0.0
                for i in range(step, n):
                    product += rows[step, i] * rows[row, i]
                for i in range(step, n):
                    rows[row, i] -= factors[step] * product * rows[step, i]
        for column in range(redundancy):
            bases[k, :, column] = 0.0
            bases[k, rank + column, column] = 1.0
            for step in range(rank - 1, -1, -1):
                product = 0.0
                for i in range(step, n):
                    product += rows[step, i] * bases[k, i, column]
                for i in range(step, n):
                    bases[k, i, column] -= factors[step] * product * rows[step, i]
