"""Start configurations of the numeric search."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .._kernels import six_kernels

Array = NDArray[np.float64]
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89)


@lru_cache(maxsize=256)
def halton(count: int, size: int, seed: int, first: int = 0) -> Array:
    """Return points (count, size) of the Halton sequence in the unit cube, from index `first` on.

    The points are shifted by a random vector that depends on the seed (Cranley and Patterson, Randomization of Number
    Theoretic Methods, 1976). Dimensions beyond the 24th repeat the bases, each with its own shift. The result must not
    be modified. scipy.stats.qmc has the sequence too, but importing it would delay the start of every worker and node.
    """
    index = np.arange(first + 1, first + count + 1)
    result = np.empty((count, size))
    for column in range(size):
        base, rest, factor, value = PRIMES[column % len(PRIMES)], index.copy(), 1.0, np.zeros(count)
        while rest.any():
            factor /= base
            value += factor * (rest % base)
            rest //= base
        result[:, column] = value
    return np.asarray((result + np.random.Generator(np.random.PCG64(seed)).random(size)) % 1.0)


def random_rotations(count: int, seed: int) -> Array:
    """Return rotation matrices (count, 3, 3) that are uniformly distributed.

    Method: Shoemake, Uniform Random Rotations, Graphics Gems III, 1992, with points of the Halton sequence.
    """
    radius, first, second = halton(count, 3, seed).T
    inner, outer = np.sqrt(1.0 - radius), np.sqrt(radius)
    first, second = 2.0 * np.pi * first, 2.0 * np.pi * second
    quaternions = inner * np.sin(first), inner * np.cos(first), outer * np.sin(second), outer * np.cos(second)
    return rotation_matrices(np.stack(quaternions, axis=1))


def rotation_matrices(quaternions: Array) -> Array:
    """Return the rotation matrices (n, 3, 3) of unit quaternions (n, 4) (x, y, z, w)."""
    x, y, z, w = quaternions.T
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )
    return np.ascontiguousarray(np.moveaxis(np.array(rows), 2, 0))


def free_rotations(axes: tuple[int, ...], count: int, seed: int) -> Array:
    """Return rotation matrices (count, 3, 3) with rotation vectors along one to three axes, evenly distributed.

    One axis: evenly spaced angles, the smallest first. Two: as random_rotations, with no component along the third.
    """
    if len(axes) == 3:
        return random_rotations(count, seed)
    quaternions = np.zeros((count, 4))
    if len(axes) == 1:
        angles = spread(-math.pi, math.pi, 0.0, count)[1:]
        quaternions[:, axes[0]], quaternions[:, 3] = np.sin(0.5 * angles), np.cos(0.5 * angles)
    else:  # uniform on a sphere, by the area of its zones
        height, turn = halton(count, 2, seed).T
        height, turn = 2.0 * height - 1.0, 2.0 * np.pi * turn
        radius = np.sqrt(1.0 - height * height)
        quaternions[:, axes[0]], quaternions[:, axes[1]] = radius * np.cos(turn), radius * np.sin(turn)
        quaternions[:, 3] = height
    return rotation_matrices(quaternions)


def spread(lower: float, upper: float, near: float, count: int) -> Array:
    """Return `near` within a range, and `count` evenly spaced values of the range, nearest to `near` first: (1 +
    count,).

    If an end is infinite, the range is 2 pi around `near`.
    """
    if not (math.isfinite(lower) and math.isfinite(upper)):
        lower, upper = max(lower, near - math.pi), min(upper, near + math.pi)
    return six_kernels.spread(lower, upper, near, count)


def random_starts(count: int, limits: Array, around: Array, seed: int, first: int = 0) -> Array:
    """Return configurations (count, n) distributed over the limits.

    Values of a joint without limits are distributed within pi of `around` (n,) [rad; m for a prismatic joint].
    """
    lower, upper = limits[0], limits[1]
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2.0 * np.pi, around - np.pi))
    high = np.where(np.isfinite(upper), upper, low + 2.0 * np.pi)
    return np.ascontiguousarray(low + halton(count, len(around), seed, first) * (high - low))
