"""Compiled kernels of numeric inverse kinematics of serial chains, and of the verification of solutions.

Chains are as in `chain_kernels`. A target is a transform (4, 4); `rotation_weights` (3,) are as in
`pose_error_kernels`: zero for an axis of the target about which the rotation is free.
"""

from __future__ import annotations

import math

import numpy as np

from ...system.borrowed_arrays import borrowed
from ...system.compiled import compiled
from .chain_kernels import CHAIN_COLUMNS, KIND, VARIABLE, Array, fill_jacobian, forward_pass
from .least_squares_kernels import DAMPING_FLOOR, move_linear_joints, solve_step
from .pose_error_kernels import all_fixed, fill_error, remove_free_rotations
from .wrapping_kernels import LIMIT_SLACK, is_new, wrap_into_limits

CANDIDATE_TOLERANCE = 1e-2  # [m, rad] analytic candidates within this distance of target and limits are refined
REFINEMENT_ITERATIONS = 12  # max iterations of the refinement
MAX_POSITION_ERROR = 0.5  # [m] max position error used in one iteration
STALL_TOLERANCE = 0.99  # required ratio of squared errors in one search among many
STRICT_STALL_TOLERANCE = 1.0 - 1e-7  # the same in a single search
MAX_JOINT_STEP = 1.0  # [rad, m] max step of one joint in one iteration
MAX_STALLED_ITERATIONS = 8  # iterations without progress
FAR = 5.0  # [m] distance of a target beyond which linear joints first move the frame towards it


@compiled
def solve(
    chain: Array,
    target: Array,
    rotation_weights: Array,
    q: Array,
    lower: Array,
    upper: Array,
    tolerance: Array,
    iterations: int,
    stall_tolerance: float,
) -> tuple[float, float]:
    """Solve for the configuration q (n,) at the target in place, by damped least squares within limits.

    The damping decreases with the squared error (Sugihara, Solvability-Unconcerned Inverse Kinematics by the
    Levenberg-Marquardt Method, 2011). Joints at a limit that a step would violate are fixed for that step. The
    iteration ends early if the squared error stays above `stall_tolerance` (stall tolerance) times the best one.

    tolerance: (2,) distance [m] and angle [rad].

    Returns:
        The remaining distance [m] and angle [rad].
    """
    chain, target, rotation_weights, q = borrowed((chain, target, rotation_weights, q))
    lower, upper, tolerance = borrowed((lower, upper, tolerance))
    n, rows = q.shape[0], chain.shape[0]
    origins, axes, pose = np.empty((rows, 3)), np.empty((rows, 3)), np.empty((4, 4))
    jacobian, error = np.empty((6, n)), np.empty(6)
    step, matrix, frozen = np.empty(n), np.empty((n, n)), np.zeros(n)
    best, stalled = math.inf, 0
    forward_pass(chain, q, origins, axes, pose)
    distance, angle = fill_error(target, pose, rotation_weights, error)
    if distance > FAR:
        move_linear_joints(chain, target, q, lower, upper)
        forward_pass(chain, q, origins, axes, pose)
        distance, angle = fill_error(target, pose, rotation_weights, error)
    for _ in range(iterations):
        if distance <= tolerance[0] and angle <= tolerance[1]:
            break
        square = distance * distance + angle * angle
        stalled = 0 if square < stall_tolerance * best else stalled + 1
        best = min(best, square)
        if stalled > MAX_STALLED_ITERATIONS:
            break
        fill_jacobian(chain, origins, axes, pose, jacobian)
        if not all_fixed(rotation_weights):
            remove_free_rotations(target, pose, rotation_weights, jacobian)
        if (
            distance > MAX_POSITION_ERROR
        ):  # limit the position error, so that only the direction of a distant target matters
            for i in range(3):
                error[i] *= MAX_POSITION_ERROR / distance
            square = MAX_POSITION_ERROR * MAX_POSITION_ERROR + angle * angle
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
        scale = 1.0 if longest <= MAX_JOINT_STEP else MAX_JOINT_STEP / longest
        for i in range(n):
            q[i] = min(max(q[i] + scale * step[i], lower[i]), upper[i])
        forward_pass(chain, q, origins, axes, pose)
        distance, angle = fill_error(target, pose, rotation_weights, error)
    return distance, angle


@compiled
def solve_many(
    chain: Array,
    targets: Array,
    rotation_weights: Array,
    configurations: Array,
    lower: Array,
    upper: Array,
    tolerance: Array,
    iterations: int,
    stall_tolerance: float,
) -> Array:
    """Call `solve` in place for each row of configurations (k, n) and targets (k, 4, 4); return the residuals (k,
    2)."""
    targets, configurations = borrowed((targets, configurations))
    left = np.empty((configurations.shape[0], 2))
    for k in range(configurations.shape[0]):
        left[k, 0], left[k, 1] = solve(
            chain, targets[k], rotation_weights, configurations[k], lower, upper, tolerance, iterations, stall_tolerance
        )
    return left


@compiled
def solve_in_sequence(
    chain: Array,
    targets: Array,
    rotation_weights: Array,
    start: Array,
    lower: Array,
    upper: Array,
    tolerance: Array,
    iterations: int,
    stall_tolerance: float,
) -> tuple[Array, Array]:
    """Solve for targets (k, 4, 4) in sequence, each starting from the preceding solution, the first from start (n,).

    Returns:
        Configurations (k, n) and residuals (k, 2).
    """
    targets = borrowed(targets)
    count, n = targets.shape[0], start.shape[0]
    found, left = np.empty((count, n)), np.empty((count, 2))
    for k in range(count):
        for i in range(n):
            found[k, i] = start[i] if k == 0 else found[k - 1, i]
        left[k, 0], left[k, 1] = solve(
            chain, targets[k], rotation_weights, found[k], lower, upper, tolerance, iterations, stall_tolerance
        )
    return found, left


@compiled
def task_jacobians(chain: Array, configurations: Array, rotation_weights: Array) -> Array:
    """Compute Jacobians (k, 6, n) as in `jacobian_of`, without the free rotations, for configurations (k, n) at their
    targets."""
    configurations = borrowed(configurations)
    count, n = configurations.shape
    rows = chain.shape[0]
    origins, axes, pose = np.empty((rows, 3)), np.empty((rows, 3)), np.empty((4, 4))
    result = np.empty((count, 6, n))
    for k in range(count):
        forward_pass(chain, configurations[k], origins, axes, pose)
        fill_jacobian(chain, origins, axes, pose, result[k])
        if not all_fixed(rotation_weights):
            remove_free_rotations(pose, pose, rotation_weights, result[k])
    return result


@compiled
def targets_without_joint(lock: Array, tip: Array, last: bool, targets: Array, values: Array) -> Array:
    """Compute targets (k, 4, 4) of the chain without its first or last joint and without the part beyond that joint.

    Without the last joint the chain ends where that joint begins; without the first joint it starts where that joint
    ends.

    Args:
        lock: Row of the removed joint.
        tip: Row of the tip.
        last: Whether the last joint is removed.
        targets: (k, 4, 4) targets of the whole chain.
        values: (k,) values of the removed joint [rad or m].
    """
    lock, tip, targets = borrowed((lock, tip, targets))
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
        forward_pass(table, value, origins, axes, way)
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
def refine(
    chain: Array,
    target: Array,
    rotation_weights: Array,
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
    """Refine a candidate q (n,) to a verified solution within limits, in place; return False if that fails.

    The last four arrays are workspace. On return, error[:2] contains the remaining distance [m] and angle [rad].
    """
    chain, target, rotation_weights, tolerance = borrowed((chain, target, rotation_weights, tolerance))
    q, seed, limits, angular = borrowed((q, seed, limits, angular))
    origins, axes, pose, error = borrowed((origins, axes, pose, error))
    if wrap_into_limits(q, seed, limits, angular) > CANDIDATE_TOLERANCE:
        return False
    forward_pass(chain, q, origins, axes, pose)
    distance, angle = fill_error(target, pose, rotation_weights, error)
    if not (distance <= CANDIDATE_TOLERANCE and angle <= CANDIDATE_TOLERANCE):  # also refuses NaN
        return False
    if distance > 0.01 * tolerance[0] or angle > 0.01 * tolerance[1]:
        distance, angle = solve(
            chain,
            target,
            rotation_weights,
            q,
            limits[2],
            limits[3],
            0.01 * tolerance,
            REFINEMENT_ITERATIONS,
            STALL_TOLERANCE,
        )
    excess = wrap_into_limits(q, seed, limits, angular)
    if excess > LIMIT_SLACK:
        return False
    if excess > 0.0:
        for i in range(q.shape[0]):
            q[i] = min(max(q[i], limits[0, i]), limits[1, i])
        forward_pass(chain, q, origins, axes, pose)
        distance, angle = fill_error(target, pose, rotation_weights, error)
    error[0], error[1] = distance, angle
    return bool(distance <= tolerance[0] and angle <= tolerance[1])


@compiled
def verify(
    chain: Array,
    target: Array,
    rotation_weights: Array,
    candidates: Array,
    seed: Array,
    limits: Array,
    angular: Array,
    tolerance: Array,
) -> tuple[Array, Array]:
    """Verify candidates (k, n) and the seed (n,) itself, and sort them by distance to the seed.

    Candidates are refined to the target and wrapped by multiples of 2 pi to be near the seed. limits: (4, n) of lower,
    upper, -inf, inf.

    Returns:
        Distinct solutions (c, n) within limits, and residuals (c, 2): distance [m] and angle [rad].
    """
    chain, target, rotation_weights, candidates = borrowed((chain, target, rotation_weights, candidates))
    seed, limits, angular, tolerance = borrowed((seed, limits, angular, tolerance))
    count, n = candidates.shape
    rows = chain.shape[0]
    origins, axes, pose, error = np.empty((rows, 3)), np.empty((rows, 3)), np.empty((4, 4)), np.empty(6)
    found, facts = (
        np.empty((count + 1, n)),
        np.empty((count + 1, 3)),
    )  # columns: squared distance to the seed, residuals
    order = np.empty(count + 1, dtype=np.int64)
    c = 0
    for k in range(-1, count):
        q = found[c]
        for i in range(n):
            q[i] = seed[i] if k < 0 else candidates[k, i]
        if not refine(
            chain, target, rotation_weights, q, seed, limits, angular, tolerance, origins, axes, pose, error
        ) or not is_new(found, c, q, angular):
            continue
        key = 0.0
        for i in range(n):
            key += (q[i] - seed[i]) ** 2
        facts[c, 0], facts[c, 1], facts[c, 2] = key, error[0], error[1]
        position = c
        while position > 0 and facts[order[position - 1], 0] > key:
            order[position] = order[position - 1]
            position -= 1
        order[position] = c
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
    rotation_weights: Array,
    starts: Array,
    limits: Array,
    angular: Array,
    tolerance: Array,
    iterations: int,
    requested: int,
    stall_tolerance: float,
) -> tuple[Array, Array, Array, Array]:
    """Search numerically from starts (k, n) until `requested` distinct solutions are found.

    Returns:
        Solutions (c, n), residuals (c, 2), the closest configuration (n,), and (3,): its residuals and the number of
        starts used.
    """
    limits = borrowed(limits)
    count, n = starts.shape
    found, left = np.empty((count, n)), np.empty((count, 2))
    closest, facts = starts[0].copy(), np.array((math.inf, math.inf, 0.0))
    q = np.empty(n)
    c = 0
    for k in range(count):
        for i in range(n):
            q[i] = min(max(starts[k, i], limits[0, i]), limits[1, i])
        distance, angle = solve(
            chain, target, rotation_weights, q, limits[0], limits[1], 0.01 * tolerance, iterations, stall_tolerance
        )
        if distance * distance + angle * angle < facts[0] * facts[0] + facts[1] * facts[1]:
            closest[:] = q
            facts[0], facts[1] = distance, angle
        facts[2] = k + 1.0
        if distance <= tolerance[0] and angle <= tolerance[1] and is_new(found, c, q, angular):
            found[c] = q
            left[c, 0], left[c, 1] = distance, angle
            c += 1
            if c == requested:
                break
    return found[:c], left[:c], closest, facts
