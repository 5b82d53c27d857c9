"""Tracing of the self-motion of a redundant arm at one pose."""

from __future__ import annotations

import numpy as np

from ....kinematics.ik.problem import IkProblem
from ....trajectory.limits import Array
from .self_motion_kernels import select_distinct
from .smoothing import Project, null_spaces

# Steps of the trace [rad or m], in this order.
STEPS = (0.15, 0.05)
MIN_SEPARATION = 0.6  # min distance of a new configuration from all others, as a fraction of the step
PREDICTED = 0.5  # the same before projection to the pose
MAX_TRACED = 300  # max number of configurations at one pose
SPARE = 16  # steps that are projected in addition to twice the missing configurations


def trace_self_motion(problem: IkProblem, known: Array, step: float, redundancy: int, project: Project) -> Array:
    """Return configurations (k, dof) reached from those known at a pose (c, dof) by steps in the null space, in both
    directions of each of its `redundancy` dimensions, until nothing new is found.

    Solutions of an analytic solver for evenly spaced values of a locked joint are far apart where that joint reverses
    its direction; the self-motion connects them.

    Args:
        project: Projects configurations (k, dof) back to the pose; returns them and whether each converged.
    """
    found, new = known, known
    while len(new) and len(found) < MAX_TRACED:
        bases = step * np.swapaxes(null_spaces(problem, new, redundancy), 1, 2)
        moved = np.concatenate((new[:, None] + bases, new[:, None] - bases)).reshape(-1, known.shape[1])
        new = _distinct(problem, found, np.ascontiguousarray(moved), step, project)
        found = np.vstack((found, new))
    return found[len(known) : MAX_TRACED]


def _distinct(problem: IkProblem, found: Array, moved: Array, step: float, project: Project) -> Array:
    """Return configurations (k, dof) projected to the pose that are apart from those found (c, dof) and from each
    other; those after the first `MAX_TRACED` in all may be missing.

    They are projected part by part, because a step from many configurations leads to several times as many as needed.
    """
    angular, begin = problem.joints.angular, 0
    known, new = found, moved[:0]  # known: found ones, and steps that were projected
    while begin < len(moved) and len(found) + len(new) < MAX_TRACED:
        end = begin + 2 * (MAX_TRACED - len(found) - len(new)) + SPARE
        part, begin = moved[begin:end], end
        # Most steps lead back to where others came from.
        apart = part[select_distinct(known, part, angular, PREDICTED * step)]
        known = np.vstack((known, apart))
        projected, converged = project(np.ascontiguousarray(apart))
        projected = np.ascontiguousarray(projected[converged])
        selected = select_distinct(np.vstack((found, new)), projected, angular, MIN_SEPARATION * step)
        new = np.vstack((new, projected[selected]))
    return new
