"""Adaptation of trajectories to a robot that is not at their start: a leading sample or a continuous transition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InvalidRequestError, TrajectoryExpiredError, Value
from .completion import accelerations_of, velocities_of
from .curve_limits import RELATIVE_TOLERANCE, slowing
from .curves import SHORTEST
from .limits import Array, MotionLimits
from .timing import LIMIT_FRACTIONS
from .trajectory import Trajectory, in_nanoseconds

# Duration of the transition from the state of the robot to a trajectory [s].
FADE = 0.5
MAX_SLOWDOWNS = 5
MORE = 1.0 + 1e-6  # keeps the limits despite the rounding of times
SLOWED = "slow down"


def reached_from(trajectory: Trajectory, positions: Array) -> Trajectory:
    """Return the trajectory with an initial sample at time 0, at rest at positions (dof,)."""
    rest = np.zeros_like(positions)
    return _led_in(trajectory, (positions, rest, rest)).completed()


def from_rest(trajectory: Trajectory, positions: Array) -> Trajectory:
    """Return the trajectory for a robot at rest at positions (dof,), with the same end.

    The offset to the first position, velocity and acceleration decays with continuous acceleration, by a polynomial of
    degree 5 over about half a second, or over the whole trajectory if it is shorter.
    """
    whole = trajectory.completed()
    if whole.curve.duration <= 0.0:
        return Trajectory(trajectory.variables, trajectory.times, positions[None, :])
    here = (positions, np.zeros_like(positions), np.zeros_like(positions))
    away = [now - rows[0] for now, rows in zip(here, _rows(whole), strict=True) if rows is not None]
    return _added(whole, away) if np.concatenate(away).any() else trajectory


def slowed_within(trajectory: Trajectory, limits: MotionLimits) -> Trajectory:
    """Scale a trajectory in time such that it obeys velocity, acceleration and jerk limits; the path is unchanged.

    Raises:
        InvalidRequestError: The trajectory does not begin and end at rest, so that it cannot be slowed down.
    """
    reduced = limits.scaled(*LIMIT_FRACTIONS)
    slower = trajectory.completed()
    bounds = np.zeros_like(reduced.acceleration), RELATIVE_TOLERANCE * reduced.acceleration
    for rows, bound in zip((slower.velocities, slower.accelerations), bounds, strict=True):
        if rows is not None and (np.abs(rows[[0, -1]]) > bound).any():
            text = "a motion that does not begin and end at rest cannot be slowed down"
            raise InvalidRequestError(text, stage=SLOWED)
    for _ in range(MAX_SLOWDOWNS):
        factor = float(slowing(slower.curve, reduced).max(initial=1.0))
        if factor <= 1.0:
            break
        # Times are whole nanoseconds; the samples are those of the slower curve at these times.
        start = float(slower.times[0])
        times = start + in_nanoseconds((slower.times - start) * (factor * MORE))
        samples = slower.curve.stretched(factor * MORE).derivatives(times - start, 2)
        for made, given in zip(samples, _rows(slower), strict=True):
            if given is not None:
                made[[0, -1]] = given[[0, -1]]
        slower = Trajectory(slower.variables, times, *samples)
    return slower


def joined(trajectory: Trajectory, present: Sequence[Array], after: float, scale: float = 1.0) -> Trajectory:
    """Return the rest of a trajectory after `after` seconds, for a moving robot.

    The result begins at time 0 with the current state of the robot. If the next sample is at least half a second away,
    or is the first one, it is reached from the current state by a polynomial as between any two samples. Otherwise the
    offset between robot and trajectory decays over half a second, with continuous acceleration.

    Args:
        trajectory: Trajectory to continue with.
        present: Current positions, velocities and accelerations, each (dof,).
        after: Time of the robot's state in the trajectory [s].
        scale: Speed scale at which the result will be executed.

    Raises:
        TrajectoryExpiredError: All samples are in the past.
    """
    # A shorter first piece loses its jerk to rounding.
    first = int(np.searchsorted(trajectory.times, min(after + SHORTEST, trajectory.duration), side="left"))
    first = max(first, int(np.searchsorted(trajectory.times, after + 1e-9, side="right")))
    # Convert to derivatives by the trajectory's own time, which passes at the speed scale.
    here = (present[0], present[1] / scale, present[2] / scale**2)
    if first == 0 or (first < len(trajectory) and trajectory.times[first] - after >= FADE):
        return _reached_from_motion(_from_sample(trajectory, first, after), here)
    whole = trajectory.completed()
    left = _from_sample(whole, first, after)
    there = [whole.at([after], order)[0] for order in range(3)]
    away = [now - then for now, then in zip(here, there, strict=True)]
    return _added(_led_in(left, there), away)


def without_passed(trajectory: Trajectory, seconds: float) -> Trajectory:
    """Return the trajectory as seen `seconds` after its time 0, without the samples that are in the past.

    Raises:
        TrajectoryExpiredError: All samples are in the past.
    """
    if seconds <= 0.0:
        return trajectory
    return _from_sample(trajectory, int(np.searchsorted(trajectory.times, seconds, side="left")), seconds)


def _from_sample(trajectory: Trajectory, first: int, now: float) -> Trajectory:
    if first >= len(trajectory):
        values = (Value("ended ago", now - trajectory.duration, unit="s"),)
        raise TrajectoryExpiredError("the trajectory should have ended already", values=values)
    # Times are whole nanoseconds, as in messages, and the samples are those of the curve at these times.
    times = in_nanoseconds(trajectory.times[first:] - now)
    rows: list[Array | None] = []
    for order, given in enumerate(_rows(trajectory)):
        if given is None:
            rows.append(None)
            continue
        left = trajectory.at(np.clip(times + now, trajectory.times[0], trajectory.duration), order)
        left[-1] = given[-1]
        rows.append(left)
    return _made(trajectory, times, rows)


def _made(like: Trajectory, times: Array, rows: Sequence[Array | None]) -> Trajectory:
    positions, velocities, accelerations = rows
    assert positions is not None
    return Trajectory(like.variables, times, positions, velocities, accelerations)


def _rows(trajectory: Trajectory) -> tuple[Array | None, Array | None, Array | None]:
    return trajectory.positions, trajectory.velocities, trajectory.accelerations


def _led_in(trajectory: Trajectory, here: Sequence[Array]) -> Trajectory:
    """Return the trajectory with a leading sample at time 0."""
    rows = [
        None if given is None else np.concatenate([now[None, :], given])
        for now, given in zip(here, _rows(trajectory), strict=True)
    ]
    return _made(trajectory, np.concatenate([[0.0], trajectory.times]), rows)


def _reached_from_motion(trajectory: Trajectory, here: Sequence[Array]) -> Trajectory:
    """Return the trajectory with a leading sample at time 0 with positions, velocities and accelerations, each (dof,).
    Missing derivatives of its samples are those of a curve that begins with these velocities."""
    times = np.concatenate([[0.0], trajectory.times])
    positions, velocities, accelerations = (
        None if given is None else np.concatenate([now[None, :], given])
        for now, given in zip(here, _rows(trajectory), strict=True)
    )
    assert positions is not None
    if velocities is None:
        velocities = velocities_of(times, positions, here[1])
    if accelerations is None:
        accelerations = accelerations_of(times, positions, velocities)
        accelerations[0] = here[2]
    return Trajectory(trajectory.variables, times, positions, velocities, accelerations)


def _added(trajectory: Trajectory, away: Sequence[Array]) -> Trajectory:
    """Add an offset of positions, velocities and accelerations at the start of a trajectory with all rows.

    The offset decays until one of the samples, so that the sum has degree 5 on every piece.
    """
    times = trajectory.times - trajectory.times[0]
    index = max(int(np.searchsorted(times, FADE, side="right")) - 1, 0)
    if times[index] < 0.5 * FADE and index < len(times) - 1:
        index += 1
    ends = [np.stack([difference, np.zeros_like(difference)]) for difference in away]
    fade = Trajectory(trajectory.variables, np.array([0.0, times[index]]), *ends)
    under_way = (np.arange(len(times)) < index)[:, None]
    rows = [
        None if given is None else given + fade.at(times, order) * under_way
        for order, given in enumerate(_rows(trajectory))
    ]
    return _made(trajectory, trajectory.times, rows)
