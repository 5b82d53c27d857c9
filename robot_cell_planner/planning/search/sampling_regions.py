"""Sampling regions: boxes around start and goals, used in turn, because few paths leave the smallest of them."""

from __future__ import annotations

import math

import numpy as np

from ...trajectory.limits import Array
from ..problem.subspace import Subspace

REGION_SIZES = np.array((0.6, 1.5, math.inf))[:, None]  # [rad or m] around start and goals


def sampling_regions(space: Subspace, endpoints: Array) -> Array:
    """Return bounds (b, 2, k) of boxes in a subspace around configurations `endpoints` (n, dof), within the bounds of
    the subspace. The last box is the whole subspace.
    """
    z = space.to_reduced(endpoints)
    found = np.empty((len(REGION_SIZES), 2, z.shape[1]))
    np.maximum(space.lower, np.minimum.reduce(z) - REGION_SIZES, out=found[:, 0])
    np.minimum(space.upper, np.maximum.reduce(z) + REGION_SIZES, out=found[:, 1])
    return found
