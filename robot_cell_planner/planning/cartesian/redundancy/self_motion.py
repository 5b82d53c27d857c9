"""Tracing of the self-motion of a redundant arm at one pose."""

from __future__ import annotations

import numpy as np

from ....kinematics.ik.problem import IkProblem
from ....kinematics.joint_wrapping import TWO_PI
from ....trajectory.limits import Array
from .smoothing import Project, null_spaces

# Steps of the trace [rad or m], in this order.
STEPS = (0.15, 0.05)
MIN_SEPARATION = 0.6  # min distance of a new configuration from all others, as a fraction of the step
MAX_TRACED = 300  # max number of configurations at one pose


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
        moved, converged = project(np.ascontiguousarray(moved))
        new = _distinct(problem, found, moved[converged], MIN_SEPARATION * step)
        found = np.vstack((found, new))
    return found[len(known) : MAX_TRACED]


def _distinct(problem: IkProblem, found: Array, candidates: Array, distance: float) -> Array:
    """Return the configurations (k, dof) that differ from all others in some joint by a distance."""
    chosen: list[Array] = []
    for q in candidates:
        others = np.vstack((found, *chosen)) if chosen else found
        gaps = others - q
        gaps -= TWO_PI * np.round(gaps / TWO_PI) * (problem.joints.angular > 0.0)
        if (np.abs(gaps).max(axis=1) >= distance).all():
            chosen.append(q[None])
    return np.concatenate(chosen) if chosen else np.empty((0, candidates.shape[1]))
