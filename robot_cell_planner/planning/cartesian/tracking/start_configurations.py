"""Configurations that a Cartesian motion may begin in, where that is left open."""

from __future__ import annotations

import numpy as np

from ....errors import MPStartStateInCollisionError
from ....kinematics._kernels import wrapping_kernels
from ....trajectory.limits import Array
from ...problem.context import start_in_collision
from .ik_solutions import solutions_along
from .ik_tracker import IkTracker


def start_configurations(follower: IkTracker) -> Array:
    """Configurations (k, dof) that have the frame where the state has it, nearest to the state's first, that of the
    state among them; where collisions are checked, those that are free.

    Raises:
        MPStartStateInCollisionError: all of them are in collision.
    """
    problem, job, options = follower.problem, follower.job, follower.options
    start = follower.route.start
    found = solutions_along(problem, start[None], options.seed, follower.check_limits)[0]
    if wrapping_kernels.is_new(found, len(found), job.space.start, problem.joints.angular):
        found = np.vstack((job.space.start, found))
    found = found[np.argsort(np.linalg.norm(found - job.space.start, axis=1), kind="stable")]
    if not options.check_collision:
        return np.ascontiguousarray(found)
    free = job.checks.batch_free(found)
    if not free.any():
        error = start_in_collision(job, job.checks.checker.report(found[0]))
        text = f"all {len(found)} configurations that could be the start are in collision; nearest to the state's: "
        raise MPStartStateInCollisionError(
            text + error.message, stage=error.stage, subjects=error.subjects, values=error.values, partial=error.partial
        )
    return np.ascontiguousarray(found[free])
