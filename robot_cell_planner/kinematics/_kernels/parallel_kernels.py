"""Compiled kernel of closed-form inverse kinematics for six revolute joints, of which the second to fourth are parallel
and the last two meet (Universal Robots and similar arms).

Screws are as in `spherical_kernels`. With G = E1 ... E6 and the meeting point w of axes 5 and 6, G w = E1 E2 E3 E4 w.
Rotations about parallel axes preserve heights along them, which gives the first angle; they preserve the direction h of
these axes, which gives the fifth and the sixth angle; and what is left is a plane arm of three joints (Elias and Wen,
IK-Geo: Unified Robot Inverse Kinematics Using Subproblem Decomposition, 2024).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...system.borrowed_arrays import borrowed
from ...system.compiled import compiled
from .chain_kernels import Array
from .subproblem_kernels import angle_about, angles_to_distance, angles_to_height, dot, perpendicular, rotate

MAX_CANDIDATES = 8


@compiled
def multiply_transposed(matrix: Array, vector: Array, result: Array) -> None:
    """Compute the product of the transpose of a matrix (3, 3) and a vector (3,) in place."""
    for i in range(3):
        result[i] = matrix[0, i] * vector[0] + matrix[1, i] * vector[1] + matrix[2, i] * vector[2]


@compiled
def multiply(matrix: Array, vector: Array, result: Array) -> None:
    """Compute the product of a matrix (3, 3) and a vector (3,) in place."""
    for i in range(3):
        result[i] = matrix[i, 0] * vector[0] + matrix[i, 1] * vector[1] + matrix[i, 2] * vector[2]


@compiled
def solve_three_parallel(axes: Array, points: Array, home: Array, targets: Array) -> tuple[Array, NDArray[np.int64]]:
    """Compute candidates for poses of the tip (k, 4, 4).

    Args:
        axes, points: Screws (6, 3); the last two points are the one in which axes 5 and 6 meet.
        home: Pose (4, 4) of the tip at zero joint values.

    Returns:
        Candidates (c, 6) in the order of the targets, and the number of each (k,).
    """
    rows, counts = np.empty((MAX_CANDIDATES * targets.shape[0], 6)), np.empty(targets.shape[0], dtype=np.int64)
    axes, points, home, targets = borrowed((axes, points, home, targets))
    rotation, meeting, back, forth = np.empty((3, 3)), np.empty(3), np.empty(3), np.empty(3)
    a, b, u, v = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    first, fifth, third = np.empty(2), np.empty(2), np.empty(2)
    h = axes[1]
    filled = 0
    for k in range(targets.shape[0]):
        target, begin = targets[k], filled
        # The rotation of all joints, and how they move the meeting point.
        for i in range(3):
            for j in range(3):
                rotation[i, j] = target[i, 0] * home[j, 0] + target[i, 1] * home[j, 1] + target[i, 2] * home[j, 2]
            v[i] = points[5, i] - home[i, 3]
        multiply(rotation, v, meeting)
        for i in range(3):
            meeting[i] += target[i, 3]
            a[i] = meeting[i] - points[0, i]
            b[i] = points[5, i] - points[0, i]
        for m in range(angles_to_height(axes[0], a, h, dot(h, b), first)):
            q1 = -first[m]
            multiply(rotation, axes[5], u)
            rotate(axes[0], -q1, u, u)
            for n in range(angles_to_height(axes[4], axes[5], h, dot(h, u), fifth)):
                q5 = fifth[n]
                # R5^T h is turned by R6^T to Q^T h, with Q = R1^T R.
                rotate(axes[4], -q5, h, u)
                rotate(axes[0], q1, h, v)
                multiply_transposed(rotation, v, back)
                q6 = -angle_about(axes[5], u, back)
                # E2 E3 E4 moves the point on axis 4 as E1^-1 G E6^-1 E5^-1, which leave the meeting point where it is.
                for i in range(3):
                    v[i] = points[3, i] - points[5, i]
                rotate(axes[4], -q5, v, v)
                rotate(axes[5], -q6, v, v)
                multiply(rotation, v, u)
                for i in range(3):
                    u[i] += meeting[i] - points[0, i]
                rotate(axes[0], -q1, u, u)
                for i in range(3):
                    u[i] += points[0, i] - points[1, i]
                    v[i] = points[3, i] - points[2, i]
                    b[i] = points[1, i] - points[2, i]
                # The rotation of the three parallel joints, from a vector perpendicular to them.
                perpendicular(h, forth)
                rotate(axes[4], -q5, forth, back)
                rotate(axes[5], -q6, back, back)
                multiply(rotation, back, a)
                rotate(axes[0], -q1, a, a)
                whole = angle_about(h, forth, a)
                for p in range(angles_to_distance(axes[2], v, b, dot(u, u), third)):
                    q3 = third[p]
                    rotate(axes[2], q3, v, back)
                    for i in range(3):
                        back[i] += points[2, i] - points[1, i]
                    q2 = angle_about(h, back, u)
                    row = rows[filled]
                    row[0], row[1], row[2], row[4], row[5] = q1, q2, q3, q5, q6
                    row[3] = dot(axes[3], h) * (whole - q2 - dot(axes[2], h) * q3)
                    filled += 1
            for i in range(3):
                a[i] = meeting[i] - points[0, i]
        counts[k] = filled - begin
    return rows[:filled].copy(), counts
