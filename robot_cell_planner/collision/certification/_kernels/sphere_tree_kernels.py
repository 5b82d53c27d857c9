"""Compiled kernels of trees of balls."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ....system.compiled import compiled

Floats = NDArray[np.float64]
STEPS = 200  # towards the smallest ball that holds others
MORE = 1.0 + 1e-6  # radii in single precision are rounded up by this


@compiled
def ball_around(balls: Floats) -> Floats:
    """A ball (4,) that holds all balls (n, 4), close to the smallest (after Badoiu and Clarkson, 2003)."""
    count = balls.shape[0]
    centre, best, towards = np.zeros(3), np.empty(4), np.empty(3)
    best[3] = math.inf
    for i in range(count):
        for axis in range(3):
            centre[axis] += balls[i, axis] / count
    for step in range(1, STEPS):
        farthest, reach = 0, -1.0
        for i in range(count):
            square = 0.0
            for axis in range(3):
                square += (balls[i, axis] - centre[axis]) ** 2
            away = math.sqrt(square) + balls[i, 3]
            if away > reach:
                farthest, reach = i, away
        if reach < best[3]:
            best[:3], best[3] = centre, reach * MORE
        square = 0.0
        for axis in range(3):
            towards[axis] = balls[farthest, axis] - centre[axis]
            square += towards[axis] ** 2
        if square > 0.0:
            # The farthest point of that ball, not its centre, is what the middle has to come nearer to.
            share = (1.0 + balls[farthest, 3] / math.sqrt(square)) / (step + 1)
            for axis in range(3):
                centre[axis] += share * towards[axis]
    return best
