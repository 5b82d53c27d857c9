"""Compiled kernels that compute distance maps: how near convex geometries may come within a cell of joint values."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ....system.compiled import compiled

Floats = NDArray[np.float64]


@compiled
def turned(before: Floats, angle: float) -> Floats:
    """Return the product (4, 4) of a transform and a rotation about z [rad]."""
    c, s = math.cos(angle), math.sin(angle)
    result = before.copy()
    for row in range(3):
        x, y = before[row, 0], before[row, 1]
        result[row, 0], result[row, 1] = c * x + s * y, c * y - s * x
    return result


@compiled
def extent(spheres: Floats, normal: Floats) -> float:
    """Return the maximum height of spheres (m, 4) along a unit vector (3,) [m]."""
    found = -math.inf
    for m in range(spheres.shape[0]):
        height = normal[0] * spheres[m, 0] + normal[1] * spheres[m, 1] + normal[2] * spheres[m, 2]
        found = max(found, height + spheres[m, 3])
    return found


@compiled
def velocities(joint: Floats, points: Floats) -> Floats:
    """Return the velocities (k, 3) of points (k, 4) by a joint at a pose (4, 4), which turns about z [m/rad]."""
    x, y, z = joint[0, 2], joint[1, 2], joint[2, 2]
    result = np.empty((points.shape[0], 3))
    for k in range(points.shape[0]):
        u, v, w = points[k, 0] - joint[0, 3], points[k, 1] - joint[1, 3], points[k, 2] - joint[2, 3]
        result[k, 0], result[k, 1], result[k, 2] = y * w - z * v, z * u - x * w, x * v - y * u
    return result


@compiled
def lowest(
    placed: Floats, reach: Floats, by_inner: Floats, by_outer: Floats, half: Floats, normal: Floats
) -> tuple[float, int]:
    """Return the least height that a corner may have along a normal (3,) within a cell [m], and its index.

    placed: Corners (k, 4) at the middle. by_inner, by_outer: their velocities (k, 3). Others as in `bound_in_cell`.
    """
    wide, long = half[0], half[1]
    x, y, z = normal[0], normal[1], normal[2]
    least, chosen = math.inf, 0
    for k in range(placed.shape[0]):
        height = x * placed[k, 0] + y * placed[k, 1] + z * placed[k, 2] - placed[k, 3]
        speed = x * by_inner[k, 0] + y * by_inner[k, 1] + z * by_inner[k, 2]
        other = x * by_outer[k, 0] + y * by_outer[k, 1] + z * by_outer[k, 2]
        height -= wide * abs(speed) + long * abs(other)
        height -= wide * (0.5 * wide + long) * reach[k, 0] + 0.5 * long * long * reach[k, 1]
        if height < least:
            least, chosen = height, k
    return least, chosen


@compiled
def without(vector: Floats, direction: Floats) -> Floats:
    """Return the unit vector (3,) of the part of a vector normal to a direction, or of the vector if there is none."""
    square = (direction * direction).sum()
    rest = vector - direction * ((vector * direction).sum() / square) if square > 0.0 else vector
    length = math.sqrt((rest * rest).sum())
    return rest / length if length > 1e-6 else vector


@compiled
def towards(joint: Floats, normal: Floats) -> Floats:
    """Return the direction (3,) of a joint's axis on the side of a normal (3,)."""
    axis = joint[:3, 2].copy()
    return axis if (axis * normal).sum() > 0.0 else -axis


@compiled
def bound_in_cell(
    corners: Floats, reach: Floats, others: Floats, joints: Floats, middle: Floats, half: Floats, normal: Floats
) -> tuple[float, float, float]:
    """Return a lower bound of the distance of two geometries within a cell of the values of two joints [m], and the
    speeds along the normal of the corner that determines it, by the inner and the outer joint [m/rad].

    At the middle, a plane separates the corners of the moving geometry from the other geometry. Within the cell, the
    height of a corner above it changes by at most its speed along the normal, for each joint, times half the size, and
    terms of second order: the second derivative of a point by two joints is at most its distance from the axis of the
    inner one of both. A geometry that passes by is better separated by a plane along its motion, so normals without the
    parts along the velocities, and along the axes of the joints, are tried, too.

    Args:
        corners: Spheres (k, 4) whose convex hull contains the moving geometry, in the frame of the inner joint.
        reach: Maximum distances (k, 2) of the centres from the axes of the inner and the outer joint [m].
        others: Spheres (m, 4) whose convex hull contains the other geometry, in the frame before the outer joint.
        joints: Transforms (2, 4, 4) from the outer to the inner joint, and from that frame to the outer joint.
        middle: Values (2,) of the inner and the outer joint at the middle [rad].
        half: Half the sizes (2,) of the cell along both joints [rad].
        normal: Unit vector (3,) towards the moving geometry, in the frame before the outer joint.
    """
    outer = turned(joints[1], middle[1])
    inner = turned(outer @ joints[0], middle[0])
    placed = corners.copy()
    for k in range(corners.shape[0]):
        for row in range(3):
            placed[k, row] = inner[row, 3]
            for column in range(3):
                placed[k, row] += inner[row, column] * corners[k, column]
    by_inner, by_outer = velocities(inner, placed), velocities(outer, placed)
    height, chosen = lowest(placed, reach, by_inner, by_outer, half, normal)
    bound = height - extent(others, normal)
    first, second = by_inner[chosen], by_outer[chosen]
    speed, other = abs((first * normal).sum()), abs((second * normal).sum())
    if half[0] * speed + half[1] * other > 0.1 * max(bound, 0.0):
        one = without(normal, first)
        both = without(one, without(second, first))
        for along in (one, without(normal, second), both, towards(inner, normal), towards(outer, normal)):
            height, _ = lowest(placed, reach, by_inner, by_outer, half, along)
            bound = max(bound, height - extent(others, along))
    return bound, speed, other
