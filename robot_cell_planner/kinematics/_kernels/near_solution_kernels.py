"""Compiled kernels of the solution nearest to a seed, where there are infinitely many. Arguments are as in
`ik_kernels`."""

from __future__ import annotations

import math

import numpy as np

from ...system.borrowed_arrays import borrowed
from ...system.compiled import compiled
from .chain_kernels import Array, fill_jacobian, forward_pass
from .ik_kernels import STALL_TOLERANCE, solve
from .least_squares_kernels import DAMPING_FLOOR, solve_step
from .pose_error_kernels import all_fixed, fill_error, remove_free_rotations
from .wrapping_kernels import wrap_all_near

FIRST_ITERATIONS = 4  # of the numeric search; it ends if the target is still far
STILL_FAR = 0.5  # [m, rad]
MORE_ITERATIONS = 12
APPROACHES = 8  # max steps towards the seed
SHORT = 1e-3  # [rad, m] steps towards the seed that are not worth another one
LONGEST = 0.3  # [rad, m] max step of one joint towards the seed


@compiled
def solve_near(
    chain: Array,
    target: Array,
    rotation_weights: Array,
    seed: Array,
    limits: Array,
    angular: Array,
    tolerance: Array,
) -> tuple[Array, Array]:
    """Search numerically for the solution nearest to a seed (n,), with few iterations.

    Damped least squares steps have no component that does not move the frame, so that the first solution is close; it
    is then moved along the solutions, to a local minimum of the distance.

    Returns:
        The solution (1, n) within limits and residuals (1, 2), or none: (0, n) and (0, 2).
    """
    limits = borrowed(limits)
    n = seed.shape[0]
    found, left, closer = np.empty((1, n)), np.empty((1, 2)), np.empty(n)
    q = found[0]
    for i in range(n):
        q[i] = min(max(seed[i], limits[0, i]), limits[1, i])
    strict = 0.01 * tolerance
    distance, angle = math.inf, math.inf
    for iterations in (FIRST_ITERATIONS, MORE_ITERATIONS):
        distance, angle = solve(
            chain, target, rotation_weights, q, limits[0], limits[1], strict, iterations, STALL_TOLERANCE
        )
        if distance * distance + angle * angle > STILL_FAR * STILL_FAR:
            break
    if not (distance <= tolerance[0] and angle <= tolerance[1]):
        return found[:0], left[:0]
    wrap_all_near(q, seed, limits, angular)
    left[0, 0], left[0, 1] = distance, angle
    closer[:] = q
    if approach(chain, target, rotation_weights, closer, seed, limits[0], limits[1]):
        distance, angle = solve(
            chain, target, rotation_weights, closer, limits[0], limits[1], strict, FIRST_ITERATIONS, STALL_TOLERANCE
        )
        nearer = np.sum((closer - seed) ** 2) < np.sum((q - seed) ** 2)
        if nearer and distance <= tolerance[0] and angle <= tolerance[1]:
            found[0] = closer
            left[0, 0], left[0, 1] = distance, angle
    return found, left


@compiled
def approach(
    chain: Array, target: Array, rotation_weights: Array, q: Array, seed: Array, lower: Array, upper: Array
) -> bool:
    """Move a solution q (n,) in place towards the seed (n,), within limits, while the frame stays about at the target;
    return whether it was moved.

    Each step leads to the configuration nearest to the seed of those with the linearized pose of the target
    (Gauss-Newton steps of the distance with the pose as a constraint). Joints at a limit that a step would violate are
    fixed for that step.
    """
    chain, target, rotation_weights, q, seed = borrowed((chain, target, rotation_weights, q, seed))
    n, rows = q.shape[0], chain.shape[0]
    origins, axes, pose = np.empty((rows, 3)), np.empty((rows, 3)), np.empty((4, 4))
    jacobian, error, rest = np.empty((6, n)), np.empty(6), np.empty(6)
    step, matrix, frozen = np.empty(n), np.empty((n, n)), np.empty(n)
    for count in range(APPROACHES):
        forward_pass(chain, q, origins, axes, pose)
        fill_error(target, pose, rotation_weights, error)
        fill_jacobian(chain, origins, axes, pose, jacobian)
        if not all_fixed(rotation_weights):
            remove_free_rotations(target, pose, rotation_weights, jacobian)
        frozen[:] = 0.0
        for _ in range(3):
            for k in range(6):
                rest[k] = error[k]
                for i in range(n):
                    if not frozen[i]:
                        rest[k] -= jacobian[k, i] * (seed[i] - q[i])
            solve_step(jacobian, rest, DAMPING_FLOOR, frozen, step, matrix)
            blocked = False
            for i in range(n):
                step[i] = 0.0 if frozen[i] else step[i] + seed[i] - q[i]
                if (step[i] < 0.0 and q[i] <= lower[i]) or (step[i] > 0.0 and q[i] >= upper[i]):
                    frozen[i], blocked = 1.0, True
            if not blocked:
                break
        longest = np.abs(step).max()
        if longest < SHORT:
            return count > 0
        scale = min(1.0, LONGEST / longest)
        for i in range(n):
            q[i] = min(max(q[i] + scale * step[i], lower[i]), upper[i])
    return True
