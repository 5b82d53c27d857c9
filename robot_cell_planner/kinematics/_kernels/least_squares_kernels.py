"""Compiled kernels of least squares steps of serial chains. Chains are as in `chain_kernels`."""

from __future__ import annotations

import math

import numpy as np

from ...system.borrowed_arrays import borrowed
from ...system.compiled import compiled
from .chain_kernels import Array, fill_jacobian, forward_pass

DAMPING_FLOOR = 1e-9  # keeps the normal equations solvable in singular and redundant configurations


@compiled
def solve_step(jacobian: Array, error: Array, damping: float, frozen: Array, step: Array, matrix: Array) -> None:
    """Solve (J^T J + damping) step = J^T error for step (n,) by Cholesky decomposition; frozen joints do not move."""
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
def move_linear_joints(chain: Array, target: Array, q: Array, lower: Array, upper: Array) -> None:
    """Move only the linear joints of a configuration q (n,), in place and within limits, to the least distance between
    the frame and a target. Positions are linear in them, so that the least squares solution is exact.
    """
    chain, target, q, lower, upper = borrowed((chain, target, q, lower, upper))
    n, rows = q.shape[0], chain.shape[0]
    origins, axes, pose = np.empty((rows, 3)), np.empty((rows, 3)), np.empty((4, 4))
    jacobian, error = np.empty((6, n)), np.zeros(6)
    step, matrix, frozen = np.empty(n), np.empty((n, n)), np.zeros(n)
    forward_pass(chain, q, origins, axes, pose)
    fill_jacobian(chain, origins, axes, pose, jacobian)
    for i in range(n):
        frozen[i] = jacobian[3, i] != 0.0 or jacobian[4, i] != 0.0 or jacobian[5, i] != 0.0
    for _ in range(n):
        for i in range(3):
            error[i] = target[i, 3] - pose[i, 3]
        solve_step(jacobian, error, DAMPING_FLOOR, frozen, step, matrix)
        blocked = False
        for i in range(n):
            if frozen[i]:
                continue
            moved = min(max(q[i] + step[i], lower[i]), upper[i])
            if moved != q[i] + step[i]:
                frozen[i], blocked = 1.0, True
            q[i] = moved
        if not blocked:
            break
        forward_pass(chain, q, origins, axes, pose)
