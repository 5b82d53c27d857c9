"""Compiled kernels of covers: choosing balls, and proving that they hold every simplex."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...kinematics.compiled import compiled

Array = NDArray[np.float64]

DEEPEST = 4000  # simplices that may wait to be cut at once


@compiled
def depth_inside(planes: Array, x: float, y: float, z: float) -> float:
    """How deep a point lies inside the planes (m, 4) [m]; negative outside."""
    least = math.inf
    for k in range(planes.shape[0]):
        room = planes[k, 3] - planes[k, 0] * x - planes[k, 1] * y - planes[k, 2] * z
        least = min(least, room)
    return least


@compiled
def depths(planes: Array, points: Array) -> Array:
    """Depth (n,) of points (n, 3)."""
    found = np.empty(points.shape[0])
    for i in range(points.shape[0]):
        found[i] = depth_inside(planes, points[i, 0], points[i, 1], points[i, 2])
    return found


@compiled
def gain(ball: Array, slack: float, points: Array, open_points: Array) -> int:
    """How many of the points (n, 3) that are still open lie within a ball (4,) less a slack [m]."""
    reach = max(ball[3] - slack, 0.0)
    square, count = reach * reach, 0
    for i in range(points.shape[0]):
        dx, dy, dz = points[i, 0] - ball[0], points[i, 1] - ball[1], points[i, 2] - ball[2]
        if open_points[i] != 0.0 and dx * dx + dy * dy + dz * dz <= square:
            count += 1
    return count


@compiled
def choose(balls: Array, slack: float, points: Array) -> Array:
    """Indices, as float, of balls among (n, 4) that together hold all points that any holds: greedily, always the one
    that holds most of what is left.

    What a ball would gain never grows, so that the one with the largest last known gain is looked at first (Minoux,
    1978).
    """
    n, m = balls.shape[0], points.shape[0]
    open_points = np.ones(m)
    gains = np.empty(n)
    for b in range(n):
        gains[b] = gain(balls[b], slack, points, open_points)
    fresh = np.zeros(n)
    chosen = np.empty(n)
    count = 0
    while True:
        best = int(np.argmax(gains))
        if gains[best] <= 0.0:
            return chosen[:count]
        if fresh[best] != count:
            gains[best] = gain(balls[best], slack, points, open_points)
            fresh[best] = count
            continue
        chosen[count] = best
        count += 1
        gains[best] = 0.0
        ball, reach = balls[best], max(balls[best, 3] - slack, 0.0)
        for i in range(m):
            dx, dy, dz = points[i, 0] - ball[0], points[i, 1] - ball[1], points[i, 2] - ball[2]
            if dx * dx + dy * dy + dz * dz <= reach * reach:
                open_points[i] = 0.0


@compiled
def holds(ball: Array, simplex: Array, slack: float) -> bool:
    """Whether a ball (4,) holds all corners (4, 3) of a simplex, and with them all of it, to spare by a slack [m]."""
    reach = ball[3] - slack
    if reach <= 0.0:
        return False
    for k in range(4):
        dx, dy, dz = simplex[k, 0] - ball[0], simplex[k, 1] - ball[1], simplex[k, 2] - ball[2]
        if dx * dx + dy * dy + dz * dz > reach * reach:
            return False
    return True


@compiled
def halve(simplex: Array, other: Array) -> None:
    """Cut a simplex (4, 3) at the middle of its longest edge: one half in its place, the other in `other`."""
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
def first_gap(simplices: Array, balls: Array, smallest: float, slack: float, facts: Array) -> Array:
    """Middle (3,) of the first part of the simplices (k, 4, 3) from number facts[0] on that no ball (n, 4) is found to
    hold, parts being cut in halves until their longest edge is below `smallest` [m]; empty where all are held.

    facts: (2,); the number of the simplex in which the search ended, and how many parts were looked at.
    """
    stack = np.empty((DEEPEST, 4, 3))
    hints = np.zeros(DEEPEST, dtype=np.int64)
    last = 0
    for s in range(int(facts[0]), simplices.shape[0]):
        stack[0] = simplices[s]
        hints[0] = last
        waiting = 1
        while waiting > 0:
            part, hint = stack[waiting - 1], hints[waiting - 1]
            facts[1] += 1.0
            found = -1
            for offset in range(balls.shape[0]):
                b = hint + offset
                if b >= balls.shape[0]:
                    b -= balls.shape[0]
                if holds(balls[b], part, slack):
                    found = b
                    break
            if found >= 0:
                last = found
                waiting -= 1
                continue
            size = 0.0
            for i in range(3):
                for j in range(i + 1, 4):
                    square = 0.0
                    for k in range(3):
                        square += (part[i, k] - part[j, k]) ** 2
                    size = max(size, square)
            if size < smallest * smallest or waiting == DEEPEST:
                facts[0] = s
                middle = np.empty(3)
                for k in range(3):
                    middle[k] = 0.25 * (part[0, k] + part[1, k] + part[2, k] + part[3, k])
                return middle
            halve(part, stack[waiting])
            hints[waiting - 1] = hints[waiting] = last
            waiting += 1
    facts[0] = simplices.shape[0]
    return np.empty(0)
