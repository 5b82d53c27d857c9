"""Compiled kernels of the error between a pose and a target, and of rotations of the target that are free.

A target is a transform (4, 4); `free_rotation` says which rotations of the target are free: none, about its z axis, or
all.
"""

from __future__ import annotations

import math

from ...system.compiled import compiled
from .chain_kernels import Array

FIXED_ROTATION, ABOUT_Z, ANY_ROTATION = 0, 1, 2


@compiled
def rows_product(a: Array, i: int, b: Array, j: int) -> float:
    """Return the dot product of the first three elements of two rows."""
    return float(a[i, 0] * b[j, 0] + a[i, 1] * b[j, 1] + a[i, 2] * b[j, 2])


@compiled
def fill_error(target: Array, pose: Array, free_rotation: int, error: Array) -> tuple[float, float]:
    """Compute the error (6,): translation and rotation vector, in base axes, from the pose to the target.

    With ABOUT_Z the rotation is the minimal rotation that aligns the z axes. Returns the distance [m] and the angle
    [rad].
    """
    ep = 0.0
    for i in range(3):
        error[i] = target[i, 3] - pose[i, 3]
        ep += error[i] * error[i]
    if free_rotation == ANY_ROTATION:
        error[3], error[4], error[5] = 0.0, 0.0, 0.0
        return math.sqrt(ep), 0.0
    if free_rotation == ABOUT_Z:
        zx, zy, zz = pose[0, 2], pose[1, 2], pose[2, 2]
        tx, ty, tz = target[0, 2], target[1, 2], target[2, 2]
        x, y, z = zy * tz - zz * ty, zz * tx - zx * tz, zx * ty - zy * tx
        cosine = zx * tx + zy * ty + zz * tz
        if cosine < 0.0 and x * x + y * y + z * z < 1e-20:  # opposite axes: rotate about the pose's x axis
            x, y, z = 1e-10 * pose[0, 0], 1e-10 * pose[1, 0], 1e-10 * pose[2, 0]
    else:
        x = 0.5 * (rows_product(target, 2, pose, 1) - rows_product(target, 1, pose, 2))
        y = 0.5 * (rows_product(target, 0, pose, 2) - rows_product(target, 2, pose, 0))
        z = 0.5 * (rows_product(target, 1, pose, 0) - rows_product(target, 0, pose, 1))
        xx, yy, zz = (
            rows_product(target, 0, pose, 0),
            rows_product(target, 1, pose, 1),
            rows_product(target, 2, pose, 2),
        )
        cosine = 0.5 * (xx + yy + zz - 1.0)
        if cosine < 0.0 and x * x + y * y + z * z < 1e-20:  # pi: the axis is a column of rotation + 1
            k = 0 if xx >= yy and xx >= zz else (1 if yy >= zz else 2)
            x, y, z = (
                rows_product(target, 0, pose, k),
                rows_product(target, 1, pose, k),
                rows_product(target, 2, pose, k),
            )
            x, y, z = x + (k == 0), y + (k == 1), z + (k == 2)
            norm = 1e10 * math.sqrt(x * x + y * y + z * z)
            x, y, z = x / norm, y / norm, z / norm
    sine = math.sqrt(x * x + y * y + z * z)
    angle = math.atan2(sine, cosine)
    factor = angle / sine if sine > 0.0 else 1.0
    error[3], error[4], error[5] = factor * x, factor * y, factor * z
    return math.sqrt(ep), angle


@compiled
def remove_free_rotations(free_rotation: int, pose: Array, jacobian: Array) -> None:
    """Remove the free rotations from a Jacobian, in place."""
    if free_rotation == ANY_ROTATION:
        jacobian[3:] = 0.0
        return
    x, y, z = pose[0, 2], pose[1, 2], pose[2, 2]
    for j in range(jacobian.shape[1]):
        along = x * jacobian[3, j] + y * jacobian[4, j] + z * jacobian[5, j]
        jacobian[3, j] -= along * x
        jacobian[4, j] -= along * y
        jacobian[5, j] -= along * z
