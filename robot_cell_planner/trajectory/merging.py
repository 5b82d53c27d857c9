"""Trajectories of several robots in one time base."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import InvalidRequestError
from ..model.arguments import public
from .curves import PolynomialCurve
from .limits import Array
from .separation import JerkSteps, separating_delays
from .timing import DEFAULT_PERIOD, TimingOptions
from .trajectory import Rest, Trajectory, sample_curve

STAGE = "trajectory"
CLOSEST = 5e-5  # [s], least distance of samples at jerk steps that no delay separates


def merged_curve(trajectories: Sequence[Trajectory], step: float = math.inf) -> PolynomialCurve:
    """Return one curve of the joints of several trajectories, from time 0 to the last sample of all.

    It equals the curve of each trajectory; a robot is at rest before the first and after the last sample of its
    trajectory. No piece is longer than `step` [s].

    Raises:
        InvalidRequestError: No trajectory is given, or a joint is in two of them.
    """
    check_distinct_joints(trajectories)
    end = max(trajectory.duration for trajectory in trajectories)
    if end <= 0.0:
        here = np.hstack([trajectory.positions for trajectory in trajectories])
        return PolynomialCurve(np.array([0.0, 0.0]), here[:, None, :])
    breaks = [np.linspace(0.0, end, 1 + max(1, math.ceil(end / step)))]
    breaks.extend(trajectory.times for trajectory in trajectories)
    times: Array = np.unique(np.concatenate(breaks))
    return PolynomialCurve(times, np.concatenate([_pieces(one, times) for one in trajectories], axis=2))


@public
def merge_trajectories(trajectories: Sequence[Trajectory], period: float = DEFAULT_PERIOD) -> Trajectory:
    """Return one trajectory of all joints of several trajectories, in the time base that their times refer to.

    A trajectory whose first sample is at 2 s begins then; a robot is at rest before its trajectory begins and after it
    ends. A robot waits for `separating_delays` before it moves, usually less than 1 ms, so that the result keeps the
    limits that the given trajectories keep. The result can be validated, certified and executed as one motion of a
    composite group.

    Args:
        trajectories: Trajectories of different joints that begin and end at rest.
        period: Sample period [s].

    Raises:
        InvalidRequestError: No trajectory is given, a joint is in two of them, or the period is out of range.
        LimitExceededError: The result has more than a million samples.
    """
    check_distinct_joints(trajectories)
    TimingOptions(period=period)  # checks the range
    trajectories = [
        replace(trajectory, times=trajectory.times + delay) if delay else trajectory
        for trajectory, delay in zip(trajectories, separating_delays(trajectories), strict=True)
    ]
    curve = merged_curve(trajectories)
    names = tuple(name for trajectory in trajectories for name in trajectory.variables)
    if curve.duration <= 0.0:
        return Trajectory(names, np.zeros(1), curve.coefficients[:, 0])
    ends = (0.0, curve.duration)
    rests = [Rest(time, curve.evaluate(np.array([time]))[0]) for time in ends]
    steps = [JerkSteps.of(trajectory) for trajectory in trajectories]
    main = _apart(np.concatenate([found.main for found in steps]))
    return sample_curve(names, curve, period, rests, (main, np.concatenate([found.others for found in steps])))


def _apart(times: Array) -> Array:
    """Return times in order, without those that follow another by less than `CLOSEST`."""
    retained: list[float] = []
    for time in np.sort(times).tolist():
        if not retained or time - retained[-1] >= CLOSEST:
            retained.append(time)
    return np.array(retained)


def check_distinct_joints(trajectories: Sequence[Trajectory]) -> None:
    """Reject an empty list, and a joint that is in two trajectories.

    Raises:
        InvalidRequestError: See above.
    """
    if not trajectories:
        raise InvalidRequestError("no trajectory is given", stage=STAGE)
    seen: set[str] = set()
    for trajectory in trajectories:
        for name in trajectory.variables:
            if name in seen:
                raise InvalidRequestError(f"joint {name} is in two trajectories", stage=STAGE, subjects=(name,))
            seen.add(name)


def _pieces(trajectory: Trajectory, times: Array) -> Array:
    """Return the coefficients (m, 6, dof) of a trajectory between given times (m + 1,), which include its samples."""
    curve, start = trajectory.curve, float(trajectory.times[0])
    result = np.zeros((len(times) - 1, 6, len(trajectory.variables)))
    middles = 0.5 * (times[:-1] + times[1:])
    before, after = middles < start, middles > trajectory.duration
    result[before, 0], result[after, 0] = trajectory.positions[0], trajectory.positions[-1]
    during = ~(before | after)
    breaks = trajectory.times - start
    owners = np.clip(np.searchsorted(breaks, middles[during] - start, side="right") - 1, 0, len(breaks) - 2)
    old, shift = curve.coefficients[owners], (times[:-1][during] - start - breaks[owners])[:, None]
    new = np.zeros((len(owners), 6, old.shape[2]))
    for power in range(old.shape[1]):
        for lower in range(power + 1):
            new[:, lower] += math.comb(power, lower) * shift ** (power - lower) * old[:, power]
    result[during] = new
    return result
