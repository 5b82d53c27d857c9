"""Compiled kernels: how fast each variable takes apart what was hit, for planners that go around it.

What is made of that becomes part of plans; so it is computed in double precision, rounded as it is written. `scene` and
`work` are addresses of packed `MotionArrays` and `WorkSpace`.
"""

from __future__ import annotations

import math

import numpy as np

from .arrays import (
    ALONG,
    BALLS,
    BOX,
    CARRIERS,
    CONE,
    CONVEX,
    DEPTHS,
    DRIVES,
    FRAMES,
    HITS,
    JOINTS,
    LANES,
    OBSTACLES,
    PAIRS,
    PLANES,
    SHAPES,
    SURFACE,
    Double,
)
from .hits import AN_OBSTACLE, touch_between, touch_of
from .lanes import obstacle_squares, square_between
from .simd import double, number, real, rounded, rows, store, vectorised

INSIDE = 1e-6  # [m] from which on there is no direction
NOWHERE = math.inf


@rounded
def hit_slopes(scene: int, work: int, q: Double, slopes: Double) -> float:
    """How far the ball that was hit last is from what it hit [m] at a configuration (variables,), below 0 where they
    overlap; and how fast each variable takes it from there, into slopes (variables,) [m per rad or m]. It is infinite
    where no direction leads away: in the middle of something, and from surfaces."""
    slopes[:] = 0.0
    poses, at, other, away = np.empty((rows(scene, JOINTS), 12)), np.empty(3), np.empty(3), np.empty(3)
    place(scene, q, poses)
    kind, which = number(work, HITS, 0), number(work, HITS, 1)
    n, m = number(work, HITS, 2), number(work, HITS, 3)
    if kind == AN_OBSTACLE:
        first, second = number(scene, CARRIERS, which), -1
        centre(scene, poses, first, n, at)
        distance = distance_from(scene, m, at, away)
        touch = float(touch_of(scene, which, n, m))
    else:
        first = number(scene, CARRIERS, number(scene, PAIRS, 2 * which))
        second = number(scene, CARRIERS, number(scene, PAIRS, 2 * which + 1))
        centre(scene, poses, first, n, at)
        centre(scene, poses, second, m, other)
        away[:] = at - other
        distance = unit(away)
        touch = float(touch_between(scene, which, n, m))
    if distance == NOWHERE:
        return NOWHERE
    add_slopes(scene, poses, first, at, away, 1.0, slopes)
    if second >= 0:
        add_slopes(scene, poses, second, other, away, -1.0, slopes)
    return distance - touch


@vectorised
def deepest(scene: int, work: int) -> float:
    """Where along the motion that was looked at last the ball that was hit gets nearest to what it hit, as a share of
    the motion."""
    kind, which = number(work, HITS, 0), number(work, HITS, 1)
    n, m = number(work, HITS, 2), number(work, HITS, 3)
    if kind == AN_OBSTACLE:
        store(work, DEPTHS, 0, obstacle_squares(scene, work, m, n, touch_of(scene, which, n, m), False))
    else:
        store(work, DEPTHS, 0, square_between(work, n, m))
    least, first, last = real(work, DEPTHS, 0), 0, 0
    for lane in range(1, LANES):
        depth = real(work, DEPTHS, lane)
        if depth < least:
            least, first = depth, lane
        if depth == least:
            last = lane
    # Inside of something all are equally near.
    return float(double(work, ALONG, (first + last) // 2))


@rounded
def place(scene: int, q: Double, poses: Double) -> None:
    """Poses (j, 12) of all joints at a configuration, rotations by columns: those of x, y and z, then the place."""
    for j in range(poses.shape[0]):
        parent, f = number(scene, JOINTS, 3 * j), 12 * j
        value = q[number(scene, JOINTS, 3 * j + 2)] * double(scene, DRIVES, 2 * j) + double(scene, DRIVES, 2 * j + 1)
        slide = number(scene, JOINTS, 3 * j + 1) != 0
        c, s = (1.0, 0.0) if slide else (math.cos(value), math.sin(value))
        for row in range(3):
            x, y, z, p = 0.0, 0.0, 0.0, 0.0
            if parent < 0:
                x, y = float(real(scene, FRAMES, f + 3 * row)), float(real(scene, FRAMES, f + 3 * row + 1))
                z, p = float(real(scene, FRAMES, f + 3 * row + 2)), float(real(scene, FRAMES, f + 9 + row))
            else:
                p = poses[parent, 9 + row]
                for k in range(3):
                    part = poses[parent, 3 * k + row]
                    x += part * real(scene, FRAMES, f + 3 * k)
                    y += part * real(scene, FRAMES, f + 3 * k + 1)
                    z += part * real(scene, FRAMES, f + 3 * k + 2)
                    p += part * real(scene, FRAMES, f + 9 + k)
            poses[j, row], poses[j, 3 + row] = c * x + s * y, c * y - s * x
            poses[j, 6 + row], poses[j, 9 + row] = z, p + (value * z if slide else 0.0)


@rounded
def centre(scene: int, poses: Double, joint: int, n: int, result: Double) -> None:
    """The centre of a ball that a joint carries."""
    for row in range(3):
        result[row] = poses[joint, 9 + row]
        for k in range(3):
            result[row] += poses[joint, 3 * k + row] * real(scene, BALLS, 4 * n + k)


@rounded
def unit(vector: Double) -> float:
    """The length of a vector, which is made one of length 1; infinite, and left, where it is close to nothing."""
    length = math.sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2])
    if length < INSIDE:
        return NOWHERE
    for k in range(3):
        vector[k] /= length
    return length


@rounded
def distance_from(scene: int, k: int, at: Double, away: Double) -> float:
    """The distance of a point from an obstacle, and the direction from there; of a convex mesh the highest of its
    planes stands for it. Infinite where there is none, see `hit_slopes`."""
    kind = number(scene, OBSTACLES, 5 * k)
    if kind == SURFACE:
        return NOWHERE
    if kind == CONVEX:
        return highest_plane(scene, k, at, away)
    f, p, d = 20 * k, np.empty(3), np.empty(3)
    for row in range(3):
        p[row] = float(real(scene, SHAPES, f + 9 + row))
        for column in range(3):
            p[row] += real(scene, SHAPES, f + 3 * row + column) * at[column]
    a, b = float(real(scene, SHAPES, f + 12)), float(real(scene, SHAPES, f + 13))
    if kind == BOX:
        nearest, depth = 0, math.inf
        for row in range(3):
            size = float(real(scene, SHAPES, f + 12 + row))
            d[row] = p[row] - min(max(p[row], -size), size)
            if size - abs(p[row]) < depth:
                nearest, depth = row, size - abs(p[row])
        if depth > 0.0:
            # Inside, the nearest side is the way out.
            for column in range(3):
                away[column] = math.copysign(1.0, p[nearest]) * real(scene, SHAPES, f + 3 * nearest + column)
            return -depth
    else:
        across = math.sqrt(p[0] * p[0] + p[1] * p[1])
        beyond = max(across - a, 0.0) / across if across > 0.0 else 0.0
        d[0], d[1], d[2] = beyond * p[0], beyond * p[1], p[2] - min(max(p[2], -b), b)
        if kind == CONE and (across * 2.0 * b + (p[2] - b) * a) > 0.0 and across > 0.0:
            # From the side, the line through (radius a, height -b) and (0, b).
            slope = (across * 2.0 * b + (p[2] - b) * a) / (a * a + 4.0 * b * b)
            d[0], d[1], d[2] = slope * 2.0 * b * p[0] / across, slope * 2.0 * b * p[1] / across, slope * a
    for column in range(3):
        away[column] = 0.0
        for row in range(3):
            away[column] += real(scene, SHAPES, f + 3 * row + column) * d[row]
    return unit(away)


@rounded
def highest_plane(scene: int, k: int, at: Double, away: Double) -> float:
    """The height of a point above that plane of a convex mesh which it is highest above, and the normal of that."""
    highest = -math.inf
    for p in range(number(scene, OBSTACLES, 5 * k + 3), number(scene, OBSTACLES, 5 * k + 4)):
        x, y, z = real(scene, PLANES, 4 * p), real(scene, PLANES, 4 * p + 1), real(scene, PLANES, 4 * p + 2)
        height = at[0] * x + at[1] * y + at[2] * z - real(scene, PLANES, 4 * p + 3)
        if height > highest:
            highest = height
            away[0], away[1], away[2] = x, y, z
    return highest if math.isfinite(highest) else NOWHERE


@rounded
def add_slopes(scene: int, poses: Double, joint: int, at: Double, away: Double, sign: float, slopes: Double) -> None:
    """Add how fast the variables move a point that a joint carries in a direction, times a sign."""
    j = joint
    while j >= 0:
        x, y, z = poses[j, 6], poses[j, 7], poses[j, 8]
        if number(scene, JOINTS, 3 * j + 1) == 0:
            u, v, w = at[0] - poses[j, 9], at[1] - poses[j, 10], at[2] - poses[j, 11]
            x, y, z = y * w - z * v, z * u - x * w, x * v - y * u
        speed = (x * away[0] + y * away[1] + z * away[2]) * double(scene, DRIVES, 2 * j)
        slopes[number(scene, JOINTS, 3 * j + 2)] += sign * speed
        j = number(scene, JOINTS, 3 * j)
