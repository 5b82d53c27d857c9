"""Compiled parts of the timing of straight motions: corners of a path, limits along segments, and profiles."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..system.borrowed_arrays import borrowed
from ..system.compiled import compiled

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@compiled
def distance(first: Floats, second: Floats) -> float:
    """Return the largest difference of two points (dof,) in any joint."""
    largest = 0.0
    for joint in range(len(first)):
        largest = max(largest, abs(second[joint] - first[joint]))
    return largest


@compiled
def is_straight(first: Floats, middle: Floats, last: Floats, same_point: float) -> bool:
    """Return whether `middle` lies between the other two points on the straight line, within rounding."""
    square, product = 0.0, 0.0
    for joint in range(len(first)):
        square += (last[joint] - first[joint]) ** 2
        product += (middle[joint] - first[joint]) * (last[joint] - first[joint])
    along = product / square if square > 0.0 else -1.0
    if not 0.0 < along < 1.0:
        return False
    off = 0.0
    for joint in range(len(first)):
        off = max(off, abs(middle[joint] - first[joint] - along * (last[joint] - first[joint])))
    return off <= same_point * max(1.0, math.sqrt(square))


@compiled
def find_corners(path: Floats, same_point: float, corners: Indices) -> int:
    """Find the corners of a path, with its first and last point, and return how many there are.

    Args:
        path: Points (n, dof); repeated ones are skipped.
        same_point: Largest difference of repeated points [rad or m].
        corners: Set to the indices of the corners, room for (n,).
    """
    path = borrowed(path)
    corners[0], count, previous = 0, 1, 0
    for index in range(1, len(path)):
        if distance(path[previous], path[index]) <= same_point:
            continue
        corner = corners[count - 1]
        if previous != corner and not is_straight(path[corner], path[previous], path[index], same_point):
            corners[count] = previous
            count += 1
        previous = index
    if previous != corners[count - 1]:
        corners[count] = previous
        count += 1
    if count > 1:
        corners[count - 1] = len(path) - 1  # repetitions of the last point belong to the last segment
    return count


@compiled
def measure_segments(corners: Floats, limits: Floats, rows: Floats) -> None:
    """Compute the lengths of straight segments, each that of its joint that moves most, and the limits along them.

    Args:
        corners: Different points (n, dof).
        limits: Limits of velocity, acceleration and jerk (3, dof).
        rows: Set to length, speed, acceleration and jerk of each segment (n - 1, 4).
    """
    corners, rows = borrowed((corners, rows))
    for segment in range(len(corners) - 1):
        length = distance(corners[segment], corners[segment + 1])
        rows[segment, 0], rows[segment, 1:] = length, math.inf
        for joint in range(corners.shape[1]):
            fraction = abs(corners[segment + 1, joint] - corners[segment, joint]) / length
            for order in range(3):
                rows[segment, 1 + order] = min(rows[segment, 1 + order], limits[order, joint] / fraction)


@compiled
def place_profile(
    profile: Floats, first: Floats, last: Floats, period: float, breaks: Floats, coefficients: Floats
) -> None:
    """Compute the pieces of a straight motion between two points (dof,) with a profile of its length.

    The profile is normalized, so that the last point is reached within rounding.

    Args:
        profile: Break of each cubic piece, the first 0, and its coefficients by ascending powers (m, 5); the last row
            has the end of the last piece.
        first, last: Ends of the motion.
        period: The motion is slowed down to the next multiple of a period [s]; 0: not slowed down.
        breaks: Set to the breaks of the motion (m,).
        coefficients: Set to those of its pieces (m - 1, 4, dof).
    """
    pieces = len(profile) - 1
    duration, factor = profile[pieces, 0], 1.0
    if period > 0.0:
        factor = max(math.ceil(duration / period - 1e-9) * period / duration, 1.0)
    span = duration - profile[pieces - 1, 0]
    end = 0.0
    for power in range(4, 0, -1):
        end = end * span + profile[pieces - 1, power]
    for piece in range(pieces):
        breaks[piece] = profile[piece, 0] * factor
        scale = 1.0 / end
        for power in range(4):
            for joint in range(len(first)):
                coefficients[piece, power, joint] = profile[piece, 1 + power] * scale * (last[joint] - first[joint])
            scale /= factor
        for joint in range(len(first)):
            coefficients[piece, 0, joint] += first[joint]
    breaks[pieces] = duration * factor
