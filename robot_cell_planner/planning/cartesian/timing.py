"""Time parameterization of Cartesian motions by the path length of the frame, with requested speeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ...errors import NotSupportedError, Value
from ...trajectory.curves import CurveSequence
from ...trajectory.limits import Array
from ...trajectory.timing import Method, TimedMotion, TimingOptions
from ...trajectory.trajectory import Rest, sample_curve
from ..path.timing import time_in_context
from ..problem.context import PlanningContext

DEFAULT = TimingOptions()


def warnings_of(timing: TimingOptions) -> tuple[str, ...]:
    """Return warnings about options of the timing that do not apply to Cartesian motions.

    Raises:
        NotSupportedError: There is a start or end velocity.
    """
    for name, velocities in (("start_velocity", timing.start_velocity), ("end_velocity", timing.end_velocity)):
        moving = tuple(joint for joint, velocity in velocities.items() if velocity)
        if moving:
            text = f"a Cartesian motion starts and ends at rest; leave {name} of the timing empty"
            values = tuple(Value(f"{name} of {joint}", velocities[joint], 0.0) for joint in moving)
            raise NotSupportedError(text, stage="request", subjects=(name, *moving), values=values)
    found: tuple[str, ...] = ()
    if timing.method is Method.SMOOTH:
        text = f"the timing method {timing.method.value!r} was not used"
        found += (f"{text}: a Cartesian motion follows the path of its frame",)
    if timing.blend_tolerance != DEFAULT.blend_tolerance:
        text = f"blend_tolerance {timing.blend_tolerance:g} of the timing was not used"
        found += (f"{text}: corners of a Cartesian motion are rounded by the blends of its waypoints",)
    return found


def time_along(
    context: PlanningContext,
    path: Array,
    timing: TimingOptions,
    step: float,
    *,
    parameters: Array,
    stops: Sequence[int],
    speeds: Array,
) -> TimedMotion:
    """Return a smooth motion through the points of a Cartesian path (n, dof), whatever the method of the timing. It
    rests where the requested speed changes.

    Args:
        step: As in `time_in_context`.
        parameters: Path length of the frame at each point (n,) [m], or angle [rad] where it only rotates.
        stops: Points to rest at.
        speeds: Speed of the frame on the motion to each point after the first (n - 1,) [m/s]; 0 for that of
            `timing`.
    """
    # The path parameter is the path length of the frame, so that time scaling bounds its speed.
    default_speed = timing.path_speed or timing.tool_speed
    requested = np.where(speeds > 0.0, speeds, default_speed)
    timing = replace(
        timing, method=Method.FOLLOW_SAMPLES, path_speed=float(requested[0]) if len(requested) else default_speed
    )
    changes = (np.flatnonzero(np.diff(requested)) + 1).tolist()
    if not changes:
        return time_in_context(context, path, timing, step, parameters=parameters, stops=stops)
    parts: list[TimedMotion] = []
    passing_times, start = np.zeros(len(path)), 0.0
    rests: list[Rest] = []
    for first, last in pairwise([0, *changes, len(path) - 1]):
        part = slice(first, last + 1)
        own = replace(timing, path_speed=float(requested[first]))
        within = [stop - first for stop in stops if first < stop < last]
        motion = time_in_context(context, path[part], own, step, parameters=parameters[part], stops=within)
        passing_times[part] = start + motion.passing_times
        rests.extend(Rest(start + rest.time, rest.position) for rest in motion.rests)
        parts.append(motion)
        start += motion.curve.duration
    passing_times.setflags(write=False)
    curve = CurveSequence([piece for part in parts for piece in part.curve.parts])
    trajectory = sample_curve(context.space.variables, curve, timing.period, rests)
    return TimedMotion(curve, trajectory, passing_times, tuple(rests))
