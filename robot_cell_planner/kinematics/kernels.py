"""Compiled kernels of serial chains: forward kinematics, Jacobians, and the numeric inverse.

A chain is an array (m + 1, CHAIN_COLUMNS), see `chain.py`: a row for each of m joints, then one for the tip. A row
holds the fixed transform from the joint (or base) before to this joint, whose axis is z of the result, then what the
joint does. Transforms are homogeneous, angles in rad, lengths in m. A target is a transform (4, 4); `freedom` says
which rotations of it do not matter.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .compiled import compiled

Array = NDArray[np.float64]

# Columns of a chain: rotation (9, row by row), translation (3), then:
KIND = 12  # 0 turns, 1 slides
VARIABLE = 13  # index of the variable that drives it
MULTIPLIER = 14
OFFSET = 15
CHAIN_COLUMNS = 16

NO_FREEDOM, ABOUT_Z, ANY_ROTATION = 0, 1, 2

TURN = 2.0 * math.pi
ROUGHLY = 1e-2  # [m, rad] closed-form solutions nearer to target and limits than this are brought onto the target
POLISHINGS = 12  # iterations that this may take
LIMIT_SLACK = 1e-7  # [rad, m] rounding beyond a limit that is put back onto it
SAME = 1e-5  # [rad, m] configurations nearer to one another than this are one
DAMPING_FLOOR = 1e-9  # keeps the normal equations solvable in singular and redundant configurations
FARTHEST_PULL = 0.5  # [m]
PATIENCE, LONG_PATIENCE = 0.99, 1.0 - 1e-7  # of a search among many, and of one that has to end at the nearest place
LONGEST_STEP = 1.0  # [rad, m] of one joint in one iteration
STALLED_AFTER = 8  # iterations without progress


@compiled
def walk(chain: Array, q: Array, origins: Array, axes: Array, pose: Array) -> None:
    """Fill axes (m, 3) and origins (m, 3) of all joints and the pose (4, 4) of the tip, in the base of the chain."""
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
    """Pose (4, 4) of the tip."""
    rows = chain.shape[0]
    pose = np.empty((4, 4))
    walk(chain, q, np.empty((rows, 3)), np.empty((rows, 3)), pose)
    return pose


@compiled
def forward_many(chain: Array, configurations: Array) -> Array:
    """Poses (k, 4, 4) of the tip for configurations (k, n)."""
    rows = chain.shape[0]
    origins, axes = np.empty((rows, 3)), np.empty((rows, 3))
    poses = np.empty((configurations.shape[0], 4, 4))
    for k in range(configurations.shape[0]):
        walk(chain, configurations[k], origins, axes, poses[k])
    return poses


@compiled
def position_and_quaternion(pose: Array) -> Array:
    """x, y, z and the unit quaternion x, y, z, w, w >= 0, of a pose (4, 4): by its largest part (Shepperd, 1978)."""
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
    """The same as plain numbers."""
    found = position_and_quaternion(pose)
    return found[0], found[1], found[2], found[3], found[4], found[5], found[6]


@compiled
def tip_numbers(chain: Array, q: Array) -> tuple[float, float, float, float, float, float, float]:
    """Position and unit quaternion of the tip as plain numbers."""
    return pose_numbers(forward(chain, q))


@compiled
def positions_and_quaternions(poses: Array) -> Array:
    """The same (k, 7) of poses (k, 4, 4)."""
    result = np.empty((poses.shape[0], 7))
    for k in range(poses.shape[0]):
        result[k] = position_and_quaternion(poses[k])
    return result


@compiled
def fill_jacobian(chain: Array, origins: Array, axes: Array, pose: Array, jacobian: Array) -> None:
    """Fill the Jacobian (6, n), linear rows first, of the tip's origin in the axes of the chain's base."""
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
    """Jacobian (6, n), linear rows first, of the tip's origin in the axes of the chain's base."""
    rows = chain.shape[0]
    origins, axes, pose = np.empty((rows, 3)), np.empty((rows, 3)), np.empty((4, 4))
    result = np.empty((6, q.shape[0]))
    walk(chain, q, origins, axes, pose)
    fill_jacobian(chain, origins, axes, pose, result)
    return result


@compiled
def rows_product(a: Array, i: int, b: Array, j: int) -> float:
    """Product of the first three numbers of two rows."""
    return float(a[i, 0] * b[j, 0] + a[i, 1] * b[j, 1] + a[i, 2] * b[j, 2])


@compiled
def fill_error(target: Array, pose: Array, freedom: int, error: Array) -> tuple[float, float]:
    """Fill the error (6,): the translation and the rotation vector, in base axes, that bring the pose onto the target.

    With ABOUT_Z the rotation is the shortest one that aligns the z axes. Returns the distance [m] and the angle [rad].
    """
    ep = 0.0
    for i in range(3):
        error[i] = target[i, 3] - pose[i, 3]
        ep += error[i] * error[i]
    if freedom == ANY_ROTATION:
        error[3], error[4], error[5] = 0.0, 0.0, 0.0
        return math.sqrt(ep), 0.0
    if freedom == ABOUT_Z:
        zx, zy, zz = pose[0, 2], pose[1, 2], pose[2, 2]
        tx, ty, tz = target[0, 2], target[1, 2], target[2, 2]
        x, y, z = zy * tz - zz * ty, zz * tx - zx * tz, zx * ty - zy * tx
        cosine = zx * tx + zy * ty + zz * tz
        if cosine < 0.0 and x * x + y * y + z * z < 1e-20:  # opposite axes: about the pose's x axis
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
        if cosine < 0.0 and x * x + y * y + z * z < 1e-20:  # half a turn: the axis is a column of the rotation plus 1
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
def set_free(freedom: int, pose: Array, jacobian: Array) -> None:
    """Take the rotations that are free out of a Jacobian."""
    if freedom == ANY_ROTATION:
        jacobian[3:] = 0.0
        return
    x, y, z = pose[0, 2], pose[1, 2], pose[2, 2]
    for j in range(jacobian.shape[1]):
        along = x * jacobian[3, j] + y * jacobian[4, j] + z * jacobian[5, j]
        jacobian[3, j] -= along * x
        jacobian[4, j] -= along * y
        jacobian[5, j] -= along * z


@compiled
def solve_step(jacobian: Array, error: Array, damping: float, frozen: Array, step: Array, matrix: Array) -> None:
    """Fill the step (n,) of (J^T J + damping) step = J^T error, by Cholesky; frozen joints stay."""
    n = step.shape[0]
    for i in range(n):
        total = 0.0
        for k in range(6):
            total += jacobian[k, i] * error[k]
        step[i] = 0.0 if frozen[i] else total
        for j in range(i + 1):
            total = 0.0
            if not (frozen[i] or frozen[j]):
                for k in range(6):
                    total += jacobian[k, i] * jacobian[k, j]
            matrix[i, j] = total
        matrix[i, i] += 1.0 if frozen[i] else damping
    for i in range(n):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = math.sqrt(max(total, 1e-300)) if i == j else total / matrix[j, j]
    for i in range(n):
        for k in range(i):
            step[i] -= matrix[i, k] * step[k]
        step[i] /= matrix[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            step[i] -= matrix[k, i] * step[k]
        step[i] /= matrix[i, i]


@compiled
def approach(
    chain: Array,
    target: Array,
    freedom: int,
    q: Array,
    lower: Array,
    upper: Array,
    tolerance: Array,
    iterations: int,
    patience: float,
) -> tuple[float, float]:
    """Bring q (n,) to the target in place, by damped least squares within limits.

    The damping shrinks with the squared error (Sugihara, Solvability-Unconcerned Inverse Kinematics by the
    Levenberg-Marquardt Method, 2011). Joints that a step would push through a limit that they rest on stay there for
    that step. Returns the distance [m] and the angle [rad] that are left; tolerance: (2,) of both. It ends early where
    the squared error stays above `patience` times the best one.
    """
    n, rows = q.shape[0], chain.shape[0]
    origins, axes, pose = np.empty((rows, 3)), np.empty((rows, 3)), np.empty((4, 4))
    jacobian, error = np.empty((6, n)), np.empty(6)
    step, matrix, frozen = np.empty(n), np.empty((n, n)), np.zeros(n)
    best, stalled = math.inf, 0
    walk(chain, q, origins, axes, pose)
    distance, angle = fill_error(target, pose, freedom, error)
    for _ in range(iterations):
        if distance <= tolerance[0] and angle <= tolerance[1]:
            break
        square = distance * distance + angle * angle
        stalled = 0 if square < patience * best else stalled + 1
        best = min(best, square)
        if stalled > STALLED_AFTER:
            break
        fill_jacobian(chain, origins, axes, pose, jacobian)
        if freedom != NO_FREEDOM:
            set_free(freedom, pose, jacobian)
        if distance > FARTHEST_PULL:  # a target far away pulls in its direction, not with its distance
            for i in range(3):
                error[i] *= FARTHEST_PULL / distance
            square = FARTHEST_PULL * FARTHEST_PULL + angle * angle
        frozen[:] = 0.0
        for _round in range(3):
            solve_step(jacobian, error, 0.5 * square + DAMPING_FLOOR, frozen, step, matrix)
            blocked = False
            for i in range(n):
                if (step[i] < 0.0 and q[i] <= lower[i]) or (step[i] > 0.0 and q[i] >= upper[i]):
                    frozen[i], blocked = 1.0, True
            if not blocked:
                break
        longest = 0.0
        for i in range(n):
            longest = max(longest, abs(step[i]))
        scale = 1.0 if longest <= LONGEST_STEP else LONGEST_STEP / longest
        for i in range(n):
            q[i] = min(max(q[i] + scale * step[i], lower[i]), upper[i])
        walk(chain, q, origins, axes, pose)
        distance, angle = fill_error(target, pose, freedom, error)
    return distance, angle


@compiled
def approach_many(
    chain: Array,
    targets: Array,
    freedom: int,
    configurations: Array,
    lower: Array,
    upper: Array,
    tolerance: Array,
    iterations: int,
    patience: float,
) -> Array:
    """`approach` for each of configurations (k, n) and its own target (k, 4, 4), in place; what is left (k, 2)."""
    left = np.empty((configurations.shape[0], 2))
    for k in range(configurations.shape[0]):
        left[k, 0], left[k, 1] = approach(
            chain, targets[k], freedom, configurations[k], lower, upper, tolerance, iterations, patience
        )
    return left


@compiled
def approach_in_turn(
    chain: Array,
    targets: Array,
    freedom: int,
    start: Array,
    lower: Array,
    upper: Array,
    tolerance: Array,
    iterations: int,
    patience: float,
) -> tuple[Array, Array]:
    """Configurations (k, n) at targets (k, 4, 4), each approached from the one before, the first from the start (n,);
    what is left (k, 2)."""
    count, n = targets.shape[0], start.shape[0]
    found, left = np.empty((count, n)), np.empty((count, 2))
    for k in range(count):
        for i in range(n):
            found[k, i] = start[i] if k == 0 else found[k - 1, i]
        left[k, 0], left[k, 1] = approach(
            chain, targets[k], freedom, found[k], lower, upper, tolerance, iterations, patience
        )
    return found, left


@compiled
def task_jacobians(chain: Array, configurations: Array, freedom: int) -> Array:
    """Jacobians (k, 6, n) as `jacobian_of` has them, without the rotations that are free, for configurations (k, n)."""
    count, n = configurations.shape
    rows = chain.shape[0]
    origins, axes, pose = np.empty((rows, 3)), np.empty((rows, 3)), np.empty((4, 4))
    result = np.empty((count, 6, n))
    for k in range(count):
        walk(chain, configurations[k], origins, axes, pose)
        fill_jacobian(chain, origins, axes, pose, result[k])
        if freedom != NO_FREEDOM:
            set_free(freedom, pose, result[k])
    return result


@compiled
def around_lock(lock: Array, tip: Array, last: bool, targets: Array, values: Array) -> Array:
    """Targets (k, 4, 4) of the chain that is left when its first or last joint is taken away with what lies beyond it.

    lock: the row of that joint; tip: that of the tip. values: (k,) of the joint. Without the last joint the chain ends
    where that joint begins; without the first it starts where that joint ends.
    """
    table = np.zeros((2, CHAIN_COLUMNS))
    table[0], table[1] = lock, tip
    for i in range(CHAIN_COLUMNS):
        if last and i < KIND:
            table[0, i] = 1.0 if i in (0, 4, 8) else 0.0
        if not last:
            table[1, i] = 1.0 if i in (0, 4, 8) else 0.0
    table[0, VARIABLE] = 0.0
    origins, axes, way, value = np.empty((2, 3)), np.empty((2, 3)), np.empty((4, 4)), np.empty(1)
    result = np.zeros(targets.shape)
    for k in range(values.shape[0]):
        value[0] = values[k]
        walk(table, value, origins, axes, way)
        target, moved = targets[k], result[k]
        for i in range(3):
            for j in range(3):
                for m in range(3):
                    moved[i, j] += target[i, m] * way[j, m] if last else way[m, i] * target[m, j]
        for i in range(3):
            moved[i, 3] = target[i, 3] if last else 0.0
            for m in range(3):
                moved[i, 3] += -moved[i, m] * way[m, 3] if last else way[m, i] * (target[m, 3] - way[m, 3])
        moved[3, 3] = 1.0
    return result


@compiled
def nearest_turn(value: float, near: float, lower: float, upper: float) -> float:
    """The angle plus whole turns that is nearest to another, within the limits or else least beyond them."""
    value += TURN * round((near - value) / TURN)
    if value < lower:
        value += TURN * math.ceil((lower - LIMIT_SLACK - value) / TURN)
        if value > upper + LIMIT_SLACK and lower - (value - TURN) < value - upper:
            value -= TURN
    elif value > upper:
        value -= TURN * math.ceil((value - upper - LIMIT_SLACK) / TURN)
        if value < lower - LIMIT_SLACK and (value + TURN) - upper < lower - value:
            value += TURN
    return value


@compiled
def unwind(q: Array, near: Array, limits: Array, angular: Array) -> None:
    """Bring the angles of q (n,), which is within limits, into the turn that is nearest to `near`, in place."""
    for i in range(q.shape[0]):
        if angular[i]:
            q[i] = nearest_turn(q[i], near[i], limits[0, i], limits[1, i])
        q[i] = min(max(q[i], limits[0, i]), limits[1, i])


@compiled
def beyond(value: float, lower: float, upper: float) -> float:
    """How far a value lies outside its limits."""
    return max(lower - value, value - upper, 0.0)


@compiled
def is_new(found: Array, count: int, q: Array, angular: Array) -> bool:
    """Whether q differs from the first `count` of the configurations found, whole turns aside."""
    for k in range(count):
        same = True
        for i in range(q.shape[0]):
            gap = abs(found[k, i] - q[i])
            if angular[i]:
                gap = abs(gap - TURN * round(gap / TURN))
            if gap > SAME:
                same = False
                break
        if same:
            return False
    return True


@compiled
def turn_within(q: Array, seed: Array, limits: Array, angular: Array) -> float:
    """Turn the angles of q (n,) by whole turns to be near the seed and within limits; returns the largest excess."""
    excess = 0.0
    for i in range(q.shape[0]):
        if angular[i]:
            q[i] = nearest_turn(q[i], seed[i], limits[0, i], limits[1, i])
        excess = max(excess, beyond(q[i], limits[0, i], limits[1, i]))
    return excess


@compiled
def settle(
    chain: Array,
    target: Array,
    freedom: int,
    q: Array,
    seed: Array,
    limits: Array,
    angular: Array,
    tolerance: Array,
    origins: Array,
    axes: Array,
    pose: Array,
    error: Array,
) -> bool:
    """Turn a rough solution q (n,) into a verified one within limits, in place; False where that cannot be.

    The last four arrays are work space. Leaves in error[:2] the distance [m] and the angle [rad] that are left.
    """
    if turn_within(q, seed, limits, angular) > ROUGHLY:
        return False
    walk(chain, q, origins, axes, pose)
    distance, angle = fill_error(target, pose, freedom, error)
    if not (distance <= ROUGHLY and angle <= ROUGHLY):  # or not a number
        return False
    if distance > 0.01 * tolerance[0] or angle > 0.01 * tolerance[1]:
        distance, angle = approach(
            chain, target, freedom, q, limits[2], limits[3], 0.01 * tolerance, POLISHINGS, PATIENCE
        )
    excess = turn_within(q, seed, limits, angular)
    if excess > LIMIT_SLACK:
        return False
    if excess > 0.0:
        for i in range(q.shape[0]):
            q[i] = min(max(q[i], limits[0, i]), limits[1, i])
        walk(chain, q, origins, axes, pose)
        distance, angle = fill_error(target, pose, freedom, error)
    error[0], error[1] = distance, angle
    return bool(distance <= tolerance[0] and angle <= tolerance[1])


@compiled
def finish(
    chain: Array,
    target: Array,
    freedom: int,
    rough: Array,
    seed: Array,
    limits: Array,
    angular: Array,
    tolerance: Array,
) -> tuple[Array, Array]:
    """Verify rough solutions (k, n) and the seed (n,) itself, and order them by their distance to it.

    They are brought onto the target, and turned by whole turns to be near the seed. limits: (4, n) of lower, upper,
    -inf, inf. Returns solutions (c, n) within limits, none twice, and what they leave (c, 2): distance and angle.
    """
    count, n = rough.shape
    rows = chain.shape[0]
    origins, axes, pose, error = np.empty((rows, 3)), np.empty((rows, 3)), np.empty((4, 4)), np.empty(6)
    found, facts = (
        np.empty((count + 1, n)),
        np.empty((count + 1, 3)),
    )  # facts: squared distance to the seed, what is left
    order = np.empty(count + 1, dtype=np.int64)
    c = 0
    for k in range(-1, count):
        q = found[c]
        for i in range(n):
            q[i] = seed[i] if k < 0 else rough[k, i]
        if not settle(
            chain, target, freedom, q, seed, limits, angular, tolerance, origins, axes, pose, error
        ) or not is_new(found, c, q, angular):
            continue
        key = 0.0
        for i in range(n):
            key += (q[i] - seed[i]) ** 2
        facts[c, 0], facts[c, 1], facts[c, 2] = key, error[0], error[1]
        place = c
        while place > 0 and facts[order[place - 1], 0] > key:
            order[place] = order[place - 1]
            place -= 1
        order[place] = c
        c += 1
    solutions, left = np.empty((c, n)), np.empty((c, 2))
    for k in range(c):
        row = order[k]
        left[k, 0], left[k, 1] = facts[row, 1], facts[row, 2]
        for i in range(n):
            solutions[k, i] = found[row, i]
    return solutions, left


@compiled
def search(
    chain: Array,
    target: Array,
    freedom: int,
    starts: Array,
    limits: Array,
    angular: Array,
    tolerance: Array,
    iterations: int,
    wanted: int,
    patience: float,
) -> tuple[Array, Array, Array, Array]:
    """Numeric search from starts (k, n) until `wanted` different solutions are found.

    Returns solutions (c, n), what they leave (c, 2), the closest configuration (n,), and (3,) of what that leaves and
    of how many starts were used.
    """
    count, n = starts.shape
    found, left = np.empty((count, n)), np.empty((count, 2))
    closest, facts = starts[0].copy(), np.array((math.inf, math.inf, 0.0))
    q = np.empty(n)
    c = 0
    for k in range(count):
        for i in range(n):
            q[i] = min(max(starts[k, i], limits[0, i]), limits[1, i])
        distance, angle = approach(
            chain, target, freedom, q, limits[0], limits[1], 0.01 * tolerance, iterations, patience
        )
        if distance * distance + angle * angle < facts[0] * facts[0] + facts[1] * facts[1]:
            closest[:] = q
            facts[0], facts[1] = distance, angle
        facts[2] = k + 1.0
        if distance <= tolerance[0] and angle <= tolerance[1] and is_new(found, c, q, angular):
            found[c] = q
            left[c, 0], left[c, 1] = distance, angle
            c += 1
            if c == wanted:
                break
    return found[:c], left[:c], closest, facts


@compiled
def add_cross(factor: float, a: Array, b: Array, result: Array) -> None:
    """Add factor * a x b to a vector (3,)."""
    result[0] += factor * (a[1] * b[2] - a[2] * b[1])
    result[1] += factor * (a[2] * b[0] - a[0] * b[2])
    result[2] += factor * (a[0] * b[1] - a[1] * b[0])


@compiled
def jacobian_and_rate(chain: Array, q: Array, v: Array, jacobian: Array, rate: Array, pose: Array) -> None:
    """Fill the Jacobian (6, n) as `jacobian_of` has it, its derivative in time for velocities v (n,), and the pose."""
    rows = chain.shape[0]
    last = rows - 1
    origins, axes = np.empty((rows, 3)), np.empty((rows, 3))
    walk(chain, q, origins, axes, pose)
    fill_jacobian(chain, origins, axes, pose, jacobian)
    for k in range(3):
        origins[last, k] = pose[k, 3]
    # What each joint, and at last the tip, is moved by: the spin of the body that carries it, and its own speed.
    spins, speeds, gap = np.zeros((rows, 3)), np.zeros((rows, 3)), np.empty(3)
    for i in range(last):
        factor = chain[i, MULTIPLIER]
        rate_of_joint = factor * v[int(chain[i, VARIABLE])]
        turns = chain[i, KIND] == 0.0
        for k in range(3):
            gap[k] = origins[i + 1, k] - origins[i, k]
            spins[i + 1, k] = spins[i, k] + (rate_of_joint * axes[i, k] if turns else 0.0)
            speeds[i + 1, k] = speeds[i, k] + (0.0 if turns else rate_of_joint * axes[i, k])
        add_cross(1.0, spins[i + 1], gap, speeds[i + 1])
    turning, arm, opening = np.empty(3), np.empty(3), np.empty(3)
    rate[:] = 0.0
    for i in range(last):
        column, factor = int(chain[i, VARIABLE]), chain[i, MULTIPLIER]
        turning[:] = 0.0
        add_cross(factor, spins[i], axes[i], turning)
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
    """Jacobians (k, 6, n), their derivatives (k, 6, n) and poses (k, 4, 4) of the tip, for rows (k, n)."""
    count, n = configurations.shape
    jacobians, rates, poses = np.empty((count, 6, n)), np.empty((count, 6, n)), np.empty((count, 4, 4))
    for k in range(count):
        jacobian_and_rate(chain, configurations[k], velocities[k], jacobians[k], rates[k], poses[k])
    return jacobians, rates, poses
