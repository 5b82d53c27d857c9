"""Velocity servo: follows commanded velocities within velocity, acceleration, jerk and position limits.

At every step the follower changes towards the commanded velocity as fast as Ruckig's velocity control allows, provided
that a stop from the resulting state stays within the position limits. Otherwise it executes a step of the stop that was
verified in the previous step. Therefore no sequence of commands leads beyond a limit (viability: the state never leaves
the set from which a stop is possible).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import ruckig

from ..errors import InvalidRequestError, Value
from ..kinematics.velocity import VelocityBounds
from ..model.units import common_unit, unit_of_derivative
from .limits import Array, MotionLimits
from .profiles import SLACK
from .ruckig_calls import calculated

# Fraction of the fastest exponential approach to a position limit that acceleration and jerk limits would allow.
APPROACH_FRACTION = 0.5
ROUNDING = 1e-12  # [rad or m], tolerance by which a stop may end beyond a position limit


@dataclass(frozen=True, eq=False)
class ServoState:
    """Positions, velocities and accelerations (dof,) at one time."""

    positions: Array
    velocities: Array
    accelerations: Array

    @property
    def at_rest(self) -> bool:
        """Return whether all velocities and accelerations are exactly zero."""
        return not (self.velocities.any() or self.accelerations.any())


class Approach:
    """Maximum speed of joints towards their position limits.

    The speed is proportional to the remaining distance, so that a joint comes to rest at its limit without a jerk step.
    """

    def __init__(self, limits: MotionLimits) -> None:
        self.limits = limits

    @cached_property
    def gains(self) -> Array:
        """Speed per remaining distance (dof,) [1/s]. With v = k d the acceleration is k v and the jerk k^2 v."""
        limits = self.limits
        by_jerk = np.sqrt(limits.jerk / limits.velocity)
        return APPROACH_FRACTION * np.minimum(limits.acceleration / limits.velocity, by_jerk)

    def bounds(self, positions: Array) -> VelocityBounds:
        """Return the minimum and maximum velocities (dof,) to command at positions (dof,)."""
        limits, gains = self.limits, self.gains
        below, above = np.maximum(positions - limits.lower, 0.0), np.maximum(limits.upper - positions, 0.0)
        return VelocityBounds(-np.minimum(limits.velocity, gains * below), np.minimum(limits.velocity, gains * above))


class VelocityFollower:
    """Joints that follow commanded velocities, starting at rest at given positions (dof,).

    A joint beyond a position limit at the start may move back or stay.

    Raises:
        InvalidRequestError: The positions have the wrong shape or are not finite.
    """

    def __init__(self, limits: MotionLimits, positions: Array) -> None:
        count = len(limits.variables)
        start = np.array(positions, dtype=np.float64)
        if start.shape != (count,) or not np.isfinite(start).all():
            raise InvalidRequestError(f"positions of shape {start.shape} are not {count} finite numbers", stage="servo")
        self.limits = limits
        self._approach = Approach(limits)
        self._lower, self._upper = np.minimum(limits.lower, start), np.maximum(limits.upper, start)
        self._solver = ruckig.Ruckig(count)
        self._request = ruckig.InputParameter(count)
        self._request.control_interface = ruckig.ControlInterface.Velocity
        self._request.synchronization = ruckig.Synchronization.No
        self._request.target_acceleration = [0.0] * count
        self._request.max_acceleration = (limits.acceleration * SLACK).tolist()
        self._request.max_jerk = (limits.jerk * SLACK).tolist()
        self.state = ServoState(start, np.zeros(count), np.zeros(count))

    def go_on_from_rest(self) -> None:
        """Notify the follower that the joints were brought to rest at their positions by other means."""
        still = np.zeros_like(self.state.velocities)
        self.state = ServoState(self.state.positions, still, still)

    def step(self, requested: Array, seconds: float) -> ServoState:
        """Follow finite velocities (dof,) for a time [s] and return the state after it.

        Velocities beyond the limits are clamped.

        Raises:
            TrajectoryError: Ruckig finds no motion; the state is unchanged.
        """
        bounds = self._approach.bounds(self.state.positions)
        targets = np.clip(requested, bounds.lower * SLACK, bounds.upper * SLACK)
        reached = self._after(self.state, targets, seconds)
        stop = self._profile(reached, np.zeros_like(targets))
        extrema = stop.position_extrema
        lowest = np.array([each.min for each in extrema])
        highest = np.array([each.max for each in extrema])
        unsafe = (lowest < self._lower - ROUNDING) | (highest > self._upper + ROUNDING)
        if unsafe.any():
            targets[unsafe] = 0.0
            reached = self._after(self.state, targets, seconds)
        self.state = reached
        return reached

    def predicted(self, requested: Array, seconds: float, samples: int) -> Array:
        """Return predicted positions (samples, dof): velocities are followed for a time [s], then the joints stop.

        Raises:
            TrajectoryError: Ruckig finds no motion.
        """
        bounds = self._approach.bounds(self.state.positions)
        first = self._profile(self.state, np.clip(requested, bounds.lower, bounds.upper))
        stop = self._profile(_at(first, seconds), np.zeros_like(requested))
        times = np.linspace(0.0, seconds + stop.duration, samples).tolist()
        rows = [first.at_time(t)[0] if t <= seconds else stop.at_time(t - seconds)[0] for t in times]
        path: Array = np.clip(np.array(rows), self._lower, self._upper)
        return path

    def _after(self, state: ServoState, targets: Array, seconds: float) -> ServoState:
        profile = self._profile(state, targets)
        reached = _at(profile, seconds)
        # Joints that have reached the commanded velocity get it exactly, so that zero velocity is exact.
        there = np.array(profile.independent_min_durations) <= seconds
        reached.velocities[there] = targets[there]
        reached.accelerations[there] = 0.0
        return reached

    def _profile(self, state: ServoState, targets: Array) -> ruckig.Trajectory:
        request = self._request
        request.current_position = state.positions.tolist()
        request.current_velocity = state.velocities.tolist()
        request.current_acceleration = state.accelerations.tolist()
        request.target_velocity = targets.tolist()
        unit = unit_of_derivative(common_unit(self.limits.units), 1)
        fastest = Value("largest velocity", float(np.abs(targets).max(initial=0.0)), unit=unit)
        return calculated(self._solver, request, fastest)


def _at(profile: ruckig.Trajectory, seconds: float) -> ServoState:
    return ServoState(*(np.array(values) for values in profile.at_time(seconds)))
