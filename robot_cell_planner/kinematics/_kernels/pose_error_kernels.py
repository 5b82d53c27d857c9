"""Compiled kernels of the error between a pose and a target, and of rotations of the target that are free.

A target is a transform (4, 4). `rotation_weights` (3,) are the weights of rotations about its x, y and z axes: 0 if the
rotation about that axis is free, otherwise the ratio of the smallest tolerance to that of the axis.

The free rotations of a target are those whose rotation vectors, in the axes of the target, have no components along the
other axes. The error of a pose is the smallest rotation to one of them. In terms of the unit quaternion q from pose to
target, whose components along the fixed axes form q_F, its angle is 2 asin |q_F|: for one free axis the angle between
the axes, for two the twist about the third.
"""

from __future__ import annotations

import math

import numpy as np

from ...system.borrowed_arrays import borrowed
from ...system.compiled import compiled
from .chain_kernels import Array, position_and_quaternion

# Not modified by any kernel.
FIXED_ROTATION, ABOUT_Z, ANY_ROTATION = np.ones(3), np.array((1.0, 1.0, 0.0)), np.zeros(3)
SMALL = 1e-10  # cosine of half the angle of twist below which its axis is used as the direction of the error


@compiled
def free_axes(rotation_weights: Array) -> int:
    """Return the number of axes about which the rotation is free."""
    count = 0
    for i in range(3):
        if rotation_weights[i] == 0.0:
            count += 1
    return count


@compiled
def equal_weights(rotation_weights: Array) -> bool:
    """Return whether all weights are 0 or 1."""
    unequal = 0
    for i in range(3):
        if rotation_weights[i] != 0.0 and rotation_weights[i] != 1.0:
            unequal += 1
    return unequal == 0


@compiled
def rows_product(a: Array, i: int, b: Array, j: int) -> float:
    """Return the dot product of the first three elements of two rows."""
    return float(a[i, 0] * b[j, 0] + a[i, 1] * b[j, 1] + a[i, 2] * b[j, 2])


@compiled
def columns_product(a: Array, i: int, b: Array, j: int) -> float:
    """Return the dot product of the first three elements of two columns."""
    return float(a[0, i] * b[0, j] + a[1, i] * b[1, j] + a[2, i] * b[2, j])


@compiled
def fill_twist(target: Array, pose: Array, rotation_weights: Array, error: Array) -> float:
    """Compute the error of the rotation if two axes are free: error[3:] is its unit vector in base axes.

    The rotation is about k cos(t) - k x s, where q = (q_k k + s, w) is the unit quaternion from pose to target, k the
    axis that is not free, and (s, w) is normalized. Returns the angle [rad], negative about the opposite direction.
    """
    target, pose, rotation_weights, error = borrowed((target, pose, rotation_weights, error))
    k = 0
    while rotation_weights[k] == 0.0:
        k += 1
    i, j = (k + 1) % 3, (k + 2) % 3
    relative = np.zeros((4, 4))
    for row in range(3):
        for column in range(3):
            relative[row, column] = columns_product(pose, row, target, column)
    q = position_and_quaternion(relative)
    swing = math.sqrt(q[3 + i] ** 2 + q[3 + j] ** 2 + q[6] ** 2)
    along, first, second = 1.0, 0.0, 0.0
    if swing > SMALL:
        # k x (s_i i + s_j j) = s_i j - s_j i
        along, first, second = q[6] / swing, q[3 + j] / swing, -q[3 + i] / swing
    for row in range(3):
        error[3 + row] = along * pose[row, k] + first * pose[row, i] + second * pose[row, j]
    return 2.0 * math.atan2(q[3 + k], swing)


@compiled
def fill_error(target: Array, pose: Array, rotation_weights: Array, error: Array) -> tuple[float, float]:
    """Compute the error (6,): translation and rotation vector, in base axes, from the pose to the target.

    The rotation is the smallest one to a free rotation of the target. If weights of axes that are not free differ, its
    components in the axes of the pose are multiplied by them. Returns the distance [m] and the angle [rad].
    """
    target, pose, rotation_weights, error = borrowed((target, pose, rotation_weights, error))
    ep = 0.0
    for i in range(3):
        error[i] = target[i, 3] - pose[i, 3]
        ep += error[i] * error[i]
    free = free_axes(rotation_weights)
    if free == 3:
        error[3], error[4], error[5] = 0.0, 0.0, 0.0
        return math.sqrt(ep), 0.0
    if free == 2:
        angle = fill_twist(target, pose, rotation_weights, error)
        for i in range(3, 6):
            error[i] *= angle
        return math.sqrt(ep), abs(angle)
    if free == 1:
        k = 0
        while rotation_weights[k] != 0.0:
            k += 1
        zx, zy, zz = pose[0, k], pose[1, k], pose[2, k]
        tx, ty, tz = target[0, k], target[1, k], target[2, k]
        x, y, z = zy * tz - zz * ty, zz * tx - zx * tz, zx * ty - zy * tx
        cosine = zx * tx + zy * ty + zz * tz
        if cosine < 0.0 and x * x + y * y + z * z < 1e-20:  # opposite axes: rotate about the pose's next axis
            j = (k + 1) % 3
            x, y, z = 1e-10 * pose[0, j], 1e-10 * pose[1, j], 1e-10 * pose[2, j]
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
    if not equal_weights(rotation_weights):
        weigh_rotation(pose, rotation_weights, error)
        angle = math.sqrt(error[3] ** 2 + error[4] ** 2 + error[5] ** 2)
    return math.sqrt(ep), angle


@compiled
def weigh_rotation(pose: Array, rotation_weights: Array, twist: Array) -> None:
    """Multiply the components of twist[3:] (6,), a vector in base axes, in the axes of a pose by weights, in place."""
    x, y, z = twist[3], twist[4], twist[5]
    twist[3:6] = 0.0
    for i in range(3):
        component = rotation_weights[i] * (pose[0, i] * x + pose[1, i] * y + pose[2, i] * z)
        for row in range(3):
            twist[3 + row] += component * pose[row, i]


@compiled
def remove_free_rotations(target: Array, pose: Array, rotation_weights: Array, jacobian: Array) -> None:
    """Remove the free rotations from a Jacobian, and weigh the others as `fill_error` does, in place.

    At least one axis is free, or weights differ.
    """
    target, pose, rotation_weights, jacobian = borrowed((target, pose, rotation_weights, jacobian))
    free = free_axes(rotation_weights)
    if free == 3:
        jacobian[3:] = 0.0
    elif free == 2:
        error = np.empty(6)
        fill_twist(target, pose, rotation_weights, error)
        for j in range(jacobian.shape[1]):
            along = error[3] * jacobian[3, j] + error[4] * jacobian[4, j] + error[5] * jacobian[5, j]
            for row in range(3, 6):
                jacobian[row, j] = along * error[row]
    elif equal_weights(rotation_weights):
        k = 0
        while rotation_weights[k] != 0.0:
            k += 1
        x, y, z = pose[0, k], pose[1, k], pose[2, k]
        for j in range(jacobian.shape[1]):
            along = x * jacobian[3, j] + y * jacobian[4, j] + z * jacobian[5, j]
            jacobian[3, j] -= along * x
            jacobian[4, j] -= along * y
            jacobian[5, j] -= along * z
    else:
        for j in range(jacobian.shape[1]):
            weigh_rotation(pose, rotation_weights, jacobian[:, j])


@compiled
def all_fixed(rotation_weights: Array) -> bool:
    """Return whether all weights are 1."""
    return bool(rotation_weights[0] == 1.0 and rotation_weights[1] == 1.0 and rotation_weights[2] == 1.0)
