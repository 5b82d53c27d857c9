"""Compiled kernels that shorten paths with certified motions: waypoints removed, corners cut, waypoints pulled tight.

Paths are in the coordinates of a subspace.
"""

from __future__ import annotations

import math

import numpy as np

from ....collision.certification._kernels.simd import rounded
from ....system.borrowed_arrays import borrowed
from .motion_kernels import Array, MotionSpace, motion_free
from .rrt_connect_kernels import random_fraction

SAME_LENGTH = 1e-9  # [rad or m]


@rounded
def point_at_length(path: Array, count: int, length: float, result: Array) -> int:
    """Write the point at a length along the first points of a path to `result`; return the index of the next point."""
    index = 1
    while True:
        span = 0.0
        for k in range(result.shape[0]):
            span += (path[index, k] - path[index - 1, k]) ** 2
        span = math.sqrt(span)
        if length <= span or index == count - 1:
            parameter = min(max(length / span, 0.0), 1.0) if span > 0.0 else 1.0
            for k in range(result.shape[0]):
                result[k] = path[index - 1, k] + parameter * (path[index, k] - path[index - 1, k])
            return index
        length -= span
        index += 1


@rounded
def length_of(path: Array, count: int) -> float:
    """Return the length of the first points of a path."""
    total = 0.0
    for i in range(1, count):
        square = 0.0
        for k in range(path.shape[1]):
            square += (path[i, k] - path[i - 1, k]) ** 2
        total += math.sqrt(square)
    return total


@rounded
def distance_of(first: Array, second: Array) -> float:
    square = 0.0
    for k in range(first.shape[0]):
        square += (first[k] - second[k]) ** 2
    return math.sqrt(square)


@rounded
def shorten(space: MotionSpace, path: Array, seed: int, tries: int, max_failed: int, min_gain: float) -> Array:
    """Return a shorter path (m, k): unnecessary waypoints are removed, and corners are cut between random points.

    At most `tries` shortcuts are tried, until `max_failed` in a row gained less than `min_gain` times the length.
    """
    count, most = path.shape[0], path.shape[0] + 2 * tries
    shortened = np.empty((most + 2, path.shape[1]))
    points = borrowed(shortened)
    points[:count] = path
    count = drop_points(space, points, count)
    first, second = points[most], points[most + 1]
    failed, length = 0, length_of(points, count)
    for attempt in range(tries):
        if count <= 2 or failed >= max_failed:
            break
        from_length, to_length = (
            length * random_fraction(seed, 2 * attempt),
            length * random_fraction(seed, 2 * attempt + 1),
        )
        if from_length > to_length:
            from_length, to_length = to_length, from_length
        before = point_at_length(points, count, from_length, first)
        after = point_at_length(points, count, to_length, second)
        gain = to_length - from_length - distance_of(first, second)
        failed += 1
        if before >= after or gain <= min_gain * length:
            continue
        if not motion_free(space, first, second):
            continue
        failed = 0
        rest = points[after:count].copy()
        points[before], points[before + 1] = first, second
        points[before + 2 : before + 2 + rest.shape[0]] = rest
        count = before + 2 + rest.shape[0]
        length = length_of(points, count)
    count = drop_points(space, points, count)
    return shortened[:count].copy()


@rounded
def drop_points(space: MotionSpace, points: Array, count: int) -> int:
    """Remove points whose neighbours connect directly, in place; return the number of remaining points."""
    index = 1
    while index < count - 1:
        if motion_free(space, points[index - 1], points[index + 1]):
            for i in range(index, count - 1):
                points[i] = points[i + 1]
            count -= 1
            index = max(index - 1, 1)
        else:
            index += 1
    return count


@rounded
def pull_tight(space: MotionSpace, points: Array, pull_fractions: Array, max_sweeps: int, min_gain: float) -> None:
    """Pull each inner point of a path (n, k), in place, towards the straight line between its neighbours.

    The first of `pull_fractions` for which both motions are free is used. At most `max_sweeps` sweeps are made, until
    one gains less than `min_gain` times the length.
    """
    count, size = points.shape
    moved = np.empty(size)
    for _ in range(max_sweeps):
        before = length_of(points, count)
        for index in range(1, count - 1):
            pull(space, points[index - 1 : index + 2], pull_fractions, moved)
        if before - length_of(points, count) <= min_gain * before:
            break


@rounded
def pull(space: MotionSpace, points: Array, pull_fractions: Array, moved: Array) -> None:
    """Pull the middle of three points, if possible. moved: work space (k,)."""
    size, square, projection = points.shape[1], 0.0, 0.0
    for k in range(size):
        difference = points[2, k] - points[0, k]
        square += difference * difference
        projection += difference * (points[1, k] - points[0, k])
    parameter = min(max(projection / square, 0.0), 1.0) if square > 0.0 else 0.0
    length = distance_of(points[0], points[1]) + distance_of(points[1], points[2])
    for fraction in pull_fractions:
        for k in range(size):
            target = points[0, k] + parameter * (points[2, k] - points[0, k])
            moved[k] = points[1, k] + fraction * (target - points[1, k])
        if distance_of(points[0], moved) + distance_of(moved, points[2]) >= length - SAME_LENGTH:
            continue
        if motion_free(space, points[0], moved) and motion_free(space, moved, points[2]):
            points[1] = moved
            return
