"""Compiled kernel of a whole certified search: its ends, sampling regions, growth of both trees, shortening.

One call does all that an easy search needs; calls from Python in between would take longer than such a search.
"""

from __future__ import annotations

import math

import numpy as np

from ....collision.certification._kernels.hits import forget_hits
from ....collision.certification._kernels.simd import rounded
from ....system.borrowed_arrays import borrowed
from .motion_kernels import Array, MotionSpace, motion_free
from .rrt_connect_kernels import FOUND, GOAL_SIZE, NOT_FINISHED, START_SIZE, Trees, add_node, connected_path, grow
from .shortcut_kernels import pull_tight, shorten

UNPROVEN_ENDS = 3  # outcome of a search, beside those of `grow`
REGION_SIZES = (0.6, 1.5)  # [rad or m] around start and goals
HALF_TURN = math.pi  # a revolute joint reaches every direction within a turn; many have limits of two
SHORTCUT_TRIES, MAX_FAILED_SHORTCUTS, MIN_SHORTCUT_GAIN = 100, 25, 0.01
MIN_TIGHTEN_GAIN = 0.003  # min decrease of the length per sweep, as a fraction


@rounded
def sampling_regions(endpoints: Array, lower: Array, upper: Array) -> Array:
    """Return bounds (8, k), lower and upper of four boxes around points (n, k) within bounds (k,).

    Each box contains the one before. The third is at least a turn wide in each coordinate, the last one is all of the
    bounds.
    """
    regions = np.empty((8, lower.shape[0]))
    for k in range(lower.shape[0]):
        low = high = endpoints[0, k]
        for row in range(1, endpoints.shape[0]):
            low, high = min(low, endpoints[row, k]), max(high, endpoints[row, k])
        middle = 0.5 * (low + high)
        for number in range(2):
            regions[2 * number, k] = low - REGION_SIZES[number]
            regions[2 * number + 1, k] = high + REGION_SIZES[number]
        regions[4, k] = min(regions[2, k], middle - HALF_TURN)
        regions[5, k] = max(regions[3, k], middle + HALF_TURN)
        regions[6, k], regions[7, k] = lower[k], upper[k]
        for number in range(3):
            regions[2 * number, k] = max(lower[k], regions[2 * number, k])
            regions[2 * number + 1, k] = min(upper[k], regions[2 * number + 1, k])
    return regions


@rounded
def begin(space: MotionSpace, trees: Trees, endpoints: Array, longest: float) -> bool:
    """Make endpoints (n, k), first the start, then goals, the roots of the trees; return False, without any roots,
    unless spheres prove all of them free.
    """
    forget_hits(space.work)
    for row in range(endpoints.shape[0]):
        if not motion_free(space, endpoints[row], endpoints[row]):
            forget_hits(space.work)
            return False
    for row in range(endpoints.shape[0]):
        add_node(trees, min(row, 1), endpoints[row], -1, longest)
    return True


@rounded
def search(
    space: MotionSpace,
    limits: Array,
    bounds: Array,
    trees: Trees,
    endpoints: Array,
    is_first: bool,
    seed: int,
    longest: float,
    max_evaluated: int,
    shortens: bool,
    pull_fractions: Array,
    max_sweeps: int,
) -> tuple[int, Array, int, int]:
    """Search until a path is found or the number of configurations evaluated reaches `max_evaluated`. Another call
    continues.

    Args:
        limits: Joint limits (2, dof).
        bounds: Lower and upper bounds (2, k) of samples.
        endpoints: Start, then goals (n, k).
        is_first: Whether the trees are empty, and begin at the endpoints.
        longest: Max extension range.
        shortens: Whether a path that is found is shortened.
        pull_fractions, max_sweeps: See `pull_tight`; a shortened path is not pulled tight if there are no sweeps.

    Returns:
        The outcome as of `grow`, or UNPROVEN_ENDS; the path (n, k), without rows if there is none; and its roots in
            the trees.
    """
    space, trees, limits, bounds, endpoints = borrowed((space, trees, limits, bounds, endpoints))
    nothing = np.empty((0, trees.weights.shape[0]))
    if is_first and not begin(space, trees, endpoints, longest):
        return UNPROVEN_ENDS, nothing, -1, -1
    if trees.counts[START_SIZE] == 0 or trees.counts[GOAL_SIZE] == 0:
        return NOT_FINISHED, nothing, -1, -1
    regions = sampling_regions(endpoints, bounds[0], bounds[1])
    outcome = grow(space, limits, trees, regions, seed, longest, max_evaluated)
    if outcome != FOUND:
        return outcome, nothing, -1, -1
    path, start_root, goal_root = connected_path(trees)
    if shortens:
        path = shorten(space, path, seed, SHORTCUT_TRIES, MAX_FAILED_SHORTCUTS, MIN_SHORTCUT_GAIN)
        pull_tight(space, borrowed(path), pull_fractions, max_sweeps, MIN_TIGHTEN_GAIN)
    return outcome, path, start_root, goal_root
