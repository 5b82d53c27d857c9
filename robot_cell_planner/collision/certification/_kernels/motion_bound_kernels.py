"""Compiled kernels of bounds on the motion of points."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ....system.compiled import compiled

Floats = NDArray[np.float64]


@compiled
def cylinders_in_parent(radius: Floats, low: Floats, high: Floats, placement: Floats, ring: Floats) -> None:
    """Replace cylinders about the z axis of a frame by cylinders about that of its parent that contain them.

    radius, low, high: (n,) radius and range of z of each [m]. placement: (4, 4) of the frame in its parent.
    ring: (m, 2) corners of a polygon around the unit circle; the prisms of these polygons contain the cylinders.
    """
    for i in range(len(radius)):
        farthest, bottom, top = 0.0, math.inf, -math.inf
        for side in range(len(ring)):
            x, y = radius[i] * ring[side, 0], radius[i] * ring[side, 1]
            for z in (low[i], high[i]):
                u = placement[0, 0] * x + placement[0, 1] * y + placement[0, 2] * z + placement[0, 3]
                v = placement[1, 0] * x + placement[1, 1] * y + placement[1, 2] * z + placement[1, 3]
                w = placement[2, 0] * x + placement[2, 1] * y + placement[2, 2] * z + placement[2, 3]
                farthest, bottom, top = max(farthest, u * u + v * v), min(bottom, w), max(top, w)
        radius[i], low[i], high[i] = math.sqrt(farthest), bottom, top
