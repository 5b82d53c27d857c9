"""Configurations of a redundant arm at one pose, traced along its self-motion."""

from __future__ import annotations

import numpy as np

from ....kinematics.ik.problem import IkProblem
from ....kinematics.joint_wrapping import TWO_PI
from ....trajectory.limits import Array
from .smoothing import Project, null_spaces

# Steps [rad or m] of the trace, the wider first.
STEPS = (0.15, 0.05)
NEWNESS = 0.6  # share of the step by which a configuration is away from all that are known
MOST_TRACED = 300  # configurations at one pose


def traced(problem: IkProblem, known: Array, step: float, freedom: int, project: Project) -> Array:
    """Configurations (k, dof) that are reached from those known at a pose (c, dof) by steps that leave the pose alone,
    in either direction of each of `freedom` ways to do so, until nothing new is found.

    Where a joint is locked at evenly spread values, as the closed form does, solutions are far apart where that joint
    turns back; along the self-motion they are not. project: brings configurations (k, dof) back to the pose, and says
    which of them got there.
    """
    found, fresh = known, known
    while len(fresh) and len(found) < MOST_TRACED:
        bases = step * np.swapaxes(null_spaces(problem, fresh, freedom), 1, 2)
        moved = np.concatenate((fresh[:, None] + bases, fresh[:, None] - bases)).reshape(-1, known.shape[1])
        moved, got_there = project(np.ascontiguousarray(moved))
        fresh = _new(problem, found, moved[got_there], NEWNESS * step)
        found = np.vstack((found, fresh))
    return found[len(known) : MOST_TRACED]


def _new(problem: IkProblem, found: Array, candidates: Array, distance: float) -> Array:
    """Those of some configurations (k, dof) that are that far from all others in some joint."""
    chosen: list[Array] = []
    for q in candidates:
        others = np.vstack((found, *chosen)) if chosen else found
        gaps = others - q
        gaps -= TWO_PI * np.round(gaps / TWO_PI) * (problem.joints.angular > 0.0)
        if (np.abs(gaps).max(axis=1) >= distance).all():
            chosen.append(q[None])
    return np.concatenate(chosen) if chosen else np.empty((0, candidates.shape[1]))
