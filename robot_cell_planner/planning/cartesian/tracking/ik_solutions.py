"""Inverse kinematics solutions at poses along a path, for a ladder graph: samples of all solutions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....kinematics._kernels import ik_kernels, pose_batch_kernels, wrapping_kernels
from ....kinematics.ik.analytic import AnalyticSolver, closed_form
from ....kinematics.ik.problem import IkProblem
from ....kinematics.ik.seeds import free_rotations, random_starts
from ....trajectory.limits import Array

# Number of samples of a locked joint of the analytic solver, and of a free rotation,
SAMPLES = 24
# and of each if both are sampled.
SAMPLES_OF_BOTH = 12
RANDOM_STARTS = 48  # restarts of the numeric search at an anchor
MAX_ANCHORS = 16  # max number of poses with a numeric search; solutions at others are tracked from their neighbours
MAX_TRACKED = 64  # max number of configurations tracked to the next pose
MAX_ITERATIONS = 60
POSES_AT_ONCE = 32  # poses between two checks of limits

Check = Callable[[float], None]


def solutions_along(problem: IkProblem, targets: Array, seed: int, check: Check) -> list[Array]:
    """Return solutions (c, dof) at each of the poses (k, 4, 4), within limits and tolerances, wrapped nearest to the
    problem's start.

    With an analytic solver these are all solutions, or evenly spaced samples if there are infinitely many. Otherwise a
    numeric search from random configurations runs at some of the poses, and its solutions are tracked to the others.

    Args:
        check: Called between poses with the completed fraction; may raise.
    """
    form = closed_form(problem.chain)
    if form is None:
        return _numeric_solutions(problem, targets, seed, check)
    found: list[Array] = []
    for first in range(0, len(targets), POSES_AT_ONCE):
        check(first / len(targets))
        found.extend(_closed_form_solutions(problem, form, targets[first : first + POSES_AT_ONCE]))
    return found


def redundancy(problem: IkProblem) -> int:
    """Return the number of redundant joints for the task."""
    return max(0, sum(problem.chain.used) - (6 - len(problem.free_axes)))


def sweep_step(problem: IkProblem) -> float:
    """Return the max step [rad] between samples of redundant degrees of freedom."""
    form = closed_form(problem.chain)
    both = form is not None and form.locked is not None and bool(problem.free_axes)
    return 2.0 * np.pi / (SAMPLES_OF_BOTH if both else SAMPLES)


def _closed_form_solutions(problem: IkProblem, form: AnalyticSolver, targets: Array) -> list[Array]:
    """Return solutions of the analytic solver at poses (k, 4, 4), for all samples of redundant degrees of freedom."""
    both = form.locked is not None and bool(problem.free_axes)
    count = SAMPLES_OF_BOTH if both else SAMPLES
    values = np.zeros(1)
    if form.locked is not None:
        values = _joint_samples(problem, form.locked, count)
    sampled = targets
    if problem.free_axes:
        sampled = _freely_rotated(targets, problem.free_axes, count)
    if len(values) > 1:
        sampled = np.repeat(sampled, len(values), axis=0)
    candidates, counts = form.candidates(sampled, np.resize(values, len(sampled)), problem.start)
    joints = problem.joints
    rows, found = pose_batch_kernels.verify_each(
        problem.chain.table, targets, problem.rotation_weights, candidates,
        counts.reshape(len(targets), -1).sum(axis=1), problem.start, joints.limits, joints.angular, problem.tolerance,
    )  # fmt: skip
    ends = np.cumsum(found).tolist()
    return [rows[end - size : end] for end, size in zip(ends, found.tolist(), strict=True)]


def _joint_samples(problem: IkProblem, index: int, count: int) -> Array:
    """Return evenly spaced values of a joint over its range, including its start value; only that of a range of length
    zero."""
    low, high = problem.joints.limits[:2, index]
    start = float(problem.start[index])
    if not (np.isfinite(low) and np.isfinite(high)):
        low, high = max(low, start - np.pi), min(high, start + np.pi)
    step = (high - low) / count
    if not step > 0.0:
        return np.array([start])
    below, above = int((start - low) / step), int((high - start) / step)
    return np.asarray(start + step * np.arange(-below, above + 1))


def _freely_rotated(targets: Array, free_axes: tuple[int, ...], count: int) -> Array:
    """Return poses (k, 4, 4) with each of some free rotations, the same for all poses: (k count, 4, 4)."""
    if free_axes == (2,):
        return _rotated_about_z(targets, 2.0 * np.pi * np.arange(count) / count)
    result = np.repeat(targets, count, axis=0)
    rotations = np.concatenate((np.eye(3)[None], free_rotations(free_axes, count - 1, seed=0)))
    result[:, :3, :3] @= np.tile(rotations, (len(targets), 1, 1))
    return result


def _rotated_about_z(targets: Array, angles: Array) -> Array:
    """Return poses (k, 4, 4) rotated about their z axes by each of some angles (a,): (k a, 4, 4)."""
    cosines, sines = np.tile(np.cos(angles), len(targets))[:, None], np.tile(np.sin(angles), len(targets))[:, None]
    result = np.repeat(targets, len(angles), axis=0)
    x, y = result[:, :3, 0].copy(), result[:, :3, 1].copy()
    result[:, :3, 0] = cosines * x + sines * y
    result[:, :3, 1] = cosines * y - sines * x
    return result


def _numeric_solutions(problem: IkProblem, targets: Array, seed: int, check: Check) -> list[Array]:
    """Search numerically at some poses, and track the solutions forwards and backwards to all others."""
    count = len(targets)
    anchors = sorted({round(index) for index in np.linspace(0, count - 1, min(count, MAX_ANCHORS))})
    found = [np.empty((0, len(problem.start)))] * count
    for number, anchor in enumerate(anchors):
        check(0.5 * number / len(anchors))
        found[anchor] = _search(problem, targets[anchor], seed, number * RANDOM_STARTS)
    for order in (range(1, count), range(count - 2, -1, -1)):
        for index in order:
            check(0.5 + 0.25 * index / count if order.step > 0 else 1.0 - 0.25 * index / count)
            neighbours = found[index - 1 if order.step > 0 else index + 1]
            found[index] = _add_tracked(problem, targets[index], found[index], neighbours)
    return found


def _search(problem: IkProblem, target: Array, seed: int, first: int) -> Array:
    joints = problem.joints
    starts = random_starts(RANDOM_STARTS, joints.limits, problem.start, seed, first)
    starts = np.concatenate((problem.start[None], starts))
    found, _, _, _ = ik_kernels.search(
        problem.chain.table, target, problem.rotation_weights, starts, joints.limits, joints.angular, problem.tolerance,
        MAX_ITERATIONS, len(starts), ik_kernels.STALL_TOLERANCE,
    )  # fmt: skip
    found = np.ascontiguousarray(found)
    for row in found:
        wrapping_kernels.wrap_all_near(row, problem.start, joints.limits, joints.angular)
    return found


def _add_tracked(problem: IkProblem, target: Array, known: Array, neighbours: Array) -> Array:
    """Return the known solutions at a pose with new ones tracked from the neighbouring pose."""
    joints, tracked = problem.joints, neighbours[:MAX_TRACKED].copy()
    errors = ik_kernels.solve_many(
        problem.chain.table, np.repeat(target[None], len(tracked), axis=0), problem.rotation_weights, tracked,
        joints.limits[0], joints.limits[1], 0.01 * problem.tolerance, MAX_ITERATIONS, ik_kernels.STALL_TOLERANCE,
    )  # fmt: skip
    within_tolerance = (errors[:, 0] <= problem.tolerance[0]) & (errors[:, 1] <= problem.tolerance[1])
    rows, count = np.empty((len(known) + len(tracked), len(problem.start))), len(known)
    rows[:count] = known
    for q in tracked[within_tolerance]:
        if wrapping_kernels.is_new(rows, count, q, joints.angular):
            rows[count] = q
            count += 1
    return rows[:count]
