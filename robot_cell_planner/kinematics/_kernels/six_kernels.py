"""Compiled candidates of six revolute joints of a known kind, and of seven joints of which one is swept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...system.borrowed_arrays import borrowed
from ...system.compiled import compiled
from .ik_kernels import targets_without_joint, verify
from .parallel_kernels import solve_three_parallel
from .spherical_kernels import solve_spherical

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
THREE_PARALLEL = 0
SPHERICAL = 1  # plus PARALLEL or BACKWARDS or both
PARALLEL, BACKWARDS = 2, 4
FIRST_SAMPLES = 8  # after these, at least LATER_AT_ONCE are evaluated at a time
LATER_AT_ONCE = 32


@compiled
def solve_six(kind: int, axes: Array, points: Array, home: Array, targets: Array) -> tuple[Array, Counts]:
    """Compute candidates (c, 6) for poses of the tip (k, 4, 4), in their order, and the number of each (k,).

    Args:
        kind: THREE_PARALLEL, or SPHERICAL with the flags of `solve_spherical`.
        axes, points: Screws (6, 3) as the kind needs them.
        home: Pose (4, 4) of the tip at zero joint values.
    """
    if kind == THREE_PARALLEL:
        return solve_three_parallel(axes, points, home, targets)
    return solve_spherical(axes, points, kind & PARALLEL != 0, kind & BACKWARDS != 0, home, targets)


@compiled
def spread(lower: float, upper: float, near: float, count: int) -> Array:
    """Return `near` within a finite range, and `count` evenly spaced values of the range, nearest to `near` first: (1 +
    count,)."""
    values = np.empty(1 + count)
    values[0] = min(max(near, lower), upper)
    width = (upper - lower) / max(count, 1)
    right = 0
    while right < count and lower + (right + 0.5) * width < near:
        right += 1
    left = right - 1
    for place in range(1, 1 + count):
        below, above = lower + (left + 0.5) * width, lower + (right + 0.5) * width
        if right == count or (left >= 0 and near - below <= above - near):
            values[place] = below
            left -= 1
        else:
            values[place] = above
            right += 1
    return values


@compiled
def sweep(
    kind: int,
    axes: Array,
    points: Array,
    home: Array,
    chain: Array,
    last: bool,
    values: Array,
    begin: int,
    at_once: int,
    target: Array,
    rotation_weights: Array,
    seed: Array,
    limits: Array,
    angular: Array,
    tolerance: Array,
    misses: Array,
) -> tuple[Array, Array, int, int]:
    """Verify the candidates of values of a swept joint, from `begin` on, until some of them are solutions.

    Args:
        kind, axes, points, home: As in `solve_six`, of the other six joints.
        chain: Table of the seven joints, in the order of the variables.
        last: Whether the swept joint is the last one; otherwise it is the first.
        values: Values of that joint (k,), of which one is evaluated first, then `at_once`, and later more.
        target, rotation_weights, seed, limits, angular, tolerance: As in `verify`.
        misses: Filled with candidates (m, 7) that are no solutions.

    Returns:
        As `verify`, the number of values that were evaluated, and that of misses.
    """
    axes, points, home, chain, values = borrowed((axes, points, home, chain, values))
    target, rotation_weights, seed, limits = borrowed((target, rotation_weights, seed, limits))
    angular, tolerance, misses = borrowed((angular, tolerance, misses))
    place = 6 if last else 0
    missed = 0
    while begin < values.shape[0]:
        size = 1 if begin == 0 else at_once if begin < FIRST_SAMPLES else max(at_once, LATER_AT_ONCE)
        end = min(begin + size, values.shape[0])
        targets = np.empty((end - begin, 4, 4))
        targets[:] = target
        moved = targets_without_joint(chain[place], chain[7], last, targets, values[begin:end])
        six, counts = solve_six(kind, axes, points, home, moved)
        candidates = np.empty((six.shape[0], 7))
        row = 0
        for k in range(end - begin):
            for _ in range(counts[k]):
                candidates[row, place] = values[begin + k]
                for i in range(6):
                    candidates[row, i if last else i + 1] = six[row, i]
                row += 1
        found, left = verify(chain, target, rotation_weights, candidates, seed, limits, angular, tolerance)
        begin = end
        if found.shape[0]:
            return found, left, begin, missed
        for row in range(min(candidates.shape[0], misses.shape[0] - missed)):
            misses[missed] = candidates[row]
            missed += 1
    return np.empty((0, 7)), np.empty((0, 2)), begin, missed
