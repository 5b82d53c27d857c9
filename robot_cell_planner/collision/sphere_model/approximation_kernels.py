"""Compiled kernels of sphere approximations: selection of spheres, and proof that they contain every simplex."""

from __future__ import annotations

import math
from heapq import heapify, heapreplace

import numpy as np
from numpy.typing import NDArray

from ...system.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int32]

WIDE = 1.0 + 1e-9  # factor against rounding errors
DEEPEST = 200  # maximum depth of the bisection stack, one entry per bisection of the initial simplex


@compiled
def depth_inside(planes: Array, x: float, y: float, z: float) -> float:
    """Return the depth of a point inside planes (m, 4) [m]; negative outside."""
    lowest = math.inf
    for k in range(planes.shape[0]):
        depth = planes[k, 3] - planes[k, 0] * x - planes[k, 1] * y - planes[k, 2] * z
        lowest = min(lowest, depth)
    return lowest


@compiled
def depths(planes: Array, points: Array) -> Array:
    """Return the depths (n,) of points (n, 3)."""
    found = np.empty(points.shape[0])
    for i in range(points.shape[0]):
        found[i] = depth_inside(planes, points[i, 0], points[i, 1], points[i, 2])
    return found


@compiled
def first_at_least(ascending: Array, count: int, value: float) -> int:
    """Return the index of the first of the first `count` values (n,) that is at least `value`; `count` if none is."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def gain(sphere: Array, slack: float, points: Array, count: int, axis: int) -> int:
    """Return how many of the first `count` points (3, n) lie within a sphere (4,) reduced by a slack [m].

    The points ascend along an axis, so that only those beside the sphere are examined.
    """
    reach = max(sphere[3] - slack, 0.0)
    square, found = reach * reach, 0
    x, y, z = sphere[0], sphere[1], sphere[2]
    wide = reach * (1.0 + 1e-9)
    first = first_at_least(points[axis], count, sphere[axis] - wide)
    for i in range(first, first_at_least(points[axis], count, sphere[axis] + wide)):
        dx, dy, dz = points[0, i] - x, points[1, i] - y, points[2, i] - z
        found += dx * dx + dy * dy + dz * dz <= square
    return found


@compiled
def choose(spheres: Array, slack: float, points: Array) -> Array:
    """Select spheres among (n, 4) that contain all points (m, 3) that any of them contains; return indices as float.

    The selection is greedy: the next sphere is the one with the most uncovered points. Since the gain of a sphere never
    increases, the sphere with the largest last known gain is evaluated first (Minoux, 1978). Covered points are
    removed.
    """
    n, left = spheres.shape[0], points.shape[0]
    axis, widest = 0, -1.0
    for k in range(3):
        wide = points[:, k].max() - points[:, k].min()
        if wide > widest:
            axis, widest = k, wide
    rest = np.ascontiguousarray(points[np.argsort(points[:, axis])].T)
    heap = [(-gain(spheres[b], slack, rest, left, axis), b) for b in range(n)]
    heapify(heap)
    fresh = np.zeros(n)
    chosen = np.empty(n)
    count = 0
    while True:
        lost, best = heap[0]
        if lost == 0:
            return chosen[:count]
        if fresh[best] != count:
            heapreplace(heap, (-gain(spheres[best], slack, rest, left, axis), best))
            fresh[best] = count
            continue
        chosen[count] = best
        count += 1
        heapreplace(heap, (0, best))
        sphere, reach = spheres[best], max(spheres[best, 3] - slack, 0.0)
        retained = 0
        for i in range(left):
            dx, dy, dz = rest[0, i] - sphere[0], rest[1, i] - sphere[1], rest[2, i] - sphere[2]
            if dx * dx + dy * dy + dz * dz > reach * reach:
                for k in range(3):
                    rest[k, retained] = rest[k, i]
                retained += 1
        left = retained


@compiled
def contains(sphere: Array, simplex: Array, slack: float) -> bool:
    """Return whether a sphere (4,) reduced by a slack [m] contains all corners (4, 3) of a simplex."""
    reach = sphere[3] - slack
    if reach <= 0.0:
        return False
    for k in range(4):
        dx, dy, dz = simplex[k, 0] - sphere[0], simplex[k, 1] - sphere[1], simplex[k, 2] - sphere[2]
        if dx * dx + dy * dy + dz * dz > reach * reach:
            return False
    return True


@compiled
def halve(simplex: Array, other: Array) -> None:
    """Bisect a simplex (4, 3) at the middle of its longest edge, in place and into `other`."""
    longest, a, b = -1.0, 0, 1
    for i in range(3):
        for j in range(i + 1, 4):
            square = 0.0
            for k in range(3):
                square += (simplex[i, k] - simplex[j, k]) ** 2
            if square > longest:
                longest, a, b = square, i, j
    other[:, :] = simplex
    for k in range(3):
        middle = 0.5 * (simplex[a, k] + simplex[b, k])
        other[a, k] = middle
        simplex[b, k] = middle


@compiled
def around_corners(simplex: Array, sphere: Array) -> None:
    """Set a sphere (4,) around the middle of a simplex (4, 3) that contains its corners, but for rounding."""
    for k in range(3):
        sphere[k] = 0.25 * (simplex[0, k] + simplex[1, k] + simplex[2, k] + simplex[3, k])
    reach = 0.0
    for i in range(4):
        away = 0.0
        for k in range(3):
            away += (simplex[i, k] - sphere[k]) ** 2
        reach = max(reach, away)
    sphere[3] = math.sqrt(reach)


@compiled
def find_container(
    part: Array, spheres: Array, slack: float, candidates: Indices, count: int, near: Indices, around: Array
) -> tuple[int, int]:
    """Return the first of `count` candidates (n,) among spheres (m, 4), reduced by a slack [m], that contains a simplex
    (4, 3), -1 if none does, and how many of them may intersect it: these are written to `near` (n,).

    around: (4,), overwritten.
    """
    around_corners(part, around)
    retained = 0
    for place in range(count):
        index = candidates[place]
        square = 0.0
        for k in range(3):
            square += (around[k] - spheres[index, k]) ** 2
        # A sphere that contains all corners contains the middle.
        reach = spheres[index, 3] - slack
        if reach > 0.0 and square <= reach * reach * WIDE and contains(spheres[index], part, slack):
            return index, 0
        most = (spheres[index, 3] + around[3]) * WIDE
        if square <= most * most:
            near[retained] = index
            retained += 1
    return -1, retained


@compiled
def longest_edge(simplex: Array) -> float:
    """Return the length of the longest edge of a simplex (4, 3)."""
    longest = 0.0
    for i in range(3):
        for j in range(i + 1, 4):
            square = 0.0
            for k in range(3):
                square += (simplex[i, k] - simplex[j, k]) ** 2
            longest = max(longest, square)
    return math.sqrt(longest)


@compiled
def around_middle(simplex: Array, planes: Array, protrusion: float) -> Array:
    """Return the sphere (4,) around the middle of a simplex that exceeds planes (m, 4) by the protrusion [m].

    Without planes, the simplex (4, 3) belongs to a surface and the depth is 0.
    """
    sphere = np.empty(4)
    for k in range(3):
        sphere[k] = 0.25 * (simplex[0, k] + simplex[1, k] + simplex[2, k] + simplex[3, k])
    depth = depth_inside(planes, sphere[0], sphere[1], sphere[2]) if planes.shape[0] > 0 else 0.0
    sphere[3] = max(depth, 0.0) + protrusion
    return sphere


@compiled
def completed(
    simplices: Array, planes: Array, spheres: Array, count: int, sizes: tuple[float, float, float], counters: Array
) -> int:
    """Return the number of spheres that contain all simplices (k, 4, 3), adding spheres where needed.

    The first `count` rows of `spheres` (n, 4) are given; a sphere is added for each part that no sphere is found to
    contain. The result is -1 if that requires more than n. With n = count this is a proof that the given spheres
    contain the simplices.

    Parts are bisected until one sphere contains each, or their longest edge is below the minimum. Both halves are only
    checked against spheres that may intersect the whole. sizes: minimum edge length, slack, protrusion [m]. facts:
    (1,), incremented by the number of parts checked.
    """
    smallest, slack, protrusion = sizes
    stack = np.empty((DEEPEST, 4, 3))
    lists = np.empty((DEEPEST, spheres.shape[0]), dtype=np.int32)  # spheres that may intersect each part
    listed = np.zeros(DEEPEST, dtype=np.int64)
    near, around = np.empty(spheres.shape[0], dtype=np.int32), np.empty(4)
    last = 0
    for s in range(simplices.shape[0]):
        stack[0] = simplices[s]
        for b in range(count):
            lists[0, b] = b
        listed[0] = count
        waiting = 1
        while waiting > 0:
            top = waiting - 1
            part = stack[top]
            counters[0] += 1.0
            if last < count and contains(spheres[last], part, slack):
                waiting -= 1
                continue
            found, retained = find_container(part, spheres, slack, lists[top], listed[top], near, around)
            if found >= 0:
                last = found
                waiting -= 1
            elif longest_edge(part) < smallest or waiting == DEEPEST:
                if count == spheres.shape[0]:
                    return -1
                spheres[count] = around_middle(part, planes, protrusion)
                if not contains(spheres[count], part, slack):
                    return -1
                for other in range(waiting):
                    lists[other, listed[other]] = count
                    listed[other] += 1
                last = count
                count += 1
            else:
                lists[top, :retained] = near[:retained]
                lists[waiting, :retained] = near[:retained]
                listed[top] = listed[waiting] = retained
                halve(part, stack[waiting])
                waiting += 1
    return count
