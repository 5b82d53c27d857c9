"""Playing a trajectory back: at any speed up to its own, paused, resumed and stopped, always on its path.

The place along the trajectory is its own time s. Its rate ds/dt is the speed scale, which changes as `speed_laws` says,
so that slowing down and stopping stay on the path, and within the limits of the joints where these are known.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from ..errors import InvalidRequestError, Value
from ..model.arguments import checked_fields
from .limits import Array, MotionLimits
from .time_scaling import TimeScaling, change_within_limits
from .trajectory import Trajectory


@checked_fields
@dataclass(frozen=True)
class SamplerOptions:
    """How fast the speed scale may change: scale_acceleration [1/s], scale_jerk [1/s2]."""

    scale_acceleration: float = 4.0
    scale_jerk: float = 40.0

    def __post_init__(self) -> None:
        if not (self.scale_acceleration > 0.0 and self.scale_jerk > 0.0):
            raise InvalidRequestError("the limits of the speed scale are not above 0", stage="playback")


@dataclass(frozen=True)
class TrajectorySample:
    """What to command at a moment: positions, velocities and accelerations (dof,), and the place s [s]."""

    place: float
    positions: Array
    velocities: Array
    accelerations: Array


class TrajectorySampler:
    """A trajectory being played back. Times are seconds of any clock that does not run backwards.

    start: when it begins. scale: the speed scale to begin with; a trajectory that begins at rest begins at it at once.
    limits: of the trajectory's variables, for changes of the speed to obey; None: not known.
    """

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
        self.law = TimeScaling.steady(0.0, self._scale, start)

    @property
    def scale(self) -> float:
        """The speed scale that it has, or is on its way to."""
        return self._scale

    def set_scale(self, scale: float, now: float) -> None:
        """Go over to another speed scale, 0 (pause) to 1.

        Raises:
            InvalidRequestError: it is not within 0 to 1.
        """
        self.follow(self.changed(scale, now), scale)

    def changed(self, scale: float, start: float) -> TimeScaling:
        """The law with which it would go over to another speed scale, from `start` on; nothing is changed yet.

        Raises:
            InvalidRequestError: the scale is not within 0 to 1.
        """
        scale, options = _checked_scale(scale), self._options
        acceleration, jerk = options.scale_acceleration, options.scale_jerk
        return change_within_limits(self.law, self.trajectory, scale, start, acceleration, jerk, self._limits)

    def follow(self, law: TimeScaling, scale: float) -> None:
        """Follow a law that `changed` has made for a scale."""
        self.law, self._scale = law, scale

    def stand_at(self, place: float, now: float) -> None:
        """Stand at a place [s] from now on, where the robot has stopped; `set_scale` goes on, from rest."""
        self.law = TimeScaling.steady(place, 0.0, now)

    def sample(self, now: float) -> TrajectorySample:
        """What to command now. At the end of the trajectory: its last sample, at rest or with its end velocity."""
        place, rate, slope = self.law.at(now)
        if place >= self._last:
            return self._end
        positions, first, second = self.point(place)
        return TrajectorySample(place, positions, first * rate, second * rate**2 + first * slope)

    def point(self, place: float) -> tuple[Array, Array, Array]:
        """Position and its first two derivatives at one place; beyond the end it stands. This runs at the rate of
        commands."""
        if place >= self._last:
            still = np.zeros_like(self._end.positions)
            return self._end.positions, still, still
        curve = self.trajectory.curve
        piece = min(max(bisect_right(self._breaks, place) - 1, 0), len(curve.coefficients) - 1)
        powers = (place - self._breaks[piece]) ** self._exponents
        terms = curve.coefficients[piece]
        first = self._exponents[1:] * powers[:-1]
        second = self._exponents[2:] * first[:-1]
        return powers @ terms, first @ terms[1:], second @ terms[2:]

    def at_end(self, now: float) -> bool:
        """Whether the last sample has been reached."""
        return self.law.at(now)[0] >= self._last

    def is_still(self, now: float) -> bool:
        """Whether it stands on the path, and goes on standing."""
        return now >= self.law.settled_at and self.law.at(now)[1] == 0.0

    def at_rest(self, now: float) -> bool:
        """Whether it has come to rest on the path, after its scale was set to 0."""
        return self._scale == 0.0 and now >= self.law.settled_at

    def remaining(self, now: float) -> float:
        """Time to the end at the present scale [s]; infinite while paused."""
        left = max(self._last - self.law.at(now)[0], 0.0)
        return left / self._scale if self._scale > 0.0 else (0.0 if left == 0.0 else float("inf"))


def _last_sample(trajectory: Trajectory, place: float) -> TrajectorySample:
    whole = trajectory.completed()
    assert whole.velocities is not None
    assert whole.accelerations is not None
    return TrajectorySample(place, whole.positions[-1], whole.velocities[-1], whole.accelerations[-1])


def _checked_scale(scale: float) -> float:
    if not 0.0 <= scale <= 1.0:
        raise InvalidRequestError(
            "the speed scale is not within 0 to 1", stage="playback", values=(Value("scale", scale, 1.0),)
        )
    return float(scale)


def rest_at(variables: tuple[str, ...], positions: Array) -> Trajectory:
    """A trajectory that stays in one place."""
    return Trajectory(variables, np.zeros(1), np.asarray(positions, dtype=np.float64)[None, :])
