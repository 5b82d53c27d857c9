"""Null-space smoothing of paths of redundant arms: poses are preserved, joint motion is reduced."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ....kinematics._kernels import ik_kernels
from ....kinematics.ik.problem import IkProblem
from ....trajectory.limits import Array
from .self_motion_kernels import find_null_spaces, smoothing_cost, smoothing_step

MAX_ITERATIONS = 20
MAX_STEP = 0.2  # [rad or m] of a joint in one iteration
MIN_GAIN = 1e-3  # min decrease of the cost per iteration, as a fraction
DAMPINGS = (1e-6, 1e-2, 1.0, 100.0)  # in this order, as fractions of the mean stiffness

AT_LIMIT = 1e-4  # [rad or m] from a limit, of a joint that a step does not move beyond it
MAX_ROUNDS = 3  # in which joints are held at limits that a step would violate

Project = Callable[[Array], tuple[Array, NDArray[np.bool_]]]


def smooth(problem: IkProblem, path: Array, spacings: Array, fixed: NDArray[np.bool_], project: Project) -> Array:
    """Return a path (k + 1, n) with the same poses and a smaller sum of squared joint steps over spacings (k,).

    All configurations move in the null spaces of their Jacobians at once: a Gauss-Newton step is a banded linear
    system, after which `project` restores the poses. Joints at a limit that a step would violate are held in that step.

    Args:
        fixed: Configurations that do not change (k + 1,).
        project: Projects configurations (k, n) of all points but the first back to their poses; returns them and
            whether each converged.
    """
    redundancy = path.shape[1] - (6 - len(problem.free_axes))
    if redundancy < 1 or len(path) < 2:
        return path
    stiffness = 1.0 / np.maximum(spacings, 1e-9 + 1e-3 * float(spacings.mean()))
    stiffness /= stiffness.mean()
    path = np.ascontiguousarray(path)
    cost = smoothing_cost(path, stiffness)
    for _ in range(MAX_ITERATIONS):
        bases = null_spaces(problem, path, redundancy)
        bases[fixed] = 0.0
        for damping in DAMPINGS:
            moved = path + _step_within(path, bases, stiffness, damping, problem.joints.limits)
            moved[1:], converged = project(moved[1:])
            moved[fixed] = path[fixed]
            new_cost = smoothing_cost(moved, stiffness)
            if converged.all() and new_cost < cost:
                break
        else:
            return path
        gain, path, cost = cost - new_cost, moved, new_cost
        if gain < MIN_GAIN * cost:
            break
    return path


def null_spaces(problem: IkProblem, path: Array, redundancy: int) -> Array:
    """Return orthonormal null space bases (k, n, redundancy) of the task Jacobians."""
    jacobians = ik_kernels.task_jacobians(problem.chain.table, np.ascontiguousarray(path), problem.rotation_weights)
    bases = np.empty((len(path), path.shape[1], redundancy))
    find_null_spaces(jacobians, bases)
    return bases


def _step_within(path: Array, bases: Array, stiffness: Array, damping: float, limits: Array) -> Array:
    """Return the steps as `_step` does, without those of joints at their limits that lead beyond them.

    limits: Lower and upper limits of the joints in the first two rows.
    """
    step = _step(path, bases, stiffness, damping)
    at_lower, at_upper = path <= limits[0] + AT_LIMIT, path >= limits[1] - AT_LIMIT
    if not (at_lower.any() or at_upper.any()):
        return step
    bases = bases.copy()
    for _ in range(MAX_ROUNDS):
        beyond = np.argwhere((at_lower & (step < 0.0)) | (at_upper & (step > 0.0)))
        if not len(beyond):
            break
        for point, joint in beyond.tolist():  # only combinations of the basis that keep the joint remain
            row = bases[point, joint].copy()
            bases[point] -= np.outer(bases[point] @ row, row) / max(float(row @ row), 1e-300)
        step = _step(path, bases, stiffness, damping)
    return step


def _step(path: Array, bases: Array, stiffness: Array, damping: float) -> Array:
    """Return the steps (k, n) of all configurations that minimize the quadratic model of the cost, or less."""
    step = smoothing_step(path, bases, stiffness, damping)
    max_change = float(np.abs(step).max())
    return np.asarray(step * min(1.0, MAX_STEP / max(max_change, 1e-300)))
