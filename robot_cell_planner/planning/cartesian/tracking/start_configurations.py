"""Start configurations of a Cartesian motion whose start is not fixed."""

from __future__ import annotations

import numpy as np

from ....errors import MPStartStateInCollisionError
from ....kinematics._kernels import wrapping_kernels
from ....trajectory.limits import Array
from ...problem.context import start_in_collision
from .ik_solutions import solutions_along
from .ik_tracker import IkTracker


def start_configurations(tracker: IkTracker) -> Array:
    """Return configurations (k, dof) with the frame at its start pose, nearest to the state first and including it;
    only free ones if collisions are checked.

    Raises:
        MPStartStateInCollisionError: All of them are in collision.
    """
    problem, context, options = tracker.problem, tracker.context, tracker.options
    start = tracker.cartesian_path.start
    found = solutions_along(problem, start[None], options.seed, lambda _: tracker.check_limits())[0]
    if wrapping_kernels.is_new(found, len(found), context.space.start, problem.joints.angular):
        found = np.vstack((context.space.start, found))
    found = found[np.argsort(np.linalg.norm(found - context.space.start, axis=1), kind="stable")]
    if not options.check_collision:
        return np.ascontiguousarray(found)
    free = context.checks.batch_free(found)
    if not free.any():
        error = start_in_collision(context, context.checks.checker.report(found[0]))
        text = f"all {len(found)} possible start configurations are in collision; the one nearest to the state: "
        raise MPStartStateInCollisionError(
            text + error.message,
            stage=error.stage,
            subjects=error.subjects,
            values=error.values,
            partial=error.partial,
            remedy=error.own_remedy,
        )
    return np.ascontiguousarray(found[free])
