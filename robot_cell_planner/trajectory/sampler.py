"""Execution of a trajectory at a variable speed scale, with pause, resume and stop on the path.

The path parameter s of a trajectory is its own time. Its rate ds/dt is the speed scale, which changes as in
`time_scaling`, so that slowing down and stopping stay on the path and, if the joint limits are known, within them.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from ..errors import InvalidRequestError, Value
from ..model.arguments import checked_fields, public
from .limits import Array, MotionLimits
from .time_scaling import TimeScaling, change_within_limits
from .trajectory import Trajectory


@checked_fields
@dataclass(frozen=True)
class SamplerOptions:
    """Limits of the change of the speed scale.

    Attributes:
        scale_acceleration: Max rate of change of the speed scale [1/s].
        scale_jerk: Max second derivative of the speed scale [1/s2].

    Raises:
        InvalidRequestError: A limit is not finite and above 0.
    """

    scale_acceleration: float = 4.0
    scale_jerk: float = 40.0

    def __post_init__(self) -> None:
        for name in ("scale_acceleration", "scale_jerk"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                text = f"{name} is {value:g}, expected a finite number above 0"
                raise InvalidRequestError(text, stage="sampling", values=(Value(name, value),))

    @property
    def stop_time(self) -> float:
        """Return the duration of a stop from a constant speed scale of 1 [s]."""
        ramp = min(self.scale_acceleration / self.scale_jerk, 1.0 / math.sqrt(self.scale_jerk))  # of the acceleration
        return ramp + 1.0 / (ramp * self.scale_jerk)


@dataclass(frozen=True)
class TrajectorySample:
    """Command at one time: path parameter `parameter` [s], positions, velocities and accelerations (dof,)."""

    parameter: float
    positions: Array
    velocities: Array
    accelerations: Array


class TrajectorySampler:
    """Sample a trajectory for execution. Times are seconds of a monotonic clock.

    Args:
        trajectory: Trajectory to execute.
        start: Time at which the execution starts [s].
        scale: Initial speed scale, 0 to 1. A trajectory that begins with zero velocity starts at this scale.
        options: Limits of the change of the speed scale.
        limits: Limits of the trajectory's variables, obeyed by changes of the speed scale; None: unknown.
    """

    @public
    def __init__(
        self,
        trajectory: Trajectory,
        start: float,
        scale: float = 1.0,
        options: SamplerOptions | None = None,
        limits: MotionLimits | None = None,
    ) -> None:
        self.trajectory = trajectory
        self._options = options or SamplerOptions()
        self._limits = limits
        self._last = float(trajectory.times[-1] - trajectory.times[0])
        self._breaks = trajectory.curve.breaks.tolist()
        self._exponents = np.arange(trajectory.curve.coefficients.shape[1], dtype=np.float64)
        self._end = _last_sample(trajectory, self._last)
        self._scale = _checked_scale(scale)
        self.time_scaling = TimeScaling.steady(0.0, self._scale, start)

    @property
    def scale(self) -> float:
        """Requested speed scale, which the current rate may not have reached yet."""
        return self._scale

    def set_scale(self, scale: float, now: float) -> None:
        """Change the speed scale to a value from 0 (pause) to 1.

        Raises:
            InvalidRequestError: The scale is not within 0 to 1.
        """
        self.follow(self.changed(scale, now), scale)

    def changed(self, scale: float, start: float) -> TimeScaling:
        """Return the time scaling that changes to another speed scale from `start` on, without applying it.

        Raises:
            InvalidRequestError: The scale is not within 0 to 1.
        """
        scale, options = _checked_scale(scale), self._options
        acceleration, jerk = options.scale_acceleration, options.scale_jerk
        return change_within_limits(self.time_scaling, self.trajectory, scale, start, acceleration, jerk, self._limits)

    def follow(self, time_scaling: TimeScaling, scale: float) -> None:
        """Apply a time scaling that `changed` returned for a scale."""
        self.time_scaling, self._scale = time_scaling, scale

    def set_rest(self, parameter: float, now: float) -> None:
        """Set zero velocity at a path parameter [s] from `now` on, after a stop of the robot; `set_scale` resumes from
        there."""
        self.time_scaling = TimeScaling.steady(parameter, 0.0, now)

    def sample(self, now: float) -> TrajectorySample:
        """Return the command at a time; after the end, this is the last sample with its end velocity."""
        parameter, rate, slope = self.time_scaling.at(now)
        if parameter >= self._last:
            return self._end
        positions, first, second = self.point(parameter)
        return TrajectorySample(parameter, positions, first * rate, second * rate**2 + first * slope)

    def point(self, parameter: float) -> tuple[Array, Array, Array]:
        """Return the position and its first two derivatives (dof,) by the path parameter; constant beyond the end.

        This is called at the command rate.
        """
        if parameter >= self._last:
            still = np.zeros_like(self._end.positions)
            return self._end.positions, still, still
        curve = self.trajectory.curve
        piece = min(max(bisect_right(self._breaks, parameter) - 1, 0), len(curve.coefficients) - 1)
        powers = (parameter - self._breaks[piece]) ** self._exponents
        terms = curve.coefficients[piece]
        first = self._exponents[1:] * powers[:-1]
        second = self._exponents[2:] * first[:-1]
        return powers @ terms, first @ terms[1:], second @ terms[2:]

    def at_end(self, now: float) -> bool:
        """Return whether the last sample has been reached."""
        return self.time_scaling.at(now)[0] >= self._last

    def is_still(self, now: float) -> bool:
        """Return whether the motion has stopped on the path and no change of the speed scale is in progress."""
        return now >= self.time_scaling.settled_at and self.time_scaling.at(now)[1] == 0.0

    def at_rest(self, now: float) -> bool:
        """Return whether the motion has stopped after the speed scale was set to 0."""
        return self._scale == 0.0 and now >= self.time_scaling.settled_at

    def remaining(self, now: float) -> float:
        """Return the time to the end at the current speed scale [s]; infinite while paused."""
        left = max(self._last - self.time_scaling.at(now)[0], 0.0)
        return left / self._scale if self._scale > 0.0 else (0.0 if left == 0.0 else float("inf"))


def _last_sample(trajectory: Trajectory, parameter: float) -> TrajectorySample:
    whole = trajectory.completed()
    assert whole.velocities is not None
    assert whole.accelerations is not None
    return TrajectorySample(parameter, whole.positions[-1], whole.velocities[-1], whole.accelerations[-1])


def _checked_scale(scale: float) -> float:
    if not 0.0 <= scale <= 1.0:
        raise InvalidRequestError(
            "the speed scale is not within 0 to 1", stage="sampling", values=(Value("scale", scale, 1.0),)
        )
    return float(scale)


@public
def rest_at(variables: tuple[str, ...], positions: Array) -> Trajectory:
    """Return a trajectory of constant position."""
    return Trajectory(variables, np.zeros(1), np.asarray(positions, dtype=np.float64)[None, :])
