"""Manipulability of configurations in the constrained task directions."""

from __future__ import annotations

import numpy as np

from ....kinematics._kernels import ik_kernels
from ....kinematics.ik.problem import IkProblem
from ....trajectory.limits import Array


def manipulabilities(problem: IkProblem, configurations: Array) -> Array:
    """Return sqrt(det(J J^T)) for configurations (k, n), or sqrt(det(J^T J)) if there are fewer joints than task
    directions: (k,).

    Yoshikawa, Manipulability of Robotic Mechanisms, 1985.
    """
    jacobians = ik_kernels.task_jacobians(
        problem.chain.table, np.ascontiguousarray(configurations), problem.rotation_weights
    )
    directions = 6 - len(problem.free_axes)
    if jacobians.shape[2] < directions:
        squares = np.swapaxes(jacobians, 1, 2) @ jacobians
    else:
        squares = jacobians @ np.swapaxes(jacobians, 1, 2)
        if problem.free_axes:
            # The free direction has no row: with an eigenvalue of 1, the product of the others remains.
            axes = problem.chain.forward_many(np.ascontiguousarray(configurations))[:, :3, 2]
            squares[:, 3:, 3:] += axes[:, :, None] * axes[:, None, :]
    return np.asarray(np.sqrt(np.maximum(np.linalg.det(squares), 0.0)))


def smallest_manipulability(problem: IkProblem, configurations: Array) -> float:
    """Return the min manipulability along a path (k, n)."""
    return float(manipulabilities(problem, configurations).min())
