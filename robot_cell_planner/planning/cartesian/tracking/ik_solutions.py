"""All configurations at poses along a route, as a ladder of inverse kinematics needs them: not the nearest first, but
spread over everything that there is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....kinematics._kernels import ik_kernels, wrapping_kernels
from ....kinematics.ik.analytic import AnalyticSolver, closed_form
from ....kinematics.ik.problem import IkProblem
from ....kinematics.ik.seeds import random_starts
from ....trajectory.limits import Array

# Values at which a joint that is locked for the closed form, and a rotation that is free, are tried;
SWEEP = 24
# of each where both are.
SWEEP_OF_BOTH = 12
RANDOM_STARTS = 48  # of the numeric search at an anchor
MOST_ANCHORS = 16  # poses at which a numeric search begins afresh; the others are reached from their neighbours
MOST_TRACKED = 64  # configurations at one pose that are followed to the next
ITERATIONS = 60

Look = Callable[[], None]


def solutions_along(problem: IkProblem, targets: Array, seed: int, look: Look) -> list[Array]:
    """Solutions (c, dof) at each of the poses (k, 4, 4), within limits and the tolerances of the problem, angles in the
    turn nearest to the problem's start.

    With a closed form they are all there are, or evenly spread over what is free; without one those that a numeric
    search from random configurations finds at some of the poses, followed to the others. look: called between poses.
    """
    form = closed_form(problem.chain)
    if form is None:
        return _tracked(problem, targets, seed, look)
    found: list[Array] = []
    for target in targets:
        look()
        found.append(_closed(problem, form, target))
    return found


def redundancy(problem: IkProblem) -> int:
    """How many joints more there are than the task prescribes directions."""
    prescribed = 6 if problem.free_rotation == ik_kernels.FIXED_ROTATION else 5
    return max(0, sum(problem.chain.used) - prescribed)


def sweep_step(problem: IkProblem) -> float:
    """Widest step [rad] between neighbouring values that are tried of what is free."""
    form = closed_form(problem.chain)
    both = form is not None and form.locked is not None and problem.free_rotation != ik_kernels.FIXED_ROTATION
    return 2.0 * np.pi / (SWEEP_OF_BOTH if both else SWEEP)


def _closed(problem: IkProblem, form: AnalyticSolver, target: Array) -> Array:
    """What the closed form gives at a pose (4, 4), at all values of what is free."""
    both = form.locked is not None and problem.free_rotation != ik_kernels.FIXED_ROTATION
    count = SWEEP_OF_BOTH if both else SWEEP
    values = np.zeros(1)
    if form.locked is not None:
        values = _around(problem, form.locked, count)
    targets = target[None]
    if problem.free_rotation != ik_kernels.FIXED_ROTATION:
        targets = _spun(target, 2.0 * np.pi * np.arange(count) / count)
    rough = form.candidates(np.repeat(targets, len(values), axis=0), np.tile(values, len(targets)), problem.start)
    joints = problem.joints
    found, _ = ik_kernels.verify(
        problem.chain.table, target, problem.free_rotation, rough, problem.start, joints.limits, joints.angular,
        problem.tolerance,
    )  # fmt: skip
    return found


def _around(problem: IkProblem, index: int, count: int) -> Array:
    """Values of a joint over its range, evenly spread and that of the start among them."""
    low, high = problem.joints.limits[:2, index]
    start = float(problem.start[index])
    if not (np.isfinite(low) and np.isfinite(high)):
        low, high = max(low, start - np.pi), min(high, start + np.pi)
    step = (high - low) / count
    below, above = int((start - low) / step), int((high - start) / step)
    return np.asarray(start + step * np.arange(-below, above + 1))


def _spun(target: Array, angles: Array) -> Array:
    """A pose turned about its z axis by angles (k,): (k, 4, 4)."""
    cosines, sines = np.cos(angles)[:, None], np.sin(angles)[:, None]
    result = np.repeat(target[None], len(angles), axis=0)
    result[:, :3, 0] = cosines * target[:3, 0] + sines * target[:3, 1]
    result[:, :3, 1] = cosines * target[:3, 1] - sines * target[:3, 0]
    return result


def _tracked(problem: IkProblem, targets: Array, seed: int, look: Look) -> list[Array]:
    """By numeric search at some poses, followed forwards and backwards to all others."""
    count = len(targets)
    anchors = sorted({round(index) for index in np.linspace(0, count - 1, min(count, MOST_ANCHORS))})
    found = [np.empty((0, len(problem.start)))] * count
    for number, anchor in enumerate(anchors):
        look()
        found[anchor] = _searched(problem, targets[anchor], seed, number * RANDOM_STARTS)
    for order in (range(1, count), range(count - 2, -1, -1)):
        for index in order:
            look()
            neighbours = found[index - 1 if order.step > 0 else index + 1]
            found[index] = _with_followed(problem, targets[index], found[index], neighbours)
    return found


def _searched(problem: IkProblem, target: Array, seed: int, first: int) -> Array:
    joints = problem.joints
    starts = random_starts(RANDOM_STARTS, joints.limits, problem.start, seed, first)
    starts = np.concatenate((problem.start[None], starts))
    found, _, _, _ = ik_kernels.search(
        problem.chain.table, target, problem.free_rotation, starts, joints.limits, joints.angular, problem.tolerance,
        ITERATIONS, len(starts), ik_kernels.STALL_TOLERANCE,
    )  # fmt: skip
    found = np.ascontiguousarray(found)
    for row in found:
        wrapping_kernels.wrap_all_near(row, problem.start, joints.limits, joints.angular)
    return found


def _with_followed(problem: IkProblem, target: Array, known: Array, neighbours: Array) -> Array:
    """Those known at a pose, and those that are reached from the neighbour's and are new."""
    joints, reached = problem.joints, neighbours[:MOST_TRACKED].copy()
    left = ik_kernels.solve_many(
        problem.chain.table, np.repeat(target[None], len(reached), axis=0), problem.free_rotation, reached,
        joints.limits[0], joints.limits[1], 0.01 * problem.tolerance, ITERATIONS, ik_kernels.STALL_TOLERANCE,
    )  # fmt: skip
    within = (left[:, 0] <= problem.tolerance[0]) & (left[:, 1] <= problem.tolerance[1])
    rows, count = np.empty((len(known) + len(reached), len(problem.start))), len(known)
    rows[:count] = known
    for q in reached[within]:
        if wrapping_kernels.is_new(rows, count, q, joints.angular):
            rows[count] = q
            count += 1
    return rows[:count]
