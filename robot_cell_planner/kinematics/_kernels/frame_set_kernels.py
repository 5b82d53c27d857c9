"""Compiled kernels of frames that have to stay in sets: deviation, projection, and paths that follow the sets.

Projection is Newton's method with the smallest step (Berenson, Srinivasa, Ferguson and Kuffner, "Manipulation Planning
on Constraint Manifolds", 2009). Angles are in rad, lengths in m.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...system.borrowed_arrays import borrowed
from ...system.compiled import compiled
from .chain_kernels import Array, fill_jacobian, forward_pass, position_and_quaternion

AXIS_IN_CONE, ORIENTATION, POSITION_IN_BOX, POSITION_ON_PLANE, POSITION_ON_LINE = 0, 1, 2, 3, 4
# Fraction of the tolerance that projection reaches, so that straight motions between configurations stay within it.
TOLERANCE_FRACTION = 0.5
PRECISION = 0.1  # of that, at which projection ends
MAX_ITERATIONS = 60
EPSILON = 1e-12
DEPENDENT = 1e-6  # fraction of a gradient that is independent of the others, below which it is left out
LIMIT_MARGIN = 1e-9  # [rad or m]
MIN_PROGRESS = 0.1  # min decrease of the distance to the end per projected step, as a fraction of the step length


class FrameSets(NamedTuple):
    """Frames with the sets in which they have to stay.

    Attributes:
        chains: Chains (r, 16) from the world to the frames, one after the other, see `chain_kernels`.
        spans: First row and end of each chain (m, 2).
        rules: Kind of each set (m,).
        tolerances: Allowed deviations (m,) [rad or m].
        poses: Poses of the sets in the world (m, 4, 4).
        axes: Unit axes of the sets in the world (m, 3).
        extents: Half sizes of boxes (m, 3) [m]; infinite for a free direction.
        bounds: Lower and upper bounds of configurations (2, dof).
    """

    chains: Array
    spans: NDArray[np.int64]
    rules: NDArray[np.int64]
    tolerances: Array
    poses: Array
    axes: Array
    extents: Array
    bounds: Array


@compiled
def fill_offset(sets: FrameSets, k: int, pose: Array, offset: Array) -> None:
    """Compute the offset (3,) of the origin of a frame from the nearest point of set k, in place."""
    sets, pose, offset = borrowed((sets, pose, offset))
    at, axis = sets.poses[k], sets.axes[k]
    along = 0.0
    for i in range(3):
        offset[i] = pose[i, 3] - at[i, 3]
        along += offset[i] * axis[i]
    if sets.rules[k] == POSITION_ON_PLANE:
        for i in range(3):
            offset[i] = along * axis[i]
    elif sets.rules[k] == POSITION_ON_LINE:
        for i in range(3):
            offset[i] -= along * axis[i]
    else:
        x, y, z = offset[0], offset[1], offset[2]
        offset[:] = 0.0
        for j in range(3):
            local = x * at[0, j] + y * at[1, j] + z * at[2, j]
            beyond = local - min(max(local, -sets.extents[k, j]), sets.extents[k, j])
            for i in range(3):
                offset[i] += beyond * at[i, j]


@compiled
def deviation_of(sets: FrameSets, k: int, pose: Array, normal: Array) -> float:
    """Return the deviation of a frame at a pose (4, 4) from set k [rad or m]; for a cone, the angle to its axis.

    normal: the derivative of the deviation with respect to velocity and angular velocity of the frame (6,), if the
    deviation is not 0, in place.
    """
    sets, pose, normal = borrowed((sets, pose, normal))
    normal[:] = 0.0
    if sets.rules[k] == AXIS_IN_CONE:
        axis = sets.axes[k]
        x, y, z = pose[0, 2], pose[1, 2], pose[2, 2]
        cx, cy, cz = y * axis[2] - z * axis[1], z * axis[0] - x * axis[2], x * axis[1] - y * axis[0]
        size = math.sqrt(cx * cx + cy * cy + cz * cz)
        if size > EPSILON:
            normal[3], normal[4], normal[5] = -cx / size, -cy / size, -cz / size
        else:  # opposite to the axis, all directions of rotation are equivalent
            normal[3], normal[4], normal[5] = -pose[0, 0], -pose[1, 0], -pose[2, 0]
        return math.atan2(size, x * axis[0] + y * axis[1] + z * axis[2])
    if sets.rules[k] == ORIENTATION:
        turned, at = np.zeros((4, 4)), sets.poses[k]
        for i in range(3):
            for j in range(3):
                turned[i, j] = pose[i, 0] * at[j, 0] + pose[i, 1] * at[j, 1] + pose[i, 2] * at[j, 2]
        q = position_and_quaternion(turned)
        size = math.sqrt(q[3] * q[3] + q[4] * q[4] + q[5] * q[5])
        if size > 0.0:
            normal[3], normal[4], normal[5] = q[3] / size, q[4] / size, q[5] / size
        return 2.0 * math.atan2(size, q[6])
    fill_offset(sets, k, pose, normal[:3])
    size = math.sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2])
    if size > 0.0:
        for i in range(3):
            normal[i] /= size
    return size


@compiled
def deviations(sets: FrameSets, q: Array) -> Array:
    """Return the deviation of each frame (m,) [rad or m] at a configuration (dof,)."""
    sets, q = borrowed((sets, q))
    rows = sets.chains.shape[0]
    origins, axes, pose, normal = np.empty((rows, 3)), np.empty((rows, 3)), np.empty((4, 4)), np.empty(6)
    found = np.empty(sets.rules.shape[0])
    for k in range(found.shape[0]):
        forward_pass(sets.chains[sets.spans[k, 0] : sets.spans[k, 1]], q, origins, axes, pose)
        found[k] = deviation_of(sets, k, pose, normal)
    return found


@compiled
def excess(sets: FrameSets, configurations: Array) -> Array:
    """Return the max deviation, in units of the tolerance, at each configuration (n, dof): (n,)."""
    sets, configurations = borrowed((sets, configurations))
    found = np.empty(configurations.shape[0])
    for row in range(found.shape[0]):
        found[row] = (deviations(sets, configurations[row]) / sets.tolerances).max()
    return found


@compiled
def residuals(sets: FrameSets, q: Array, found: Array, gradients: Array) -> None:
    """Compute the residuals (m,), 0 within TOLERANCE_FRACTION of the tolerances, and gradients (m, dof) of the
    deviations at a configuration (dof,), in place."""
    sets, q, found, gradients = borrowed((sets, q, found, gradients))
    rows = sets.chains.shape[0]
    origins, axes, pose, normal = np.empty((rows, 3)), np.empty((rows, 3)), np.empty((4, 4)), np.empty(6)
    jacobian = np.empty((6, q.shape[0]))
    for k in range(found.shape[0]):
        chain = sets.chains[sets.spans[k, 0] : sets.spans[k, 1]]
        forward_pass(chain, q, origins, axes, pose)
        deviation = deviation_of(sets, k, pose, normal)
        found[k] = max(0.0, deviation - TOLERANCE_FRACTION * sets.tolerances[k])
        gradients[k] = 0.0
        if deviation > EPSILON:
            fill_jacobian(chain, origins, axes, pose, jacobian)
            for i in range(6):
                for j in range(q.shape[0]):
                    gradients[k, j] += normal[i] * jacobian[i, j]


@compiled
def add_smallest_step(sets: FrameSets, found: Array, gradients: Array, basis: Array, moved: Array) -> None:
    """Add the shortest step, within the columns of a basis (dof, k), that removes all residuals to first order.

    Rows that depend on previous ones are left out. Gram-Schmidt orthogonalisation.
    """
    sets, found, gradients, basis, moved = borrowed((sets, found, gradients, basis, moved))
    count, size = found.shape[0], basis.shape[1]
    units, along = np.zeros((count, size)), np.zeros(count)
    for k in range(count):
        if found[k] <= PRECISION * TOLERANCE_FRACTION * sets.tolerances[k]:
            continue
        row = np.zeros(size)
        for i in range(moved.shape[0]):
            row += gradients[k, i] * basis[i]
        length, missing = math.sqrt((row * row).sum()), -found[k]
        for other in range(k):
            share = (row * units[other]).sum()
            row -= share * units[other]
            missing -= share * along[other]
        rest = math.sqrt((row * row).sum())
        if rest > DEPENDENT * length:
            units[k], along[k] = row / rest, missing / rest
    for k in range(count):
        for i in range(moved.shape[0]):
            for j in range(size):
                moved[i] += basis[i, j] * units[k, j] * along[k]


@compiled
def within(sets: FrameSets, q: Array) -> bool:
    """Return whether a configuration (dof,) is within bounds."""
    sets, q = borrowed((sets, q))
    inside = True
    for i in range(q.shape[0]):
        inside = inside and sets.bounds[0, i] <= q[i] <= sets.bounds[1, i]
    return inside


@compiled
def keep_bounds(sets: FrameSets, q: Array, basis: Array, moved: Array) -> None:
    """Move a configuration (dof,) within bounds, in place. Where the basis does not span all directions, it moves along
    the columns from q, which may leave it beyond them, so that it is moved slightly farther.
    """
    sets, q, basis, moved = borrowed((sets, q, basis, moved))
    clipped, partial = False, basis.shape[1] < q.shape[0]
    for i in range(q.shape[0]):
        lower, upper = sets.bounds[0, i], sets.bounds[1, i]
        margin = min(LIMIT_MARGIN, 0.25 * (upper - lower)) if partial else 0.0
        if not lower <= moved[i] <= upper:
            moved[i] = min(max(moved[i], lower + margin), upper - margin)
            clipped = True
    if clipped and partial:
        along = np.zeros(basis.shape[1])
        for i in range(q.shape[0]):
            along += (moved[i] - q[i]) * basis[i]
        for i in range(q.shape[0]):
            moved[i] = q[i] + (basis[i] * along).sum()


@compiled
def project(sets: FrameSets, q: Array, basis: Array) -> bool:
    """Project a configuration (dof,) onto the sets, along the orthonormal columns of a basis (dof, k) and within
    bounds, in place.

    Returns:
        Whether the iteration has converged.
    """
    sets, q, basis = borrowed((sets, q, basis))
    found, gradients = np.empty(sets.rules.shape[0]), np.empty((sets.rules.shape[0], q.shape[0]))
    moved = np.empty(q.shape[0])
    for _ in range(MAX_ITERATIONS):
        residuals(sets, q, found, gradients)
        if (found <= PRECISION * TOLERANCE_FRACTION * sets.tolerances).all() and within(sets, q):
            return True
        moved[:] = q
        add_smallest_step(sets, found, gradients, basis, moved)
        keep_bounds(sets, q, basis, moved)
        change = 0.0
        for i in range(q.shape[0]):
            change = max(change, abs(moved[i] - q[i]))
        if change < EPSILON:
            return False
        q[:] = moved
    return False


@compiled
def distance_between(first: Array, second: Array) -> float:
    """Return the distance of two configurations (dof,)."""
    square = 0.0
    for i in range(first.shape[0]):
        square += (second[i] - first[i]) ** 2
    return math.sqrt(square)


@compiled
def step_towards(sets: FrameSets, start: Array, end: Array, step: float, basis: Array, moved: Array) -> bool:
    """Compute the projected configuration (dof,) one step from `start` towards `end`, in place; return whether there is
    one, with progress."""
    sets, start, end, basis, moved = borrowed((sets, start, end, basis, moved))
    distance = distance_between(start, end)
    for i in range(start.shape[0]):
        moved[i] = start[i] + (end[i] - start[i]) * (step / distance)
    if not project(sets, moved, basis):
        return False
    progress = distance - distance_between(moved, end)
    return distance_between(start, moved) <= 2.0 * step and progress >= MIN_PROGRESS * step


@compiled
def extended(points: Array, count: int) -> Array:
    """Return points (n, dof) with room for one more after the first `count`."""
    if count < points.shape[0]:
        return points
    longer = np.empty((2 * count, points.shape[1]))
    longer[:count] = points
    return longer


@compiled
def trace(sets: FrameSets, start: Array, end: Array, step: float, basis: Array) -> Array:
    """Return points (n, dof) from `start` to `end`, at most a step apart and on the sets; none if a step fails."""
    sets, start, end, basis = borrowed((sets, start, end, basis))
    points, count = np.empty((16, start.shape[0])), 1
    points[0] = start
    while distance_between(points[count - 1], end) > step:
        points = extended(points, count)
        if not step_towards(sets, points[count - 1], end, step, basis, points[count]):
            return points[:0]
        count += 1
    points = extended(points, count)
    points[count] = end
    return points[: count + 1]
