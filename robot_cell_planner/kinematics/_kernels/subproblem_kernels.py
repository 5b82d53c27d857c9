"""Compiled kernels of rotations about axes, the subproblems of Paden and Kahan that closed forms consist of.

See Murray, Li and Sastry, A Mathematical Introduction to Robotic Manipulation, 1994, section 3.2.
"""

from __future__ import annotations

import math

from ...system.compiled import compiled
from .chain_kernels import Array

SLACK = 1e-3  # cosines beyond 1 by at most this are of candidates at the border of the workspace
NEGLIGIBLE = 1e-12


@compiled
def dot(a: Array, b: Array) -> float:
    """Return the dot product of vectors (3,)."""
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@compiled
def perpendicular(axis: Array, result: Array) -> None:
    """Compute a vector (3,) perpendicular to a unit vector (3,) in place."""
    smallest = 0
    for i in range(3):
        if abs(axis[i]) < abs(axis[smallest]):
            smallest = i
    for i in range(3):
        result[i] = (1.0 if i == smallest else 0.0) - axis[smallest] * axis[i]


@compiled
def rotate(axis: Array, angle: float, vector: Array, result: Array) -> None:
    """Rotate a vector (3,) about a unit axis (3,), in place of `result`, which may be the vector itself (Rodrigues)."""
    s, c = math.sin(angle), math.cos(angle)
    x, y, z = vector[0], vector[1], vector[2]
    along = (1.0 - c) * (axis[0] * x + axis[1] * y + axis[2] * z)
    result[0] = c * x + s * (axis[1] * z - axis[2] * y) + along * axis[0]
    result[1] = c * y + s * (axis[2] * x - axis[0] * z) + along * axis[1]
    result[2] = c * z + s * (axis[0] * y - axis[1] * x) + along * axis[2]


@compiled
def angle_about(axis: Array, a: Array, b: Array) -> float:
    """Return the angle of the rotation about a unit axis that takes a (3,) to b (3,), as far as it can."""
    ha, hb = dot(axis, a), dot(axis, b)
    sine = (
        axis[0] * (a[1] * b[2] - a[2] * b[1])
        + axis[1] * (a[2] * b[0] - a[0] * b[2])
        + axis[2] * (a[0] * b[1] - a[1] * b[0])
    )
    return math.atan2(sine, dot(a, b) - ha * hb)


@compiled
def angles_to_distance(axis: Array, a: Array, b: Array, distance_squared: float, angles: Array) -> int:
    """Compute the angles about a unit axis after which a (3,) has a distance from b (3,), in place; return their
    number."""
    ha, hb = dot(axis, a), dot(axis, b)
    aa, bb = max(dot(a, a) - ha * ha, 0.0), max(dot(b, b) - hb * hb, 0.0)
    if aa < NEGLIGIBLE or bb < NEGLIGIBLE:
        return 0
    cosine = (aa + bb - distance_squared + (ha - hb) ** 2) / (2.0 * math.sqrt(aa * bb))
    if abs(cosine) > 1.0 + SLACK:
        return 0
    middle, half = angle_about(axis, a, b), math.acos(min(max(cosine, -1.0), 1.0))
    angles[0], angles[1] = middle + half, middle - half
    return 2 if half > 0.0 else 1


@compiled
def angles_to_height(axis: Array, vector: Array, along: Array, height: float, angles: Array) -> int:
    """Compute the angles about a unit axis after which a vector (3,) has a component along a unit vector, in place;
    return their number."""
    # The component is k + s sin(angle) + c cos(angle).
    h = dot(axis, vector)
    k = h * dot(axis, along)
    c = dot(vector, along) - k
    s = (
        along[0] * (axis[1] * vector[2] - axis[2] * vector[1])
        + along[1] * (axis[2] * vector[0] - axis[0] * vector[2])
        + along[2] * (axis[0] * vector[1] - axis[1] * vector[0])
    )
    size = math.sqrt(s * s + c * c)
    if size < NEGLIGIBLE or abs(height - k) > (1.0 + SLACK) * size:
        return 0
    middle, half = math.atan2(s, c), math.acos(min(max((height - k) / size, -1.0), 1.0))
    angles[0], angles[1] = middle + half, middle - half
    return 2 if half > 0.0 else 1


@compiled
def common_vectors(first: Array, height: float, second: Array, other: float, square: float, result: Array) -> int:
    """Compute the vectors (2, 3) with given components along two unit axes and a given square, in place; return their
    number. If there is none by rounding, the nearest one is returned."""
    d = dot(first, second)
    rest = 1.0 - d * d
    if rest < NEGLIGIBLE:
        return 0
    alpha, beta = (height - d * other) / rest, (other - d * height) / rest
    left = (square - alpha * alpha - beta * beta - 2.0 * alpha * beta * d) / rest
    if left < -SLACK * max(square, NEGLIGIBLE):
        return 0
    gamma = math.sqrt(max(left, 0.0))
    count = 2 if gamma > 0.0 else 1
    for row in range(count):
        sign = gamma if row == 0 else -gamma
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            across = first[j] * second[k] - first[k] * second[j]
            result[row, i] = alpha * first[i] + beta * second[i] + sign * across
    return count
