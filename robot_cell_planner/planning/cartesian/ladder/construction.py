"""Construction of the ladder graph: solutions at its rungs, and max joint steps between rungs."""

from __future__ import annotations

import numpy as np

from ....kinematics._kernels import wrapping_kernels
from ....trajectory.limits import Array
from ..path.samples import Samples
from ..tracking.ik_solutions import redundancy, solutions_along, sweep_step
from ..tracking.ik_tracker import TRACKING_FRACTION, IkTracker
from ..tracking.manipulability import manipulabilities
from .graph import Ladder

MAX_STEP_REDUNDANT = 0.8  # [rad or m] max step of a joint between rungs of redundant tasks


def ladder_of(tracker: IkTracker, samples: Samples, starts: Array) -> Ladder:
    """Return the ladder graph of samples: all inverse kinematics solutions at its rungs, and those reached by tracking
    the samples from the first of the starts (k, dof).
    """
    problem = tracker.problem
    with tracker.context.monitor.stage("solutions"):
        poses = np.ascontiguousarray(samples.poses[samples.rungs])

        def check(fraction: float) -> None:
            tracker.check_limits()
            tracker.progress(TRACKING_FRACTION * fraction)

        rungs = solutions_along(problem, poses, tracker.options.seed, check)
        tracked = _tracked(tracker, samples, starts[0])
        for index, sample in enumerate(samples.rungs.tolist()):
            if sample < len(tracked):
                known, q = rungs[index], tracked[sample]
                if wrapping_kernels.is_new(known, len(known), q, problem.joints.angular):
                    rungs[index] = np.ascontiguousarray(np.vstack((known, q)))
        counts = [len(rung) for rung in rungs]
        values = manipulabilities(problem, np.concatenate(rungs)) if sum(counts) else np.empty(0)
        split = np.split(values, np.cumsum(counts)[:-1])
        if tracker.options.verbose:
            for index, sample in enumerate(samples.rungs.tolist()):
                tracker.note(f"{samples.describe(tracker.cartesian_path, sample)}: {counts[index]} solutions")
    return Ladder(starts, rungs, split, problem.joints, _max_step(tracker, samples))


def _max_step(tracker: IkTracker, samples: Samples) -> Array:
    """Return the max step (dof,) between rungs for which the jump limits can be kept with points at min spacing."""
    options = tracker.options
    ratio = max(options.max_step_distance / options.min_step_distance, options.max_step_angle / options.min_step_angle)
    stride = float(np.diff(samples.rungs, prepend=-1).max())
    max_step = tracker.max_jumps * 2.0 * ratio * stride
    # Samples of redundant degrees of freedom are far apart; smoothing reduces the steps later.
    if not redundancy(tracker.problem):
        return max_step
    return np.clip(max_step, 1.5 * sweep_step(tracker.problem), MAX_STEP_REDUNDANT)


def _tracked(tracker: IkTracker, samples: Samples, start: Array) -> Array:
    """Return configurations (k, dof) of the samples tracked one after the other, as far as possible."""
    found, converged = tracker.solve_in_sequence(start, samples.poses)
    failed = np.flatnonzero(~converged)
    return found[: int(failed[0])] if len(failed) else found
