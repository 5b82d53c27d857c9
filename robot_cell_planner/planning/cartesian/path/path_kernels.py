"""Compiled kernels of Cartesian paths: rotation vectors, poses on lines, and deviations of poses."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ....kinematics._kernels.pose_error_kernels import all_fixed, fill_error
from ....system.borrowed_arrays import borrowed
from ....system.compiled import compiled

Array = NDArray[np.float64]
SMALL = 1e-4  # [rad] angle below which series replace quotients; the first omitted term is below 1e-17


@compiled
def rotation_vector(rotation: Array, result: Array) -> float:
    """Compute the rotation vector (3,) [rad] of a rotation matrix (3, 3) in place, and return its angle, 0 to pi.

    Uses the largest quaternion component as the pivot (Shepperd, 1978).
    """
    trace = rotation[0, 0] + rotation[1, 1] + rotation[2, 2]
    k, largest = 3, trace
    for i in range(3):
        if rotation[i, i] > largest:
            k, largest = i, rotation[i, i]
    if k == 3:
        result[0] = rotation[2, 1] - rotation[1, 2]
        result[1] = rotation[0, 2] - rotation[2, 0]
        result[2] = rotation[1, 0] - rotation[0, 1]
        w = 1.0 + trace
    else:
        i, j = (k + 1) % 3, (k + 2) % 3
        result[k] = 1.0 + 2.0 * rotation[k, k] - trace
        result[i] = rotation[i, k] + rotation[k, i]
        result[j] = rotation[j, k] + rotation[k, j]
        w = rotation[j, i] - rotation[i, j]
    sine = math.sqrt(result[0] ** 2 + result[1] ** 2 + result[2] ** 2)
    angle = 2.0 * math.atan2(sine, abs(w))
    # atan(t) / t = 1 - t^2 / 3 for the tangent t of half the angle.
    factor = angle / sine if angle > SMALL else 2.0 / abs(w) * (1.0 - angle * angle / 12.0)
    if w < 0.0:
        factor = -factor
    for i in range(3):
        result[i] *= factor
    return angle


@compiled
def rotation_vectors(rotations: Array) -> Array:
    """Compute the rotation vectors (k, 3) [rad] of rotation matrices (k, 3, 3)."""
    rotations = borrowed(rotations)
    result = np.empty((rotations.shape[0], 3))
    for k in range(rotations.shape[0]):
        rotation_vector(rotations[k], result[k])
    return result


@compiled
def rotate_by_vector(start: Array, x: float, y: float, z: float, result: Array) -> None:
    """Compute start @ R in place, for the rotation matrix R of a rotation vector [rad]; arrays (3 or more, 3 or more).

    R = 1 + a K + b K^2 with the cross product matrix K of the vector (Rodrigues).
    """
    square = x * x + y * y + z * z
    angle = math.sqrt(square)
    if angle > SMALL:
        half = math.sin(0.5 * angle)
        a, b = math.sin(angle) / angle, 2.0 * half * half / square
    else:
        a, b = 1.0 - square / 6.0, 0.5 - square / 24.0
    r00, r01, r02 = 1.0 - b * (y * y + z * z), b * x * y - a * z, b * x * z + a * y
    r10, r11, r12 = b * x * y + a * z, 1.0 - b * (x * x + z * z), b * y * z - a * x
    r20, r21, r22 = b * x * z - a * y, b * y * z + a * x, 1.0 - b * (x * x + y * y)
    for i in range(3):
        u, v, w = start[i, 0], start[i, 1], start[i, 2]
        result[i, 0] = u * r00 + v * r10 + w * r20
        result[i, 1] = u * r01 + v * r11 + w * r21
        result[i, 2] = u * r02 + v * r12 + w * r22


@compiled
def rotations_by_vectors(vectors: Array) -> Array:
    """Compute the rotation matrices (k, 3, 3) of rotation vectors (k, 3) [rad]."""
    unit, result = np.eye(3), np.empty((vectors.shape[0], 3, 3))
    for k in range(vectors.shape[0]):
        rotate_by_vector(unit, vectors[k, 0], vectors[k, 1], vectors[k, 2], result[k])
    return result


@compiled
def line_poses(starts: Array, ends: Array, rotations: Array, segments: NDArray[np.intp], fractions: Array) -> Array:
    """Compute the poses (k, 4, 4) at fractions (k,) of lines: linear position, slerp of orientation; ends are exact.

    Args:
        starts, ends: Poses (p, 4, 4) of all lines.
        rotations: Rotation vectors (p, 3) from start to end, in the axes of the start.
        segments: Line of each fraction (k,).
    """
    starts, ends = borrowed((starts, ends))
    result = np.zeros((segments.shape[0], 4, 4))
    for k in range(segments.shape[0]):
        line, f = segments[k], fractions[k]
        start, end, pose = starts[line], ends[line], result[k]
        if f == 1.0:
            pose[:] = end
            continue
        rotate_by_vector(start, f * rotations[line, 0], f * rotations[line, 1], f * rotations[line, 2], pose)
        for i in range(3):
            pose[i, 3] = start[i, 3] + f * (end[i, 3] - start[i, 3])
        pose[3, 3] = 1.0
    return result


@compiled
def pose_deviations(
    reference: Array, directions: Array, lengths: Array, poses: Array, rotation_weights: Array
) -> tuple[Array, Array]:
    """Compute the deviations of poses (k, 4, 4) from reference poses (k, 4, 4).

    Args:
        lengths: Of the path before and after each reference pose (2, k) [m].
        rotation_weights: (3,), 0 for rotations about axes of the reference poses that do not count, otherwise 1.

    Returns distances (k,) of the origins from lines of these lengths along directions (k, 3) [m], and angles (k,)
    between the orientations [rad].
    """
    reference, poses, rotation_weights = borrowed((reference, poses, rotation_weights))
    count = poses.shape[0]
    distances, angles = np.empty(count), np.empty(count)
    offset, relative, vector, error = np.empty(3), np.empty((3, 3)), np.empty(3), np.empty(6)
    is_free = not all_fixed(rotation_weights)
    for k in range(count):
        a, b = reference[k], poses[k]
        along = 0.0
        for i in range(3):
            offset[i] = b[i, 3] - a[i, 3]
            along += offset[i] * directions[k, i]
        beyond = max(along - lengths[1, k], -along - lengths[0, k], 0.0)
        square = beyond * beyond
        for i in range(3):
            square += (offset[i] - along * directions[k, i]) ** 2
        distances[k] = math.sqrt(square)
        if is_free:
            angles[k] = fill_error(a, b, rotation_weights, error)[1]
            continue
        for i in range(3):
            for j in range(3):
                relative[i, j] = a[0, i] * b[0, j] + a[1, i] * b[1, j] + a[2, i] * b[2, j]
        angles[k] = rotation_vector(relative, vector)
    return distances, angles
