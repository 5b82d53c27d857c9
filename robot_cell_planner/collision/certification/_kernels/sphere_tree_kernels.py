"""Compiled kernels of sphere trees."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ....system.compiled import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
STEPS = 200  # iterations towards the smallest enclosing sphere
MORE = 1.0 + 1e-6  # factor that rounds up radii in single precision
LLOYD_STEPS = 12  # iterations of the clusters


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


@compiled
def clusters_of(points: Floats, count: int) -> Integers:
    """Return the cluster (n,) of each of points (n, 3), of at most `count`, some of which can be empty.

    Lloyd's algorithm, from points that are farthest from those before.
    """
    found = points.shape[0]
    middles = np.empty((count, 3))
    middles[0] = points[0]
    gaps = np.full(found, math.inf)
    for number in range(1, count):
        farthest, reach = 0, -1.0
        for i in range(found):
            gaps[i] = min(gaps[i], _distance(points, i, middles, number - 1))
            if gaps[i] > reach:
                farthest, reach = i, gaps[i]
        middles[number] = points[farthest]
    nearest = _nearest(points, middles)
    for _ in range(LLOYD_STEPS):
        sums, members = np.zeros((count, 3)), np.zeros(count)
        for i in range(found):
            members[nearest[i]] += 1.0
            for axis in range(3):
                sums[nearest[i], axis] += points[i, axis]
        for number in range(count):
            if members[number] > 0.0:
                for axis in range(3):
                    middles[number, axis] = sums[number, axis] / members[number]
        nearest = _nearest(points, middles)
    return nearest


@compiled
def _nearest(points: Floats, middles: Floats) -> Integers:
    """Return the index (n,) of the nearest of middles (c, 3) for each of points (n, 3)."""
    nearest = np.zeros(points.shape[0], dtype=np.int64)
    for i in range(points.shape[0]):
        closest = math.inf
        for number in range(middles.shape[0]):
            away = _distance(points, i, middles, number)
            if away < closest:
                nearest[i], closest = number, away
    return nearest


@compiled
def _distance(points: Floats, i: int, others: Floats, j: int) -> float:
    square = 0.0
    for axis in range(3):
        square += (points[i, axis] - others[j, axis]) ** 2
    return math.sqrt(square)
