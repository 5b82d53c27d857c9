"""Boxes around start and goals from which samples are drawn in turn, since few ways leave the smallest of them."""

from __future__ import annotations

import math

import numpy as np

from ...trajectory.limits import Array
from ..problem.subspace import Subspace

SIZES = np.array((0.6, 1.5, math.inf))[:, None]  # [rad or m] around start and goals


def rooms(space: Subspace, ends: Array) -> Array:
    """Bounds (b, 2, k) of boxes in a subspace that hold the configurations `ends` (n, dof), as far as they are within
    its bounds; the last one is all there is."""
    z = space.to_reduced(ends)
    found = np.empty((len(SIZES), 2, z.shape[1]))
    np.maximum(space.lower, np.minimum.reduce(z) - SIZES, out=found[:, 0])
    np.minimum(space.upper, np.maximum.reduce(z) + SIZES, out=found[:, 1])
    return found
