"""Compiled kernels of serial chains: forward kinematics, Jacobians and their time derivatives.

A chain is an array (m + 1, CHAIN_COLUMNS), see `chain.py`: one row for each of m joints, then one for the tip. A row
contains the fixed transform from the preceding joint (or the base) to this joint, whose axis is z of the resulting
frame, followed by the joint data. Transforms are homogeneous, angles in rad, lengths in m.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...system.borrowed_arrays import borrowed
from ...system.compiled import compiled

Array = NDArray[np.float64]

# Columns of a chain: rotation (9, row by row), translation (3), then:
KIND = 12  # 0 revolute, 1 prismatic
VARIABLE = 13  # index of the variable that the joint follows
MULTIPLIER = 14
OFFSET = 15
CHAIN_COLUMNS = 16


@compiled
def forward_pass(chain: Array, q: Array, origins: Array, axes: Array, pose: Array) -> None:
    """Compute axes (m, 3) and origins (m, 3) of all joints and the pose (4, 4) of the tip in the base, in place."""
    chain, q, origins, axes, pose = borrowed((chain, q, origins, axes, pose))
    r00, r01, r02 = 1.0, 0.0, 0.0
    r10, r11, r12 = 0.0, 1.0, 0.0
    r20, r21, r22 = 0.0, 0.0, 1.0
    px, py, pz = 0.0, 0.0, 0.0
    last = chain.shape[0] - 1
    for i in range(last + 1):
        f = chain[i]
        px += r00 * f[9] + r01 * f[10] + r02 * f[11]
        py += r10 * f[9] + r11 * f[10] + r12 * f[11]
        pz += r20 * f[9] + r21 * f[10] + r22 * f[11]
        a00, a01, a02 = (r00 * f[0] + r01 * f[3] + r02 * f[6], r00 * f[1] + r01 * f[4] + r02 * f[7],
                         r00 * f[2] + r01 * f[5] + r02 * f[8])  # fmt: skip
        a10, a11, a12 = (r10 * f[0] + r11 * f[3] + r12 * f[6], r10 * f[1] + r11 * f[4] + r12 * f[7],
                         r10 * f[2] + r11 * f[5] + r12 * f[8])  # fmt: skip
        a20, a21, a22 = (r20 * f[0] + r21 * f[3] + r22 * f[6], r20 * f[1] + r21 * f[4] + r22 * f[7],
                         r20 * f[2] + r21 * f[5] + r22 * f[8])  # fmt: skip
        r00, r01, r02, r10, r11, r12, r20, r21, r22 = a00, a01, a02, a10, a11, a12, a20, a21, a22
        if i == last:
            break
        value = f[MULTIPLIER] * q[int(f[VARIABLE])] + f[OFFSET]
        origins[i, 0], origins[i, 1], origins[i, 2] = px, py, pz
        axes[i, 0], axes[i, 1], axes[i, 2] = r02, r12, r22
        if f[KIND] == 0.0:
            s, c = math.sin(value), math.cos(value)
            r00, r01 = c * r00 + s * r01, c * r01 - s * r00
            r10, r11 = c * r10 + s * r11, c * r11 - s * r10
            r20, r21 = c * r20 + s * r21, c * r21 - s * r20
        else:
            px, py, pz = px + value * r02, py + value * r12, pz + value * r22
    pose[0, 0], pose[0, 1], pose[0, 2], pose[0, 3] = r00, r01, r02, px
    pose[1, 0], pose[1, 1], pose[1, 2], pose[1, 3] = r10, r11, r12, py
    pose[2, 0], pose[2, 1], pose[2, 2], pose[2, 3] = r20, r21, r22, pz
    pose[3, 0], pose[3, 1], pose[3, 2], pose[3, 3] = 0.0, 0.0, 0.0, 1.0


@compiled
def forward(chain: Array, q: Array) -> Array:
    """Compute the pose (4, 4) of the tip."""
    rows = chain.shape[0]
    pose = np.empty((4, 4))
    forward_pass(chain, q, np.empty((rows, 3)), np.empty((rows, 3)), pose)
    return pose


@compiled
def forward_many(chain: Array, configurations: Array) -> Array:
    """Compute the poses (k, 4, 4) of the tip for configurations (k, n)."""
    configurations = borrowed(configurations)
    rows = chain.shape[0]
    origins, axes = np.empty((rows, 3)), np.empty((rows, 3))
    poses = np.empty((configurations.shape[0], 4, 4))
    for k in range(configurations.shape[0]):
        forward_pass(chain, configurations[k], origins, axes, poses[k])
    return poses


@compiled
def tip_path_length(chain: Array, path: Array, counts: Array) -> float:
    """Return the length of the tip's path along straight motions between configurations (k, n) [m], measured between
    the ends of equal steps of each motion, whose numbers are counts (k - 1,)."""
    path = borrowed(path)
    rows, last = chain.shape[0], np.zeros(3)
    origins, axes, pose, q = np.empty((rows, 3)), np.empty((rows, 3)), np.empty((4, 4)), path[0].copy()
    length = 0.0
    forward_pass(chain, q, origins, axes, pose)
    for k in range(3):
        last[k] = pose[k, 3]
    for motion in range(path.shape[0] - 1):
        count = int(counts[motion])
        for number in range(1, count + 1):
            for joint in range(path.shape[1]):
                step = path[motion + 1, joint] - path[motion, joint]
                q[joint] = path[motion, joint] + number / count * step
            forward_pass(chain, q, origins, axes, pose)
            square = 0.0
            for k in range(3):
                square += (pose[k, 3] - last[k]) ** 2
                last[k] = pose[k, 3]
            length += math.sqrt(square)
    return length


@compiled
def position_and_quaternion(pose: Array) -> Array:
    """Return x, y, z and the unit quaternion x, y, z, w, w >= 0, of a pose (4, 4).

    Uses the largest quaternion component as the pivot (Shepperd, 1978).
    """
    result = np.empty(7)
    for i in range(3):
        result[i] = pose[i, 3]
    trace = pose[0, 0] + pose[1, 1] + pose[2, 2]
    k = 3
    largest = trace
    for i in range(3):
        if pose[i, i] > largest:
            k, largest = i, pose[i, i]
    if k == 3:
        result[3] = pose[2, 1] - pose[1, 2]
        result[4] = pose[0, 2] - pose[2, 0]
        result[5] = pose[1, 0] - pose[0, 1]
        result[6] = 1.0 + trace
    else:
        i, j = (k + 1) % 3, (k + 2) % 3
        result[3 + k] = 1.0 + 2.0 * pose[k, k] - trace
        result[3 + i] = pose[i, k] + pose[k, i]
        result[3 + j] = pose[j, k] + pose[k, j]
        result[6] = pose[j, i] - pose[i, j]
    norm = math.sqrt(result[3] ** 2 + result[4] ** 2 + result[5] ** 2 + result[6] ** 2)
    if result[6] < 0.0:
        norm = -norm
    for i in range(3, 7):
        result[i] /= norm
    return result


@compiled
def pose_numbers(pose: Array) -> tuple[float, float, float, float, float, float, float]:
    """Return the same as `position_and_quaternion`, as Python floats."""
    found = position_and_quaternion(pose)
    return found[0], found[1], found[2], found[3], found[4], found[5], found[6]


@compiled
def tip_numbers(chain: Array, q: Array) -> tuple[float, float, float, float, float, float, float]:
    """Compute position and unit quaternion of the tip as Python floats."""
    return pose_numbers(forward(chain, q))


@compiled
def positions_and_quaternions(poses: Array) -> Array:
    """Return position and quaternion (k, 7) of poses (k, 4, 4)."""
    poses = borrowed(poses)
    result = np.empty((poses.shape[0], 7))
    for k in range(poses.shape[0]):
        result[k] = position_and_quaternion(poses[k])
    return result


@compiled
def fill_jacobian(chain: Array, origins: Array, axes: Array, pose: Array, jacobian: Array) -> None:
    """Compute the Jacobian (6, n) of the tip's origin in base axes, linear rows first, in place."""
    jacobian[:] = 0.0
    for i in range(chain.shape[0] - 1):
        column, factor = int(chain[i, VARIABLE]), chain[i, MULTIPLIER]
        x, y, z = factor * axes[i, 0], factor * axes[i, 1], factor * axes[i, 2]
        if chain[i, KIND] == 0.0:
            ax, ay, az = pose[0, 3] - origins[i, 0], pose[1, 3] - origins[i, 1], pose[2, 3] - origins[i, 2]
            jacobian[0, column] += y * az - z * ay
            jacobian[1, column] += z * ax - x * az
            jacobian[2, column] += x * ay - y * ax
            jacobian[3, column] += x
            jacobian[4, column] += y
            jacobian[5, column] += z
        else:
            jacobian[0, column] += x
            jacobian[1, column] += y
            jacobian[2, column] += z


@compiled
def jacobian_of(chain: Array, q: Array) -> Array:
    """Compute the Jacobian (6, n) of the tip's origin in base axes, linear rows first."""
    rows = chain.shape[0]
    origins, axes, pose = np.empty((rows, 3)), np.empty((rows, 3)), np.empty((4, 4))
    result = np.empty((6, q.shape[0]))
    forward_pass(chain, q, origins, axes, pose)
    fill_jacobian(chain, origins, axes, pose, result)
    return result


@compiled
def point_speeds(chain: Array, q: Array, point: Array, direction: Array) -> Array:
    """Compute the speed (n,) along a direction (3,) of a point (3,) of the tip for each variable, both in the base."""
    rows = chain.shape[0]
    origins, axes = np.empty((rows, 3)), np.empty((rows, 3))
    result, arm, moment = np.zeros(q.shape[0]), np.empty(3), np.empty(3)
    forward_pass(chain, q, origins, axes, np.empty((4, 4)))
    for i in range(rows - 1):
        moment[:] = 0.0
        if chain[i, KIND] == 0.0:
            for k in range(3):
                arm[k] = point[k] - origins[i, k]
            add_cross(1.0, axes[i], arm, moment)
        else:
            moment[:] = axes[i]
        for k in range(3):
            result[int(chain[i, VARIABLE])] += chain[i, MULTIPLIER] * moment[k] * direction[k]
    return result


@compiled
def add_cross(factor: float, a: Array, b: Array, result: Array) -> None:
    """Add factor * a x b to a vector (3,) in place."""
    result[0] += factor * (a[1] * b[2] - a[2] * b[1])
    result[1] += factor * (a[2] * b[0] - a[0] * b[2])
    result[2] += factor * (a[0] * b[1] - a[1] * b[0])


@compiled
def jacobian_and_rate(chain: Array, q: Array, v: Array, jacobian: Array, rate: Array, pose: Array) -> None:
    """Compute in place the Jacobian (6, n) (see `jacobian_of`), its time derivative at v (n,), and the pose."""
    chain, q, v, jacobian, rate, pose = borrowed((chain, q, v, jacobian, rate, pose))
    rows = chain.shape[0]
    last = rows - 1
    origins, axes = np.empty((rows, 3)), np.empty((rows, 3))
    forward_pass(chain, q, origins, axes, pose)
    fill_jacobian(chain, origins, axes, pose, jacobian)
    for k in range(3):
        origins[last, k] = pose[k, 3]
    # Velocity of each joint origin and of the tip: angular velocity of the parent link and the joint's own velocity.
    rotations, speeds, gap = np.zeros((rows, 3)), np.zeros((rows, 3)), np.empty(3)
    for i in range(last):
        factor = chain[i, MULTIPLIER]
        rate_of_joint = factor * v[int(chain[i, VARIABLE])]
        revolute = chain[i, KIND] == 0.0
        for k in range(3):
            gap[k] = origins[i + 1, k] - origins[i, k]
            rotations[i + 1, k] = rotations[i, k] + (rate_of_joint * axes[i, k] if revolute else 0.0)
            speeds[i + 1, k] = speeds[i, k] + (0.0 if revolute else rate_of_joint * axes[i, k])
        add_cross(1.0, rotations[i + 1], gap, speeds[i + 1])
    turning, arm, opening = np.empty(3), np.empty(3), np.empty(3)
    rate[:] = 0.0
    for i in range(last):
        column, factor = int(chain[i, VARIABLE]), chain[i, MULTIPLIER]
        turning[:] = 0.0
        add_cross(factor, rotations[i], axes[i], turning)
        if chain[i, KIND] != 0.0:
            for k in range(3):
                rate[k, column] += turning[k]
            continue
        for k in range(3):
            arm[k] = origins[last, k] - origins[i, k]
            opening[k] = speeds[last, k] - speeds[i, k]
            rate[3 + k, column] += turning[k]
        gap[:] = 0.0
        add_cross(1.0, turning, arm, gap)
        add_cross(factor, axes[i], opening, gap)
        for k in range(3):
            rate[k, column] += gap[k]


@compiled
def jacobians_and_rates(chain: Array, configurations: Array, velocities: Array) -> tuple[Array, Array, Array]:
    """Compute Jacobians (k, 6, n), time derivatives (k, 6, n) and poses (k, 4, 4) of the tip for rows (k, n)."""
    configurations, velocities = borrowed((configurations, velocities))
    count, n = configurations.shape
    jacobians, rates, poses = np.empty((count, 6, n)), np.empty((count, 6, n)), np.empty((count, 4, 4))
    for k in range(count):
        jacobian_and_rate(chain, configurations[k], velocities[k], jacobians[k], rates[k], poses[k])
    return jacobians, rates, poses
