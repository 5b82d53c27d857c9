"""Compiled kernels of sphere trees."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ....system.compiled import compiled

Floats = NDArray[np.float64]
STEPS = 200  # iterations towards the smallest enclosing sphere
MORE = 1.0 + 1e-6  # factor that rounds up radii in single precision


@compiled
def bounding_sphere(spheres: Floats) -> Floats:
    """Return a near-minimal sphere (4,) that contains all spheres (n, 4) (after Badoiu and Clarkson, 2003)."""
    count = spheres.shape[0]
    centre, best, towards = np.zeros(3), np.empty(4), np.empty(3)
    best[3] = math.inf
    for i in range(count):
        for axis in range(3):
            centre[axis] += spheres[i, axis] / count
    for step in range(1, STEPS):
        farthest, reach = 0, -1.0
        for i in range(count):
            square = 0.0
            for axis in range(3):
                square += (spheres[i, axis] - centre[axis]) ** 2
            away = math.sqrt(square) + spheres[i, 3]
            if away > reach:
                farthest, reach = i, away
        if reach < best[3]:
            best[:3], best[3] = centre, reach * MORE
        square = 0.0
        for axis in range(3):
            towards[axis] = spheres[farthest, axis] - centre[axis]
            square += towards[axis] ** 2
        if square > 0.0:
            # Move the centre towards the farthest point of that sphere, not towards its centre.
            share = (1.0 + spheres[farthest, 3] / math.sqrt(square)) / (step + 1)
            for axis in range(3):
                centre[axis] += share * towards[axis]
    return best
