"""Smoothing what a task leaves free: a path of a redundant arm keeps its poses, and its joints travel less."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solveh_banded

from ....kinematics._kernels import ik_kernels
from ....kinematics.ik.problem import IkProblem
from ....trajectory.limits import Array

ITERATIONS = 20
LARGEST_STEP = 0.2  # [rad or m] of a joint in one iteration
ENOUGH = 1e-3  # an iteration that gains less than this share ends it
DAMPINGS = (1e-6, 1e-2, 1.0, 100.0)  # tried in turn, as shares of the mean stiffness

Project = Callable[[Array], tuple[Array, NDArray[np.bool_]]]


def smoothed(problem: IkProblem, path: Array, spacings: Array, held: NDArray[np.bool_], project: Project) -> Array:
    """A path (k + 1, n) with the same poses and the sum of squared joint steps over spacings (k,) made small.

    Each configuration moves along what leaves its pose alone, all at once: a Gauss-Newton step in the null spaces of
    the Jacobians is a banded system, then `project` brings the configurations back to their poses. held (k + 1,): those
    that stay. project: configurations (k, n) of all points but the first, and whether each is at its pose.
    """
    freedom = path.shape[1] - (6 if problem.free_rotation == ik_kernels.FIXED_ROTATION else 5)
    if freedom < 1 or len(path) < 2:
        return path
    stiffness = 1.0 / np.maximum(spacings, 1e-9 + 1e-3 * float(spacings.mean()))
    stiffness /= stiffness.mean()
    cost = _cost(path, stiffness)
    for _ in range(ITERATIONS):
        bases = null_spaces(problem, path, freedom)
        bases[held] = 0.0
        for damping in DAMPINGS:
            moved = path + _step(path, bases, stiffness, damping)
            moved[1:], got_there = project(moved[1:])
            moved[held] = path[held]
            found = _cost(moved, stiffness)
            if got_there.all() and found < cost:
                break
        else:
            return path
        gain, path, cost = cost - found, moved, found
        if gain < ENOUGH * cost:
            break
    return path


def _cost(path: Array, stiffness: Array) -> float:
    return float(stiffness @ np.sum(np.diff(path, axis=0) ** 2, axis=1))


def null_spaces(problem: IkProblem, path: Array, freedom: int) -> Array:
    """Orthonormal bases (k, n, freedom) of what leaves the pose of each configuration alone."""
    jacobians = ik_kernels.task_jacobians(problem.chain.table, np.ascontiguousarray(path), problem.free_rotation)
    _, _, rows = np.linalg.svd(jacobians)
    return np.ascontiguousarray(np.swapaxes(rows[:, -freedom:], 1, 2))


def _step(path: Array, bases: Array, stiffness: Array, damping: float) -> Array:
    """Steps (k, n) of all configurations that bring the cost to its least, as far as it is quadratic."""
    count, _, size = bases.shape
    steps = np.diff(path, axis=0) * stiffness[:, None]
    force = np.zeros_like(path)
    force[:-1] += steps
    force[1:] -= steps
    pulls = np.einsum("kns,kn->ks", bases, force)
    diagonal = np.full(count, damping)
    diagonal[:-1] += stiffness
    diagonal[1:] += stiffness
    # Upper bands of the matrix: row 2 size - 1 is its diagonal.
    bands = np.zeros((2 * size, count * size))
    bands[-1] = np.repeat(diagonal, size)
    couplings = -stiffness[:, None, None] * np.einsum("kns,knt->kst", bases[:-1], bases[1:])
    for row in range(size):
        for column in range(size):
            offset = size + column - row
            bands[2 * size - 1 - offset, size + column :: size] = couplings[:, row, column]
    solved = solveh_banded(bands, pulls.ravel(), check_finite=False).reshape(count, size)
    move = np.einsum("kns,ks->kn", bases, solved)
    largest = float(np.abs(move).max())
    return np.asarray(move * min(1.0, LARGEST_STEP / max(largest, 1e-300)))
