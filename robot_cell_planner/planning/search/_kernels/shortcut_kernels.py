"""Compiled kernels that shorten paths with certified motions: waypoints removed, corners cut, waypoints pulled tight.

Paths are in the coordinates of a subspace. `scene` and `work` are addresses of the packed arrays of a certifier.
"""

from __future__ import annotations

import math

import numpy as np

from ....collision.certification._kernels.simd import rounded
from .rrt_connect_kernels import Array, motion_free, random_fraction

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
def shorten(
    scene: int,
    work: int,
    origin: Array,
    basis: Array,
    path: Array,
    seed: int,
    tries: int,
    max_failed: int,
    min_gain: float,
    resolution: float,
    counters: Array,
) -> Array:
    """Return a shorter path (m, k): unnecessary waypoints are removed, and corners are cut between random points.

    At most `tries` shortcuts are tried, until `max_failed` in a row gained less than `min_gain` times the length.
    """
    size, count = path.shape[1], path.shape[0]
    points = np.empty((count + 2 * tries, size))
    points[:count] = path
    count = drop_points(scene, work, origin, basis, points, count, resolution, counters)
    first, second, ends = np.empty(size), np.empty(size), np.empty((2, basis.shape[0]))
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
        if not motion_free(scene, work, origin, basis, first, second, resolution, counters, ends):
            continue
        failed = 0
        rest = points[after:count].copy()
        points[before], points[before + 1] = first, second
        points[before + 2 : before + 2 + rest.shape[0]] = rest
        count = before + 2 + rest.shape[0]
        length = length_of(points, count)
    count = drop_points(scene, work, origin, basis, points, count, resolution, counters)
    return points[:count].copy()


@rounded
def drop_points(
    scene: int, work: int, origin: Array, basis: Array, points: Array, count: int, resolution: float, counters: Array
) -> int:
    """Remove points whose neighbours connect directly, in place; return the number of remaining points."""
    index, ends = 1, np.empty((2, basis.shape[0]))
    while index < count - 1:
        if motion_free(scene, work, origin, basis, points[index - 1], points[index + 1], resolution, counters, ends):
            for i in range(index, count - 1):
                points[i] = points[i + 1]
            count -= 1
            index = max(index - 1, 1)
        else:
            index += 1
    return count


@rounded
def tighten(
    scene: int,
    work: int,
    origin: Array,
    basis: Array,
    points: Array,
    pull_fractions: Array,
    max_sweeps: int,
    min_gain: float,
    resolution: float,
    counters: Array,
) -> None:
    """Pull each inner point of a path (n, k), in place, towards the straight line between its neighbours.

    The first of `pull_fractions` for which both motions are free is used. At most `max_sweeps` sweeps are made, until
    one gains less than `min_gain` times the length.
    """
    count, size = points.shape
    moved, ends = np.empty(size), np.empty((2, basis.shape[0]))
    for _ in range(max_sweeps):
        before = length_of(points, count)
        for index in range(1, count - 1):
            pull(
                scene,
                work,
                origin,
                basis,
                points[index - 1 : index + 2],
                pull_fractions,
                moved,
                resolution,
                counters,
                ends,
            )
        if before - length_of(points, count) <= min_gain * before:
            break


@rounded
def pull(
    scene: int,
    work: int,
    origin: Array,
    basis: Array,
    points: Array,
    pull_fractions: Array,
    moved: Array,
    resolution: float,
    counters: Array,
    ends: Array,
) -> None:
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
        if motion_free(scene, work, origin, basis, points[0], moved, resolution, counters, ends) and motion_free(
            scene, work, origin, basis, moved, points[2], resolution, counters, ends
        ):
            points[1] = moved
            return
