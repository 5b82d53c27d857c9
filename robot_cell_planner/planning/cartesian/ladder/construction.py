"""Making the ladder of a route: the solutions at its rungs, and how far joints may move from one to the next."""

from __future__ import annotations

import numpy as np

from ....kinematics._kernels import ik_kernels, wrapping_kernels
from ....trajectory.limits import Array
from ..path.samples import Samples
from ..tracking.ik_solutions import redundancy, solutions_along, sweep_step
from ..tracking.ik_tracker import ITERATIONS, PATIENCE, SHARE_BEFORE_MOTIONS, IkTracker
from ..tracking.manipulability import manipulabilities
from .graph import Ladder

REACH_OF_REDUNDANT = 0.8  # [rad or m] largest step of a joint between rungs where there is something free to choose


def ladder_of(follower: IkTracker, samples: Samples, starts: Array) -> Ladder:
    """The ladder of samples: all inverse kinematic solutions at its rungs, and those that following the samples from
    the first of the starts (k, dof) reaches."""
    problem = follower.problem
    with follower.job.watch.stage("solutions"):
        poses = np.ascontiguousarray(samples.poses[samples.rungs])
        looks = 0

        def look() -> None:
            nonlocal looks
            looks += 1
            follower.check_limits()
            follower.progress(min(SHARE_BEFORE_MOTIONS, SHARE_BEFORE_MOTIONS * looks / len(poses)))

        rungs = solutions_along(problem, poses, follower.options.seed, look)
        followed = _followed(follower, samples, starts[0])
        for index, sample in enumerate(samples.rungs.tolist()):
            if sample < len(followed):
                known, q = rungs[index], followed[sample]
                if wrapping_kernels.is_new(known, len(known), q, problem.joints.angular):
                    rungs[index] = np.ascontiguousarray(np.vstack((known, q)))
        counts = [len(rung) for rung in rungs]
        values = manipulabilities(problem, np.concatenate(rungs)) if sum(counts) else np.empty(0)
        split = np.split(values, np.cumsum(counts)[:-1])
        if follower.options.verbose:
            for index, sample in enumerate(samples.rungs.tolist()):
                follower.note(f"{samples.place(follower.route, sample)}: {counts[index]} solutions")
    return Ladder(starts, rungs, split, problem.joints, _reach(follower, samples))


def _reach(follower: IkTracker, samples: Samples) -> Array:
    """Largest step (dof,) from rung to rung with which the limits on jumps can be kept, points being added down to
    the narrowest spacing."""
    options = follower.options
    wide = max(options.max_step_distance / options.min_step_distance, options.max_step_angle / options.min_step_angle)
    stride = float(np.diff(samples.rungs, prepend=-1).max())
    reach = follower.max_jumps * 2.0 * wide * stride
    # Between values that are tried of what is free the steps are wide, and smoothing makes them narrow.
    if not redundancy(follower.problem):
        return reach
    return np.clip(reach, 1.5 * sweep_step(follower.problem), REACH_OF_REDUNDANT)


def _followed(follower: IkTracker, samples: Samples, start: Array) -> Array:
    """Configurations (k, dof) of the samples that are reached one from the other, as far as that goes."""
    problem = follower.problem
    lower, upper = problem.joints.limits[0], problem.joints.limits[1]
    found, left = ik_kernels.solve_in_sequence(
        problem.chain.table, samples.poses, problem.free_rotation, start, lower, upper, follower.tolerance, ITERATIONS,
        PATIENCE,
    )  # fmt: skip
    failed = np.flatnonzero(~follower.within(left))
    return found[: int(failed[0])] if len(failed) else found
