"""Compiled kernels that make paths shorter, on certified motions: waypoints left out, corners cut, waypoints pulled
tight. Paths are in the coordinates of a subspace; `scene` and `work` are addresses as `collision.motions` makes them.
"""

from __future__ import annotations

import math

import numpy as np

from ....collision.certification._kernels.simd import rounded
from .rrt_connect_kernels import Array, motion_free, random_share

SAME_LENGTH = 1e-9  # [rad or m]


@rounded
def place_on(path: Array, count: int, length: float, result: Array) -> int:
    """The point at a length along the first points of a path into result; returns the index of the point after it."""
    index = 1
    while True:
        span = 0.0
        for k in range(result.shape[0]):
            span += (path[index, k] - path[index - 1, k]) ** 2
        span = math.sqrt(span)
        if length <= span or index == count - 1:
            share = min(max(length / span, 0.0), 1.0) if span > 0.0 else 1.0
            for k in range(result.shape[0]):
                result[k] = path[index - 1, k] + share * (path[index, k] - path[index - 1, k])
            return index
        length -= span
        index += 1


@rounded
def length_of(path: Array, count: int) -> float:
    """Length of the first points of a path."""
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
    fruitless: int,
    least_gain: float,
    resolution: float,
    facts: Array,
) -> Array:
    """A shorter path (m, k): waypoints that are not needed are left out, and corners are cut between random points,
    `tries` times at most, until `fruitless` tries in a row gained less than a share `least_gain` of the length."""
    size, count = path.shape[1], path.shape[0]
    points = np.empty((count + 2 * tries, size))
    points[:count] = path
    count = drop_points(scene, work, origin, basis, points, count, resolution, facts)
    first, second, ends = np.empty(size), np.empty(size), np.empty((2, basis.shape[0]))
    idle, length = 0, length_of(points, count)
    for attempt in range(tries):
        if count <= 2 or idle >= fruitless:
            break
        one, other = length * random_share(seed, 2 * attempt), length * random_share(seed, 2 * attempt + 1)
        if one > other:
            one, other = other, one
        before = place_on(points, count, one, first)
        after = place_on(points, count, other, second)
        gain = other - one - distance_of(first, second)
        idle += 1
        if before >= after or gain <= least_gain * length:
            continue
        if not motion_free(scene, work, origin, basis, first, second, resolution, facts, ends):
            continue
        idle = 0
        rest = points[after:count].copy()
        points[before], points[before + 1] = first, second
        points[before + 2 : before + 2 + rest.shape[0]] = rest
        count = before + 2 + rest.shape[0]
        length = length_of(points, count)
    count = drop_points(scene, work, origin, basis, points, count, resolution, facts)
    return points[:count].copy()


@rounded
def drop_points(
    scene: int, work: int, origin: Array, basis: Array, points: Array, count: int, resolution: float, facts: Array
) -> int:
    """Leave out points whose neighbours connect directly, the first points of an array in place; returns how many are
    left."""
    index, ends = 1, np.empty((2, basis.shape[0]))
    while index < count - 1:
        if motion_free(scene, work, origin, basis, points[index - 1], points[index + 1], resolution, facts, ends):
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
    pulls: Array,
    sweeps: int,
    least_gain: float,
    resolution: float,
    facts: Array,
) -> None:
    """Pull each point of a path (n, k) but its ends, in place, towards the straight way between its neighbours, the
    first of the shares `pulls` of the way there at which the motions to them are free; again and again, `sweeps` times
    at most, until a sweep gains no more than a share `least_gain` of the length."""
    count, size = points.shape
    moved, ends = np.empty(size), np.empty((2, basis.shape[0]))
    for _ in range(sweeps):
        before = length_of(points, count)
        for index in range(1, count - 1):
            pull(scene, work, origin, basis, points[index - 1 : index + 2], pulls, moved, resolution, facts, ends)
        if before - length_of(points, count) <= least_gain * before:
            break


@rounded
def pull(
    scene: int,
    work: int,
    origin: Array,
    basis: Array,
    points: Array,
    pulls: Array,
    moved: Array,
    resolution: float,
    facts: Array,
    ends: Array,
) -> None:
    """Pull the middle one of three points, or leave it. moved: (k,) to work in."""
    size, square, along = points.shape[1], 0.0, 0.0
    for k in range(size):
        way = points[2, k] - points[0, k]
        square += way * way
        along += way * (points[1, k] - points[0, k])
    share = min(max(along / square, 0.0), 1.0) if square > 0.0 else 0.0
    length = distance_of(points[0], points[1]) + distance_of(points[1], points[2])
    for part in pulls:
        for k in range(size):
            aim = points[0, k] + share * (points[2, k] - points[0, k])
            moved[k] = points[1, k] + part * (aim - points[1, k])
        if distance_of(points[0], moved) + distance_of(moved, points[2]) >= length - SAME_LENGTH:
            continue
        if motion_free(scene, work, origin, basis, points[0], moved, resolution, facts, ends) and motion_free(
            scene, work, origin, basis, moved, points[2], resolution, facts, ends
        ):
            points[1] = moved
            return
