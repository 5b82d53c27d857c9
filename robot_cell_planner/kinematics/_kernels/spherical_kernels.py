"""Compiled kernels of closed-form inverse kinematics for six revolute joints, three of which meet in one point.

The joints are screws: unit axes (6, 3) and points on them (6, 3) in the base, at zero joint values. The first three
axes meet in a centre. Either the last two meet too (many arms with seven joints, one of them fixed), or the fourth and
the fifth are parallel (arms with a spherical wrist, seen from the tip).

With G = E1 E2 E3 E4 E5 E6, E_i the rotation about axis i, the centre c is mapped to E6^-1 E5^-1 E4^-1 c = G^-1 c, which
has three unknowns; the rotation that is left gives the other three (Elias and Wen, IK-Geo: Unified Robot Inverse
Kinematics Using Subproblem Decomposition, 2024).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...system.borrowed_arrays import borrowed
from ...system.compiled import compiled
from .chain_kernels import Array
from .subproblem_kernels import (
    angle_about,
    angles_to_distance,
    angles_to_height,
    common_vectors,
    dot,
    perpendicular,
    rotate,
)

MAX_CANDIDATES = 8
WRIST_VECTORS = 7
WORK_VECTORS = 8 + WRIST_VECTORS


@compiled
def add_wrists(
    axes: Array, rotation: Array, q4: float, q5: float, q6: float, found: Array, count: int, work: Array
) -> int:
    """Add the candidates with given last three angles to rows of `found` (8, 6); return their new number.

    rotation: Rotation (3, 3) of all six joints. R1 R2 R3 = R (R4 R5 R6)^T =: Q, so that R2 h3 = R1^T Q h3.
    work: Work space (WRIST_VECTORS, 3).
    """
    axes, rotation, found, work = borrowed((axes, rotation, found, work))
    third, turned, side, moved, across, vectors = work[0], work[1], work[2], work[3], work[4], work[5:]
    for i in range(3):
        third[i] = axes[2, i]
    perpendicular(third, across)  # for the angle of the third axis
    for vector, image in ((third, turned), (across, side)):
        rotate(axes[3], -q4, vector, moved)
        rotate(axes[4], -q5, moved, moved)
        rotate(axes[5], -q6, moved, moved)
        for i in range(3):
            image[i] = rotation[i, 0] * moved[0] + rotation[i, 1] * moved[1] + rotation[i, 2] * moved[2]
    pairs = common_vectors(axes[1], dot(axes[1], third), axes[0], dot(axes[0], turned), 1.0, vectors)
    for row in range(pairs):
        if count == MAX_CANDIDATES:
            break
        q1, q2 = angle_about(axes[0], vectors[row], turned), angle_about(axes[1], third, vectors[row])
        rotate(axes[0], -q1, side, moved)
        rotate(axes[1], -q2, moved, moved)
        found[count, 0], found[count, 1], found[count, 2] = q1, q2, angle_about(axes[2], across, moved)
        found[count, 3], found[count, 4], found[count, 5] = q4, q5, q6
        count += 1
    return count


@compiled
def solve_one(
    axes: Array, points: Array, parallel: bool, rotation: Array, image: Array, found: Array, work: Array
) -> int:
    """Compute the candidates of one pose in rows of `found` (8, 6); return their number.

    Args:
        axes, points: Screws (6, 3); the first three points are the centre, the last two are equal unless `parallel`.
        parallel: Whether axes 4 and 5 are parallel; otherwise axes 5 and 6 meet.
        rotation: Rotation (3, 3) of all six joints.
        image: Image (3,) of the centre by the inverse of all six joints.
        work: Work space (WORK_VECTORS, 3).
    """
    axes, points, rotation, image, found, work = borrowed((axes, points, rotation, image, found, work))
    count = 0
    first, second, a, b, u, v = work[0], work[1], work[2], work[3], work[4], work[5]
    vectors, wrist = work[6:8], work[8:]
    if parallel:
        # E6 takes the image to the height of the centre along the parallel axes; then axes 4 and 5 are a plane arm.
        for i in range(3):
            v[i] = image[i] - points[5, i]
            b[i] = points[0, i] - points[5, i]
        for k in range(angles_to_height(axes[5], v, axes[3], dot(axes[3], b), first)):
            q6 = first[k]
            rotate(axes[5], q6, v, u)
            for i in range(3):
                u[i] += points[5, i] - points[4, i]
                a[i] = points[0, i] - points[3, i]
                b[i] = points[4, i] - points[3, i]
            for m in range(angles_to_distance(axes[3], a, b, dot(u, u), second)):
                q4 = -second[m]
                rotate(axes[3], -q4, a, v)
                for i in range(3):
                    v[i] += points[3, i] - points[4, i]
                count = add_wrists(axes, rotation, q4, -angle_about(axes[4], v, u), q6, found, count, wrist)
                for i in range(3):
                    v[i] = image[i] - points[5, i]
        return count
    for i in range(3):
        v[i] = image[i] - points[4, i]
        a[i] = points[0, i] - points[3, i]
        b[i] = points[4, i] - points[3, i]
    square = dot(v, v)
    for k in range(angles_to_distance(axes[3], a, b, square, first)):
        q4 = -first[k]
        rotate(axes[3], -q4, a, u)
        for i in range(3):
            u[i] += points[3, i] - points[4, i]
        for m in range(common_vectors(axes[4], dot(axes[4], u), axes[5], dot(axes[5], v), square, vectors)):
            q5, q6 = -angle_about(axes[4], u, vectors[m]), angle_about(axes[5], v, vectors[m])
            count = add_wrists(axes, rotation, q4, q5, q6, found, count, wrist)
    return count


@compiled
def solve_spherical(
    axes: Array, points: Array, parallel: bool, backwards: bool, home: Array, targets: Array
) -> tuple[Array, NDArray[np.int64]]:
    """Compute candidates for poses of the tip.

    Args:
        axes, points, parallel: As in `solve_one`; of the joints in reverse order if `backwards`.
        backwards: Whether the last three joints of the chain meet instead of the first three.
        home: Pose (4, 4) of the tip at zero joint values.
        targets: Poses (k, 4, 4).

    Returns:
        Candidates (c, 6) in the order of the targets, and the number of each (k,).
    """
    rows, counts = np.empty((MAX_CANDIDATES * targets.shape[0], 6)), np.empty(targets.shape[0], dtype=np.int64)
    found, rotation, image = np.empty((MAX_CANDIDATES, 6)), np.empty((3, 3)), np.empty(3)
    vectors = np.empty((WORK_VECTORS, 3))
    axes, points, home, targets = borrowed((axes, points, home, targets))
    filled = 0
    for k in range(targets.shape[0]):
        target = targets[k]
        # The rotation of all joints: target home^-1, or its inverse.
        for i in range(3):
            for j in range(3):
                value = target[i, 0] * home[j, 0] + target[i, 1] * home[j, 1] + target[i, 2] * home[j, 2]
                if backwards:
                    rotation[j, i] = value
                else:
                    rotation[i, j] = value
        # The image of the centre by the inverse: from the target to home, or from home to the target if backwards.
        begin, end = (home, target) if backwards else (target, home)
        for i in range(3):
            image[i] = end[i, 3]
            for j in range(3):
                local = (
                    begin[0, j] * (points[0, 0] - begin[0, 3])
                    + begin[1, j] * (points[0, 1] - begin[1, 3])
                    + begin[2, j] * (points[0, 2] - begin[2, 3])
                )
                image[i] += end[i, j] * local
        count = solve_one(axes, points, parallel, rotation, image, found, vectors)
        counts[k] = count
        for c in range(count):
            for i in range(6):
                rows[filled, i] = -found[c, 5 - i] if backwards else found[c, i]
            filled += 1
    return rows[:filled], counts
