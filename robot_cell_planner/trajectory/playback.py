"""Playing a trajectory back: at any speed up to its own, paused, resumed and stopped, always on its path.

The place along the trajectory is its own time s. Its rate ds/dt is the speed scale; it changes with bounded
acceleration and jerk (Ruckig, velocity control), so that slowing down and stopping stay on the path.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
import ruckig

from ..errors import InvalidRequestError, Value
from .limits import Array
from .trajectory import Trajectory


@dataclass(frozen=True)
class PlaybackOptions:
    """How fast the speed scale may change: scale_acceleration [1/s], scale_jerk [1/s2]."""

    scale_acceleration: float = 4.0
    scale_jerk: float = 40.0

    def __post_init__(self) -> None:
        if not (self.scale_acceleration > 0.0 and self.scale_jerk > 0.0):
            raise InvalidRequestError("the limits of the speed scale are not above 0", stage="playback")


@dataclass(frozen=True)
class PlaybackSample:
    """What to command at a moment: positions, velocities and accelerations (dof,), and the place s [s]."""

    place: float
    positions: Array
    velocities: Array
    accelerations: Array


class Playback:
    """A trajectory being played back. Times are seconds of any clock that does not run backwards.

    start: when it begins. scale: the speed scale to begin with; a trajectory that begins at rest begins at it at once.
    """

    def __init__(
        self, trajectory: Trajectory, start: float, scale: float = 1.0, options: PlaybackOptions | None = None
    ) -> None:
        self.trajectory = trajectory
        self._options = options or PlaybackOptions()
        self._last = float(trajectory.times[-1] - trajectory.times[0])
        self._breaks = trajectory.curve.breaks.tolist()
        self._exponents = np.arange(trajectory.curve.coefficients.shape[1], dtype=np.float64)
        self._profile = ruckig.Trajectory(1)
        self._since = start
        self._scale = _checked_scale(scale)
        self._change((0.0, self._scale, 0.0), self._scale, start)

    @property
    def scale(self) -> float:
        """The speed scale that it has, or is on its way to."""
        return self._scale

    def set_scale(self, scale: float, now: float) -> None:
        """Go over to another speed scale, 0 (pause) to 1.

        Raises:
            InvalidRequestError: it is not within 0 to 1.
        """
        self._scale = _checked_scale(scale)
        self._change(self._place(now), self._scale, now)

    def go_on_from(self, place: float, now: float) -> None:
        """Go on from a place [s], from rest: the robot has stopped there."""
        self._change((place, 0.0, 0.0), self._scale, now)

    def _change(self, state: tuple[float, float, float], scale: float, now: float) -> None:
        asked = ruckig.InputParameter(1)
        asked.control_interface = ruckig.ControlInterface.Velocity
        asked.current_position, asked.current_velocity, asked.current_acceleration = ([v] for v in state)
        asked.target_velocity, asked.target_acceleration = [scale], [0.0]
        asked.max_acceleration, asked.max_jerk = [self._options.scale_acceleration], [self._options.scale_jerk]
        ruckig.Ruckig(1).calculate(asked, self._profile)
        self._since = now

    def _place(self, now: float) -> tuple[float, float, float]:
        """Place, rate and its derivative."""
        elapsed = max(now - self._since, 0.0)
        place, rate, slope = (v[0] for v in self._profile.at_time(elapsed))
        return float(place), max(float(rate), 0.0), float(slope)

    def sample(self, now: float) -> PlaybackSample:
        """What to command now. At the end of the trajectory: its last sample, at rest or with its end velocity."""
        place, rate, slope = self._place(now)
        if place >= self._last:
            place, rate, slope = self._last, 1.0, 0.0
        positions, first, second = self._point(place)
        if place == self._last:
            positions = self.trajectory.positions[-1]
        return PlaybackSample(place, positions, first * rate, second * rate**2 + first * slope)

    def _point(self, place: float) -> tuple[Array, Array, Array]:
        """Position and its first two derivatives at one place; this runs at the rate of commands."""
        curve = self.trajectory.curve
        piece = min(max(bisect_right(self._breaks, place) - 1, 0), len(curve.coefficients) - 1)
        powers = (place - self._breaks[piece]) ** self._exponents
        terms = curve.coefficients[piece]
        first = self._exponents[1:] * powers[:-1]
        second = self._exponents[2:] * first[:-1]
        return powers @ terms, first @ terms[1:], second @ terms[2:]

    def at_end(self, now: float) -> bool:
        """Whether the last sample has been reached."""
        return self._place(now)[0] >= self._last

    def at_rest(self, now: float) -> bool:
        """Whether it has come to rest on the path, after its scale was set to 0."""
        return self._scale == 0.0 and now - self._since >= self._profile.duration

    def remaining(self, now: float) -> float:
        """Time to the end at the present scale [s]; infinite while paused."""
        left = max(self._last - self._place(now)[0], 0.0)
        return left / self._scale if self._scale > 0.0 else (0.0 if left == 0.0 else float("inf"))


def _checked_scale(scale: float) -> float:
    if not 0.0 <= scale <= 1.0:
        raise InvalidRequestError(
            "the speed scale is not within 0 to 1", stage="playback", values=(Value("scale", scale, 1.0),)
        )
    return float(scale)


def rest_at(variables: tuple[str, ...], positions: Array) -> Trajectory:
    """A trajectory that stays in one place."""
    return Trajectory(variables, np.zeros(1), np.asarray(positions, dtype=np.float64)[None, :])
