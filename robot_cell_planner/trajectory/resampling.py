"""Samples of a trajectory as it is executed under a time scaling, for controllers that interpolate by themselves."""

from __future__ import annotations

import math

import numpy as np

from .curves import SHORTEST
from .limits import Array
from .time_scaling import TimeScaling
from .trajectory import Trajectory, in_nanoseconds, with_steps

# Maximum sample spacing where the speed scale changes [s].
PERIOD = 0.01
BISECTIONS = 60


def end_time(trajectory: Trajectory, time_scaling: TimeScaling) -> float:
    """Return the time at which a trajectory ends under a time scaling, or comes to rest on its path [s]; infinite if it
    does neither."""
    last = trajectory.curve.duration
    settled = time_scaling.settled_at
    parameter, rate, _ = time_scaling.at(settled)
    if parameter < last:
        if rate > 0.0:
            return settled + (last - parameter) / rate
        return settled
    begin, end = time_scaling.starts[0], settled
    if time_scaling.at(begin)[0] >= last:
        return begin
    for _ in range(BISECTIONS):
        middle = 0.5 * (begin + end)
        begin, end = (begin, middle) if time_scaling.at(middle)[0] >= last else (middle, end)
    return end


def resampled(trajectory: Trajectory, time_scaling: TimeScaling, begin: float) -> Trajectory:
    """Return a trajectory as it is executed under a time scaling, from a time on.

    Where the speed scale is constant, the samples are those of the trajectory, so that the curve between them is the
    same; where it changes, there are others in between, at most `PERIOD` apart: the jerk of the trajectory has steps at
    its samples, and polynomials over such a step would exceed it. Before the time scaling begins, the joints are at
    rest.

    Args:
        trajectory: Executed trajectory; the path parameter is the time since its first sample.
        time_scaling: Path parameter over time.
        begin: Time of the first sample of the result, which has the time 0 there [s].
    """
    curve = trajectory.curve
    end = max(end_time(trajectory, time_scaling), begin)
    times = in_nanoseconds(_sample_times(trajectory, time_scaling, begin, end) - begin)
    parameters, rates, slopes = time_scaling.derivatives(times + begin)
    positions, first, second = curve.derivatives(np.clip(parameters, 0.0, curve.duration), 2)
    moves = times + begin >= time_scaling.starts[0]
    rates, slopes = np.where(moves, rates, 0.0)[:, None], np.where(moves, slopes, 0.0)[:, None]
    velocities, accelerations = first * rates, second * rates**2 + first * slopes
    at_end = time_scaling.at(end)
    if at_end[0] >= curve.duration - SHORTEST * max(at_end[1], SHORTEST):
        whole = trajectory.completed()
        assert whole.velocities is not None
        positions[-1] = whole.positions[-1]
        velocities[-1] = whole.velocities[-1] * at_end[1]
    if at_end[1] == 0.0:
        velocities[-1] = accelerations[-1] = 0.0
    return Trajectory(trajectory.variables, times, positions, velocities, accelerations)


def _sample_times(trajectory: Trajectory, time_scaling: TimeScaling, begin: float, end: float) -> Array:
    """Return the times of the samples from `begin` to `end`, at least `SHORTEST` apart."""
    breaks = np.array([begin, *time_scaling.starts, math.inf])
    samples = trajectory.times - trajectory.times[0]
    found = [np.array([begin])]
    for piece, (start, next_start) in enumerate(zip(time_scaling.starts, breaks[2:], strict=True)):
        first, last = max(start, begin), min(next_start, end)
        if last <= first:
            continue
        parameter, rate, slope = time_scaling.states[piece]
        if slope or time_scaling.jerks[piece]:
            count = max(math.ceil((last - first) / PERIOD), 1)
            at_samples = _times_at(time_scaling, samples, first, last)
            found.append(with_steps(np.linspace(first, last, count + 1), np.empty(0), at_samples))
        else:
            at_samples = start + (samples - parameter) / rate if rate > 0.0 else np.empty(0)
            found.append(np.concatenate([[first], at_samples[(at_samples > first) & (at_samples < last)]]))
    times = np.unique(np.concatenate([*found, [end]]))
    return _apart(times)


def _times_at(time_scaling: TimeScaling, parameters: Array, first: float, last: float) -> Array:
    """Return the times between two others [s] at which a time scaling has one of ascending path parameters (n,)."""
    low, high = time_scaling.at(first)[0], time_scaling.at(last)[0]
    inside = parameters[(parameters > low) & (parameters < high)]
    begins, ends = np.full(len(inside), first), np.full(len(inside), last)
    for _ in range(BISECTIONS):
        middles = 0.5 * (begins + ends)
        before = time_scaling.derivatives(middles)[0] < inside
        begins, ends = np.where(before, middles, begins), np.where(before, ends, middles)
    return ends


def _apart(times: Array) -> Array:
    """Return sorted times without those that follow another, or precede the last one, by less than `SHORTEST`."""
    if len(times) == 1:
        return times
    retained = [float(times[0])]
    for time in times[1:-1].tolist():
        if time - retained[-1] >= SHORTEST and times[-1] - time >= SHORTEST:
            retained.append(time)
    if times[-1] - retained[-1] >= SHORTEST:
        retained.append(float(times[-1]))
    return np.array(retained)
