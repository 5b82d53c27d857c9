"""Trajectories for a robot that is not where they begin: reached from where it is, or led over to without a jump."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InvalidRequestError, Value
from .limits import Array
from .trajectory import Trajectory

# How long a difference between where the robot is and where a trajectory is takes to fade out [s].
FADE = 0.5
STAGE = "stamp of the trajectory"  # of the error if all of it has passed


def reached_from(trajectory: Trajectory, positions: Array) -> Trajectory:
    """The trajectory, its first sample reached from positions (dof,) at rest at time 0."""
    rest = np.zeros_like(positions)
    return _led_in(trajectory, (positions, rest, rest))


def faded(trajectory: Trajectory, away: Array) -> Trajectory:
    """The trajectory with a distance (dof,) added at its start that fades out, with continuous acceleration: by a
    polynomial of degree 5 over half a second, or over the trajectory if it is shorter."""
    if trajectory.curve.duration <= 0.0:
        return Trajectory(trajectory.variables, trajectory.times, trajectory.positions + away)
    still = np.zeros_like(away)
    return _added(trajectory, (away, still, still))


def joined(trajectory: Trajectory, present: Sequence[Array], after: float, scale: float = 1.0) -> Trajectory:
    """What is left of a trajectory `after` seconds, for a robot that moves: it begins, at time 0, with the robot's
    present positions, velocities and accelerations (dof,).

    scale: the speed scale that it will be played back at. If the next sample is half a second away or more, or is the
    first, it is reached from the present ones as from any sample to the next; else the difference between the robot and
    the trajectory fades out over half a second, with continuous acceleration.

    Raises:
        InvalidRequestError: all of its samples have passed.
    """
    first = int(np.searchsorted(trajectory.times, after + 1e-9, side="right"))
    left = _from_sample(trajectory, first, after)
    # Its own time passes at the scale.
    here = (present[0], present[1] / scale, present[2] / scale**2)
    if first == 0 or left.times[0] >= FADE:
        return _led_in(left, here)
    there = [trajectory.at([after], order)[0] for order in range(3)]
    away = [now - then for now, then in zip(here, there, strict=True)]
    return _added(_led_in(left, there), away)


def without_passed(trajectory: Trajectory, seconds: float) -> Trajectory:
    """The trajectory as it is `seconds` after its time 0, without the samples that have passed.

    Raises:
        InvalidRequestError: all of its samples have passed.
    """
    if seconds <= 0.0:
        return trajectory
    return _from_sample(trajectory, int(np.searchsorted(trajectory.times, seconds, side="left")), seconds)


def _from_sample(trajectory: Trajectory, first: int, now: float) -> Trajectory:
    if first >= len(trajectory):
        values = (Value("ended ago", now - trajectory.duration, unit="s"),)
        raise InvalidRequestError("the trajectory should have ended already", stage=STAGE, values=values)
    rows = [None if given is None else given[first:] for given in _rows(trajectory)]
    return _made(trajectory, trajectory.times[first:] - now, rows)


def _made(like: Trajectory, times: Array, rows: Sequence[Array | None]) -> Trajectory:
    positions, velocities, accelerations = rows
    assert positions is not None
    return Trajectory(like.variables, times, positions, velocities, accelerations)


def _rows(trajectory: Trajectory) -> tuple[Array | None, Array | None, Array | None]:
    return trajectory.positions, trajectory.velocities, trajectory.accelerations


def _led_in(trajectory: Trajectory, here: Sequence[Array]) -> Trajectory:
    """The trajectory with a sample at time 0 put before."""
    rows = [
        None if given is None else np.concatenate([now[None, :], given])
        for now, given in zip(here, _rows(trajectory), strict=True)
    ]
    return _made(trajectory, np.concatenate([[0.0], trajectory.times]), rows)


def _added(trajectory: Trajectory, away: Sequence[Array]) -> Trajectory:
    """The trajectory with a difference in positions, velocities and accelerations at its start, which fades out."""
    times = trajectory.times - trajectory.times[0]
    span = min(FADE, float(times[-1]))
    ends = [np.stack([difference, np.zeros_like(difference)]) for difference in away]
    fade = Trajectory(trajectory.variables, np.array([0.0, span]), *ends)
    under_way = (times < span)[:, None]
    rows = [
        None if given is None else given + fade.at(times, order) * under_way
        for order, given in enumerate(_rows(trajectory))
    ]
    return _made(trajectory, trajectory.times, rows)
