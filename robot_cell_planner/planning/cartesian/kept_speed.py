"""Whether a timed Cartesian motion keeps the speeds that are requested for its frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...trajectory.limits import Array, MotionLimits
from ...trajectory.timing import TimedMotion, TimingOptions
from .timing import FramePath

KEPT = 0.98  # fraction of a requested speed that counts as kept
MAX_MEASURED = 20_000  # motions between points whose speeds are measured
RATES = ("velocity", "acceleration", "jerk")


def speed_warnings(
    motion: TimedMotion,
    frame_path: FramePath,
    timing: TimingOptions,
    limits: MotionLimits,
    waypoints: Sequence[int],
    stops: Sequence[int],
) -> tuple[str, ...]:
    """Return warnings about requested speeds of the frame, `timing.path_speed` or those of segments, that a motion does
    not keep: rests at corners, and parts between rests on which it does not reach them.

    Args:
        limits: Of the joints.
        waypoints: Waypoint that each point of the path after the first leads to or leaves (n - 1,).
        stops: Points of the path at which the motion rests because of corners.
    """
    requested = np.where(frame_path.speeds > 0.0, frame_path.speeds, timing.path_speed)
    if not (requested > 0.0).any():
        return ()
    return _rest_warnings(frame_path, requested, waypoints, stops) + _slow_warnings(
        motion, frame_path, requested, timing.allowed(limits), waypoints
    )


def _rest_warnings(
    frame_path: FramePath, requested: Array, waypoints: Sequence[int], stops: Sequence[int]
) -> tuple[str, ...]:
    inner = [stop for stop in stops if 0 < stop < len(requested) and requested[stop - 1] > 0.0]
    if not inner:
        return ()
    first, count = inner[0], len(inner)
    rests, reason = f"waypoint {waypoints[first - 1]}", "a corner; round it by a blend_radius"
    if count > 1:
        rests, reason = f"{count} waypoints, the first of which is {rests}", "corners; round them by a blend_radius"
    text = f"the speed of {_speed(requested, frame_path, first - 1)} is not kept: the motion rests at {rests}"
    return (f"{text}, because of {reason}, or smooth the path",)


def _slow_warnings(
    motion: TimedMotion, frame_path: FramePath, requested: Array, limits: MotionLimits, waypoints: Sequence[int]
) -> tuple[str, ...]:
    rows = np.unique(np.linspace(0, len(requested) - 1, min(len(requested), MAX_MEASURED)).astype(np.intp))
    times = 0.5 * (motion.passing_times[rows] + motion.passing_times[rows + 1])
    reached = np.divide(
        _speeds(motion, frame_path, rows, times), requested[rows], out=np.ones(len(rows)), where=requested[rows] > 0.0
    )
    parts = np.searchsorted([rest.time for rest in motion.rests], times)
    peaks = np.zeros(int(parts.max()) + 1)
    np.maximum.at(peaks, parts, reached)
    slow = np.unique(parts[peaks[parts] < KEPT])
    if not len(slow):
        return ()
    lengths = np.bincount(parts, np.diff(frame_path.parameters)[rows])
    longest = slow[np.argmax(lengths[slow])]
    inside = np.flatnonzero(parts == longest)
    edge = int(rows[inside[0]])
    first, last = waypoints[edge], waypoints[rows[inside[-1]]]
    unit = _unit(frame_path, edge)
    way = f"waypoint {first}" if first == last else f"waypoints {first} to {last}"
    if len(slow) > 1:
        way = f"{way} and on {len(slow) - 1} shorter motion{'s' if len(slow) > 2 else ''} between rests"
    joint, rate, at = _bottleneck(motion, limits, times[inside])
    return (
        f"the speed of {_speed(requested, frame_path, edge)} is not reached on the way to {way}: "
        f"{peaks[longest] * requested[edge]:.3g} {unit} at most, which the {rate} of {joint} limits at waypoint "
        f"{waypoints[rows[inside[at]]]}",
    )


def _speeds(motion: TimedMotion, frame_path: FramePath, rows: NDArray[np.intp], times: Array) -> Array:
    """Return the speeds of the frame (k,) at times within the motions between points that `rows` lists."""
    positions, velocities = motion.trajectory.at(times), motion.trajectory.at(times, 1)
    in_place, found = frame_path.in_place[rows], np.zeros(len(times))
    for kind in (False, True):
        if (in_place == kind).any():
            measured = frame_path.measured_speeds(kind)
            found[in_place == kind] = measured(positions[in_place == kind], velocities[in_place == kind])
    return found


def _bottleneck(motion: TimedMotion, limits: MotionLimits, times: Array) -> tuple[str, str, int]:
    """Return the joint and the rate that come closest to their limit, and the index of the time at which they do."""
    bounds = (limits.velocity, limits.acceleration, limits.jerk)
    used = np.stack([np.abs(motion.trajectory.at(times, order)) / bound for order, bound in enumerate(bounds, start=1)])
    rate, at, joint = np.unravel_index(int(np.argmax(used)), used.shape)
    return limits.variables[int(joint)], RATES[int(rate)], int(at)


def _speed(requested: Array, frame_path: FramePath, edge: int) -> str:
    return f"{requested[edge]:g} {_unit(frame_path, edge)}"


def _unit(frame_path: FramePath, edge: int) -> str:
    return "rad/s" if frame_path.in_place[edge] else "m/s"
