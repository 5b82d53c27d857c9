"""Compiled kernels of self-motion: null spaces, steps in them, and configurations that are apart from each other."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ....system.borrowed_arrays import borrowed
from ....system.compiled import compiled

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
TWO_PI = 2.0 * math.pi
MAX_SLOTS = 256  # lists of configurations by the value of a joint


@compiled
def select_distinct(found: Array, candidates: Array, angular: Array, distance: float) -> NDArray[np.bool_]:
    """Return which candidates (k, n) are selected, in their order: (k,).

    A candidate is selected if some joint differs by at least a distance [rad or m], modulo 2 pi, from that of each
    configuration in `found` (c, n) and of each candidate selected before.

    angular: Whether each joint is angular (n,).
    """
    count, n = candidates.shape
    filled = found.shape[0]
    known = np.empty((filled + count, n))  # found and selected ones, within one turn
    for row in range(filled):
        _within_one_turn(found[row], angular, known[row])
    for k in range(count):
        _within_one_turn(candidates[k], angular, known[filled + k])
    joint = _widest_joint(known, angular)
    # Those that are near have neighbouring values of this joint: lists of rows by its value, the first in `firsts`.
    slots = min(max(int(TWO_PI / distance), 1), MAX_SLOTS) if joint >= 0 else 1
    firsts, following = np.full(slots, -1), np.full(filled + count, -1)
    for row in range(filled):
        _list_row(row, known, joint, firsts, following)
    selected = np.zeros(count, dtype=np.bool_)
    for k in range(count):
        known[filled] = known[found.shape[0] + k]
        selected[k] = not _is_near_another(known, filled, angular, distance, joint, firsts, following)
        if selected[k]:
            _list_row(filled, known, joint, firsts, following)
            filled += 1
    return selected


@compiled
def _list_row(row: int, known: Array, joint: int, firsts: Integers, following: Integers) -> None:
    slot = _slot(known[row, joint], len(firsts)) if joint >= 0 else 0
    following[row], firsts[slot] = firsts[slot], row


@compiled
def _widest_joint(values: Array, angular: Array) -> int:
    """Return the angular joint with the widest range of values (k, n); -1 if there is none."""
    widest, found = -1.0, -1
    for i in range(values.shape[1] if values.shape[0] else 0):
        width = values[:, i].max() - values[:, i].min()
        if angular[i] and width > widest:
            widest, found = width, i
    return found


@compiled
def _slot(value: float, slots: int) -> int:
    """Return the list of a joint value from 0 to 2 pi."""
    return min(max(int(value * slots / TWO_PI), 0), slots - 1)


@compiled
def _is_near_another(
    known: Array,
    row: int,
    angular: Array,
    distance: float,
    joint: int,
    firsts: Integers,
    following: Integers,
) -> bool:
    """Return whether a row of `known` is nearer than a distance to one that is listed."""
    slots = len(firsts)
    middle = _slot(known[row, joint], slots) if joint >= 0 else 0
    for offset in range(-1 if slots > 1 else 0, 2 if slots > 2 else slots):
        other = firsts[(middle + offset) % slots]
        while other >= 0:
            near = True
            for i in range(known.shape[1]):
                gap = abs(known[other, i] - known[row, i])
                if angular[i] and gap > math.pi:
                    gap = TWO_PI - gap
                if gap >= distance:
                    near = False
                    break
            if near:
                return True
            other = following[other]
    return False


@compiled
def _within_one_turn(values: Array, angular: Array, found: Array) -> None:
    """Set joint values (n,) to values (n,), of which angular ones are moved to 0 to 2 pi."""
    for i in range(len(values)):
        found[i] = values[i] - TWO_PI * math.floor(values[i] / TWO_PI) if angular[i] else values[i]


@compiled
def find_null_spaces(jacobians: Array, bases: Array) -> None:
    """Compute orthonormal bases of null spaces.

    The Householder QR factorization with column pivoting (Golub and Van Loan, "Matrix Computations", 2013, 5.4) of a
    transposed Jacobian has the basis in the last columns of Q, also if rows are zero or depend on each other.

    Args:
        jacobians: Matrices (k, m, n) of rank n - r or less.
        bases: Set to the bases (k, n, r).
    """
    jacobians, bases = borrowed((jacobians, bases))
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


@compiled
def smoothing_cost(path: Array, stiffness: Array) -> float:
    """Return the sum of squared joint steps of a path (k + 1, n), weighted by stiffness (k,)."""
    total = 0.0
    for k in range(len(stiffness)):
        square = 0.0
        for i in range(path.shape[1]):
            square += (path[k + 1, i] - path[k, i]) ** 2
        total += stiffness[k] * square
    return total


@compiled
def smoothing_step(path: Array, bases: Array, stiffness: Array, damping: float) -> Array:
    """Return the steps (k + 1, n) of all configurations of a path (k + 1, n), within their null spaces, that minimize
    the quadratic model of the cost with a damping.

    The coordinates in the null spaces are the solution of a banded linear system, by its factorization L D L^T (Golub
    and Van Loan, "Matrix Computations", 2013, 4.3).

    bases: (k + 1, n, r) of the null spaces. stiffness: (k,) weights of the squared steps.
    """
    count, n, size = bases.shape
    width, rows = 2 * size, count * size
    bands = np.zeros((rows, width))  # the element of row i and column i - j is in column j
    solved = np.zeros(rows)
    for k in range(count):
        before, after = stiffness[k - 1] if k > 0 else 0.0, stiffness[k] if k < count - 1 else 0.0
        for a in range(size):
            row = k * size + a
            bands[row, 0] = damping + before + after
            for i in range(n):
                force = 0.0
                if k > 0:
                    force -= before * (path[k, i] - path[k - 1, i])
                if k < count - 1:
                    force += after * (path[k + 1, i] - path[k, i])
                solved[row] += bases[k, i, a] * force
            for b in range(size if k > 0 else 0):
                product = 0.0
                for i in range(n):
                    product += bases[k, i, a] * bases[k - 1, i, b]
                bands[row, size + a - b] = -before * product
    _solve_banded(bands, solved)
    steps = np.zeros((count, n))
    for k in range(count):
        for i in range(n):
            for a in range(size):
                steps[k, i] += bases[k, i, a] * solved[k * size + a]
    return steps


@compiled
def _solve_banded(bands: Array, values: Array) -> None:
    """Solve a symmetric positive definite system in place. bands: (m, w), as in `smoothing_step`; overwritten."""
    rows, width = bands.shape
    for row in range(rows):
        first = max(0, row - width + 1)
        for column in range(first, row + 1):
            total = bands[row, row - column]
            for other in range(max(first, column - width + 1), column):
                total -= bands[row, row - other] * bands[column, column - other] * bands[other, 0]
            bands[row, row - column] = total / bands[column, 0] if column < row else total
        for column in range(first, row):
            values[row] -= bands[row, row - column] * values[column]
    for row in range(rows):
        values[row] /= bands[row, 0]
    for row in range(rows - 1, -1, -1):
        for column in range(max(0, row - width + 1), row):
            values[column] -= bands[row, row - column] * values[row]
