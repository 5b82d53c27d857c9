"""Distance of convex geometries by their support functions, in compiled code.

The algorithm is that of Gilbert, Johnson and Keerthi (IEEE Journal on Robotics and Automation 4(2), 1988): a simplex of
points of the difference of both geometries approaches the origin. Each vector from the origin to the simplex also
bounds the distance from below, by the gap of the geometries along it. The point of a simplex closest to the origin is
found as by Wolfe, Finding the nearest point in a polytope (Mathematical Programming 11, 1976).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...system.compiled import compiled
from .plane_kernels import DISC, Shapes, farthest_extent

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
ACCURACY = 1e-7  # [m] to which distances are computed
MAX_ITERATIONS = 60
SMALLEST_PIVOT = 1e-13  # relative; points are taken to lie in one plane or line below it
# Rows of the work space (10, 4): the points of the simplex with their weights, the closest point or direction of the
# search, the direction of the largest gap, new weights, and equations for them.
WEIGHT, CLOSEST, NORMAL, NEW_WEIGHTS, EQUATIONS, WORK_ROWS = 3, 4, 5, 6, 7, 10


@compiled
def subtract_support(
    shapes: Shapes, geometry: int, pose: Floats, vector: Floats, sign: float, total: Floats, room: Floats
) -> None:
    """Subtract, times a sign, from a total (3,): the farthest point of a geometry at a pose (4, 4) along a vector (3,)
    times the sign. room: as of `support`."""
    x = sign * (pose[0, 0] * vector[0] + pose[1, 0] * vector[1] + pose[2, 0] * vector[2])
    y = sign * (pose[0, 1] * vector[0] + pose[1, 1] * vector[1] + pose[2, 1] * vector[2])
    z = sign * (pose[0, 2] * vector[0] + pose[1, 2] * vector[1] + pose[2, 2] * vector[2])
    points, first, across = shapes.points, shapes.spans[geometry, 0], math.sqrt(x * x + y * y)
    farthest = farthest_extent(points, first, shapes.spans[geometry, 1], x, y, z, across, room)
    best = first
    while room[best - first] < farthest:
        best += 1
    disc = points[DISC, best] / across if across > 0.0 else 0.0
    x, y, z = points[0, best] + disc * x, points[1, best] + disc * y, points[2, best]
    for k in range(3):
        total[k] -= sign * (pose[k, 0] * x + pose[k, 1] * y + pose[k, 2] * z + pose[k, 3])


@compiled
def find_weights(work: Floats, count: int) -> bool:
    """Compute the weights of `count` points, of sum 1, with which their sum is closest to the origin: negative ones
    where it is outside of the simplex. False if the points lie in a line or plane."""
    size = count - 1
    for i in range(size):
        row = work[EQUATIONS + i]
        row[size] = 0.0
        for j in range(size):
            row[j] = 0.0
        for k in range(3):
            edge = work[i + 1, k] - work[0, k]
            row[size] -= edge * work[0, k]
            for j in range(size):
                row[j] += edge * (work[j + 1, k] - work[0, k])
    for i in range(size):  # elimination without pivoting: the matrix is positive definite
        scale = 0.0
        for k in range(3):
            scale += (work[i + 1, k] - work[0, k]) ** 2
        if work[EQUATIONS + i, i] <= SMALLEST_PIVOT * scale:
            return False
        for j in range(i + 1, size):
            factor = work[EQUATIONS + j, i] / work[EQUATIONS + i, i]
            for k in range(i, size + 1):
                work[EQUATIONS + j, k] -= factor * work[EQUATIONS + i, k]
    weights = work[NEW_WEIGHTS]
    weights[0] = 1.0
    for i in range(size - 1, -1, -1):
        value = work[EQUATIONS + i, size]
        for k in range(i + 1, size):
            value -= work[EQUATIONS + i, k] * weights[k + 1]
        weights[i + 1] = value / work[EQUATIONS + i, i]
        weights[0] -= weights[i + 1]
    return True


@compiled
def step_to_weights(work: Floats, count: int) -> int:
    """Move the weights towards the new ones, as far as none becomes negative. Points of weight 0 are removed; returns
    how many are left."""
    step, leaving = 1.0, -1
    for i in range(count):
        old, new = work[i, WEIGHT], work[NEW_WEIGHTS, i]
        if new <= 0.0 and (leaving < 0 or old < step * (old - new)):
            step, leaving = (old / (old - new) if old > new else 0.0), i
    left = 0
    for i in range(count):
        weight = work[i, WEIGHT] + step * (work[NEW_WEIGHTS, i] - work[i, WEIGHT])
        if i != leaving and weight > 0.0:
            for k in range(3):
                work[left, k] = work[i, k]
            work[left, WEIGHT] = weight
            left += 1
    return left


@compiled
def move_closest(work: Floats, count: int) -> int:
    """Compute the point of the simplex closest to the origin, and remove the points that it does not need. Returns how
    many are left; 0 if rounding errors prevail."""
    while True:
        if not find_weights(work, count):
            return 0
        left = step_to_weights(work, count)
        if left == count:
            break
        if left == 0:
            return 0
        count = left
    for k in range(3):
        work[CLOSEST, k] = 0.0
        for i in range(count):
            work[CLOSEST, k] += work[i, WEIGHT] * work[i, k]
    return count


@compiled
def separate(
    shapes: Shapes, i: int, j: int, pose: Floats, other: Floats, work: Floats, room: Floats
) -> tuple[float, float]:
    """Return a lower and an upper bound of the distance of two geometries at poses (4, 4) [m].

    They differ by ACCURACY at most, unless the geometries overlap or rounding errors prevail: the upper one is then
    infinite. `work[NORMAL]` becomes the direction of the lower one, from the second geometry to the first.

    Args:
        shapes: Support functions of all geometries.
        work: (10, 4), any values. room: As of `farthest_extent`.
    """
    radius = shapes.radii[i] + shapes.radii[j]
    vector = work[CLOSEST]
    lower, count, length = -math.inf, 0, math.inf
    for k in range(3):
        vector[k] = pose[k, 3] - other[k, 3]
    if vector[0] == 0.0 and vector[1] == 0.0 and vector[2] == 0.0:
        vector[0] = 1.0
    for _ in range(MAX_ITERATIONS):
        last, length = length, math.sqrt(vector[0] ** 2 + vector[1] ** 2 + vector[2] ** 2)
        if length <= ACCURACY or count == 4 or (count > 1 and length >= last):
            break
        new = work[count]
        new[0], new[1], new[2] = 0.0, 0.0, 0.0
        subtract_support(shapes, i, pose, vector, -1.0, new, room)
        subtract_support(shapes, j, other, vector, 1.0, new, room)
        gap = (new[0] * vector[0] + new[1] * vector[1] + new[2] * vector[2]) / length - radius
        if gap > lower:
            lower = gap
            for k in range(3):
                work[NORMAL, k] = vector[k] / length
        if count > 0 and length - radius - lower <= ACCURACY:
            return lower, length - radius
        new[WEIGHT] = 0.0 if count > 0 else 1.0
        count = move_closest(work, count + 1)
        if count == 0:
            break
    return lower, math.inf
