"""Sampling regions: boxes around start and goals, used in turn, because few paths leave the smallest of them."""

from __future__ import annotations

import math

import numpy as np

from ...trajectory.limits import Array
from ..problem.subspace import Subspace

REGION_SIZES = np.array((0.6, 1.5))[:, None]  # [rad or m] around start and goals
HALF_TURN = math.pi  # a revolute joint reaches every direction within a turn; many have limits of two


def sampling_regions(space: Subspace, endpoints: Array) -> Array:
    """Return bounds (4, 2, k) of boxes in a subspace around configurations `endpoints` (n, dof), within the bounds of
    the subspace. Each contains the one before. The third is at least a turn wide in each coordinate, the last is the
    whole subspace.
    """
    z = space.to_reduced(endpoints)
    low, high = np.minimum.reduce(z), np.maximum.reduce(z)
    middle = 0.5 * (low + high)
    found = np.empty((len(REGION_SIZES) + 2, 2, z.shape[1]))
    np.subtract(low, REGION_SIZES, out=found[:-2, 0])
    np.add(high, REGION_SIZES, out=found[:-2, 1])
    np.minimum(found[-3, 0], middle - HALF_TURN, out=found[-2, 0])
    np.maximum(found[-3, 1], middle + HALF_TURN, out=found[-2, 1])
    found[-1, 0], found[-1, 1] = space.lower, space.upper
    np.maximum(space.lower, found[:, 0], out=found[:, 0])
    np.minimum(space.upper, found[:, 1], out=found[:, 1])
    return found
