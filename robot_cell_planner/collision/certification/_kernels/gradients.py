"""Compiled kernels of distance gradients: how fast each variable separates a hit, for planners that avoid it.

The results become part of plans, so they are computed in double precision, rounded as written. `scene` and `work` are
addresses of packed `MotionArrays` and `WorkSpace`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .arrays import (
    ALONG,
    BOX,
    CONE,
    CONVEX,
    DEPTHS,
    FRAMES,
    JOINTS,
    LANES,
    PLANES,
    SHAPES,
    SPHERES,
    SURFACE,
    Double,
)
from .distance_maps import map_gradient, store_map_depths
from .fields import (
    SHAPE_COLUMNS,
    SIZES,
    end_of_planes,
    first_object,
    first_plane,
    hit_at,
    is_prismatic,
    joint_of,
    kind_of,
    multiplier_of,
    offset_of,
    parent_of,
    second_object,
    variable_of,
)
from .hits import A_MAP, AN_OBSTACLE, contact_distance, pair_contact_distance
from .simd import ALL, below, broadcast, double, least, load, lowest_bit, real, rounded, rows, vectorised

INSIDE = 1e-6  # [m], distance below which no direction is defined
NOWHERE = math.inf


class GradientSpace(NamedTuple):
    """Work space of `hit_gradient`.

    Attributes:
        gradient: Gradient (variables,) [m per rad or m].
        poses: Poses (j, 12) of the joints, as of `compute_poses`.
        vectors: Vectors (5, 3): centres of both spheres, the direction between them, and a point in the frame of an
            obstacle with its distance.
    """

    gradient: Double
    poses: Double
    vectors: Double


def gradient_space(joints: int, variables: int) -> GradientSpace:
    """Allocate the work space for a number of joints and of variables."""
    return GradientSpace(np.zeros(variables), np.zeros((joints, 12)), np.zeros((5, 3)))


@rounded
def hit_gradient(scene: int, work: int, q: Double, space: GradientSpace) -> float:
    """Compute the distance [m] of the last hit at a configuration (variables,), and its gradient.

    The distance is that of the sphere from what it hit, negative for an overlap. The distance is infinite if no
    direction leads away: in the centre of an object, and for surfaces.
    """
    gradient = space.gradient
    gradient[:] = 0.0
    kind, which, n, m = hit_at(work, 0)
    if kind == A_MAP:
        return map_gradient(scene, which, q, gradient)
    if kind == AN_OBSTACLE:
        first, second = joint_of(scene, which), -1
    else:
        first, second = joint_of(scene, first_object(scene, which)), joint_of(scene, second_object(scene, which))
    poses, vectors = space.poses[: max(first, second) + 1], space.vectors  # joints follow their parents
    at, other, away = vectors[0], vectors[1], vectors[2]
    compute_poses(scene, q, poses)
    centre(scene, poses, first, n, at)
    if kind == AN_OBSTACLE:
        distance = distance_from(scene, m, at, away, vectors[3], vectors[4])
        contact = float(contact_distance(scene, which, n, m))
    else:
        centre(scene, poses, second, m, other)
        away[:] = at - other
        distance = unit(away)
        contact = float(pair_contact_distance(scene, which, n, m))
    if distance == NOWHERE:
        return NOWHERE
    add_gradient(scene, poses, first, at, away, 1.0, gradient)
    if second >= 0:
        add_gradient(scene, poses, second, other, away, -1.0, gradient)
    return distance - contact


@rounded
def separation_gradient(
    scene: int, q: Double, joints: tuple[int, int], first: Double, second: Double, away: Double, gradient: Double
) -> None:
    """Compute the gradient (variables,) [m per rad or m] of the distance of two objects at q (variables,).

    joints: of both objects, -1 for one that no variable moves. first, second: their closest points (3,), relative to
    the origin of the scene. away: unit vector (3,) from the second point to the first.
    """
    gradient[:] = 0.0
    poses = np.empty((rows(scene, JOINTS), 12))
    compute_poses(scene, q, poses)
    add_gradient(scene, poses, joints[0], first, away, 1.0, gradient)
    add_gradient(scene, poses, joints[1], second, away, -1.0, gradient)


@vectorised
def deepest(scene: int, work: int) -> float:
    """Return where along the last evaluated motion the hit sphere is closest to what it hit, as a fraction of the
    motion."""
    kind, which, _, _ = hit_at(work, 0)
    if kind == A_MAP:
        store_map_depths(scene, work, which)
    depths = load(work, DEPTHS, 0)
    nearest = ALL & ~below(broadcast(least(depths)), depths)
    last = LANES - 1
    while nearest >> last & 1 == 0:
        last -= 1
    # Inside an object all path parameters are equally close.
    return float(double(work, ALONG, (lowest_bit(nearest) + last) // 2))


@rounded
def compute_poses(scene: int, q: Double, poses: Double) -> None:
    """Compute the poses (j, 12) of the first j joints: the columns x, y, z of the rotation, then the position."""
    for j in range(poses.shape[0]):
        parent, f = parent_of(scene, j), 12 * j
        value = q[variable_of(scene, j)] * multiplier_of(scene, j) + offset_of(scene, j)
        prismatic = is_prismatic(scene, j)
        c, s = (1.0, 0.0) if prismatic else (math.cos(value), math.sin(value))
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
            poses[j, 6 + row], poses[j, 9 + row] = z, p + (value * z if prismatic else 0.0)


@rounded
def centre(scene: int, poses: Double, joint: int, n: int, result: Double) -> None:
    """Compute the centre of a sphere fixed to a joint."""
    for row in range(3):
        result[row] = poses[joint, 9 + row]
        for k in range(3):
            result[row] += poses[joint, 3 * k + row] * real(scene, SPHERES, 4 * n + k)


@rounded
def unit(vector: Double) -> float:
    """Normalize a vector and return its length; infinite, and unchanged, if it is close to zero."""
    length = math.sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2])
    if length < INSIDE:
        return NOWHERE
    for k in range(3):
        vector[k] /= length
    return length


@rounded
def distance_from(scene: int, k: int, at: Double, away: Double, p: Double, d: Double) -> float:
    """Compute the distance of a point from an obstacle, and the direction away from it.

    A convex mesh is represented by its highest plane. The distance is infinite if there is no direction, see
    `hit_gradient`.

    p, d: Work space (3,): the point in the frame of the obstacle, and its way from there.
    """
    kind = kind_of(scene, k)
    if kind == SURFACE:
        return NOWHERE
    if kind == CONVEX:
        return highest_plane(scene, k, at, away)
    f = SHAPE_COLUMNS * k
    for row in range(3):
        p[row] = float(real(scene, SHAPES, f + 9 + row))
        for column in range(3):
            p[row] += real(scene, SHAPES, f + 3 * row + column) * at[column]
    a, b = float(real(scene, SHAPES, f + SIZES)), float(real(scene, SHAPES, f + SIZES + 1))
    if kind == BOX:
        nearest, depth = 0, math.inf
        for row in range(3):
            size = float(real(scene, SHAPES, f + SIZES + row))
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
            # Distance from the side, the line through (radius a, height -b) and (0, b).
            slope = (across * 2.0 * b + (p[2] - b) * a) / (a * a + 4.0 * b * b)
            d[0], d[1], d[2] = slope * 2.0 * b * p[0] / across, slope * 2.0 * b * p[1] / across, slope * a
    for column in range(3):
        away[column] = 0.0
        for row in range(3):
            away[column] += real(scene, SHAPES, f + 3 * row + column) * d[row]
    return unit(away)


@rounded
def highest_plane(scene: int, k: int, at: Double, away: Double) -> float:
    """Return the maximum height of a point above the planes of a convex mesh, and the normal of that plane."""
    highest = -math.inf
    for p in range(first_plane(scene, k), end_of_planes(scene, k)):
        x, y, z = real(scene, PLANES, 4 * p), real(scene, PLANES, 4 * p + 1), real(scene, PLANES, 4 * p + 2)
        height = at[0] * x + at[1] * y + at[2] * z - real(scene, PLANES, 4 * p + 3)
        if height > highest:
            highest = height
            away[0], away[1], away[2] = x, y, z
    return highest if math.isfinite(highest) else NOWHERE


@rounded
def add_gradient(
    scene: int, poses: Double, joint: int, at: Double, away: Double, sign: float, gradient: Double
) -> None:
    """Add the speeds at which the variables move a point fixed to a joint in a direction, times a sign."""
    j = joint
    while j >= 0:
        x, y, z = poses[j, 6], poses[j, 7], poses[j, 8]
        if not is_prismatic(scene, j):
            u, v, w = at[0] - poses[j, 9], at[1] - poses[j, 10], at[2] - poses[j, 11]
            x, y, z = y * w - z * v, z * u - x * w, x * v - y * u
        speed = (x * away[0] + y * away[1] + z * away[2]) * multiplier_of(scene, j)
        gradient[variable_of(scene, j)] += sign * speed
        j = parent_of(scene, j)
