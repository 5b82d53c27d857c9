"""Timing of Cartesian motions: along the way of the frame, at the speeds asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ...trajectory.curves import CurveSequence
from ...trajectory.limits import Array
from ...trajectory.timing import Method, TimedMotion, TimingOptions
from ...trajectory.trajectory import Rest, sample_curve
from ..path.timing import time_in_job
from ..problem.context import PlanningContext


def time_along(
    job: PlanningContext,
    path: Array,
    timing: TimingOptions,
    step: float,
    *,
    parameters: Array,
    stops: Sequence[int],
    speeds: Array,
) -> TimedMotion:
    """A smooth motion through the points of a Cartesian path (n, dof).

    step: as in `time_in_job`. parameters (n,): metres of the frame's way, or rad where it only turns. stops: points to
    rest at. speeds (n - 1,) [m/s]: of the frame on the motion to each point after the first; 0: that of the timing.
    Where the speed asked for changes the motion rests.
    """
    # The parameter is the way of the frame, so that its speed is bounded along with the law of motion.
    common = timing.path_speed or timing.tool_speed
    wanted = np.where(speeds > 0.0, speeds, common)
    timing = replace(timing, method=Method.FOLLOW_SAMPLES, path_speed=float(wanted[0]) if len(wanted) else common)
    changes = (np.flatnonzero(np.diff(wanted)) + 1).tolist()
    if not changes:
        return time_in_job(job, path, timing, step, parameters=parameters, stops=stops)
    parts: list[TimedMotion] = []
    passing, start = np.zeros(len(path)), 0.0
    rests: list[Rest] = []
    for first, last in pairwise([0, *changes, len(path) - 1]):
        part = slice(first, last + 1)
        own = replace(timing, path_speed=float(wanted[first]))
        within = [stop - first for stop in stops if first < stop < last]
        motion = time_in_job(job, path[part], own, step, parameters=parameters[part], stops=within)
        passing[part] = start + motion.passing_times
        rests.extend(Rest(start + rest.time, rest.position) for rest in motion.rests)
        parts.append(motion)
        start += motion.curve.duration
    passing.setflags(write=False)
    curve = CurveSequence([piece for part in parts for piece in part.curve.parts])
    trajectory = sample_curve(job.space.variables, curve, timing.period, rests)
    return TimedMotion(curve, trajectory, passing, tuple(rests))
