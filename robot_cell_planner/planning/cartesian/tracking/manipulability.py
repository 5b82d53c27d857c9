"""Manipulability of configurations in the constrained task directions."""

from __future__ import annotations

import numpy as np

from ....kinematics._kernels import manipulability_kernels as kernels
from ....kinematics.ik.problem import IkProblem
from ....trajectory.limits import Array


def manipulabilities(problem: IkProblem, configurations: Array) -> Array:
    """Return sqrt(det(J J^T)) for configurations (k, n), or sqrt(det(J^T J)) if there are fewer joints than task
    directions: (k,).

    Yoshikawa, Manipulability of Robotic Mechanisms, 1985.
    """
    rows = np.ascontiguousarray(configurations)
    found: Array = kernels.manipulabilities(problem.chain.table, rows, problem.rotation_weights)
    return found


def smallest_manipulability(problem: IkProblem, configurations: Array) -> float:
    """Return the min manipulability along a path (k, n)."""
    return float(manipulabilities(problem, configurations).min())
