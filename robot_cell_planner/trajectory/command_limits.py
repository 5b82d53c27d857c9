"""Last safety check before a robot: no command that violates a limit is sent.

Each command is checked against the limits of its joints and against the previous command. Times are those of the
trajectory execution, so that commands sent late by a busy machine are judged by the motion that they describe.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import RobotCellError, TrajectoryLimitError, Value
from .limits import Array, MotionLimits
from .sampler import TrajectorySample

STAGE = "command limits"
# Relative allowance above a limit, for sampling during changes of the speed scale and for rounding.
VELOCITY_ALLOWANCE = 1e-3
ACCELERATION_ALLOWANCE = 0.05
POSITION_ALLOWANCE = 1e-6  # [rad or m]
SPEED_ROUNDING = 1e-6  # [per s]
ITERATIONS = 3  # iterations of a stop step, since the next position depends slightly on the rate
QUANTITIES = ("position", "velocity", "change of velocity", "step")
ORDERS = (0, 1, 1, 0)  # of their units

Point = Callable[[float], tuple[Array, Array, Array]]


class CommandLimitCheck:
    """Check commands of joints (dof,) against their limits and against the previous command.

    Args:
        limits: Limits of the joints; None: unknown, and commands only have to be finite.
        start: Positions at the first command (dof,). A joint that is beyond a limit there may stay or move back.
    """

    def __init__(self, joints: tuple[str, ...], limits: MotionLimits | None, start: Array) -> None:
        self._joints = joints
        self._limits = limits
        self._positions = np.array(start, dtype=np.float64)
        self._velocities = np.zeros_like(self._positions)
        self._time = np.nan
        if limits is None:
            return
        count = len(self._positions)
        self._rows, self._upper, self._lower = (np.zeros((4, count)) for _ in range(3))
        self._upper[0] = np.maximum(limits.upper, start) + POSITION_ALLOWANCE
        self._lower[0] = np.minimum(limits.lower, start) - POSITION_ALLOWANCE
        self._upper[1] = limits.velocity * (1.0 + VELOCITY_ALLOWANCE)
        self._lower[1] = -self._upper[1]
        self._acceleration = limits.acceleration * (1.0 + ACCELERATION_ALLOWANCE)

    def rest(self) -> None:
        """Note that the joints were brought to rest at the commanded positions by other means."""
        self._velocities, self._time = np.zeros_like(self._positions), np.nan

    def passed(self, sample: TrajectorySample, now: float) -> None:
        """Note a command that is sent for a time [s]."""
        self._positions, self._velocities, self._time = sample.positions, sample.velocities, now

    def seconds(self, now: float) -> float:
        """Return the time since the previous command [s]; 0 without one or after a rest."""
        return max(now - self._time, 0.0) if self._time == self._time else 0.0

    def violation(self, sample: TrajectorySample, now: float) -> RobotCellError | None:
        """Return why a command for a time [s] must not be sent; None if it may be sent."""
        positions, velocities = sample.positions, sample.velocities
        if self._limits is None:
            finite = np.isfinite(positions).all() and np.isfinite(velocities).all()
            return None if finite else self._not_finite(sample)
        seconds = self.seconds(now)
        rows = self._rows
        rows[0] = positions
        rows[1] = velocities
        np.subtract(velocities, self._velocities, out=rows[2])
        rows[3] = positions - self._positions - (0.5 * seconds) * (velocities + self._velocities)
        # With |q''| <= A the velocity changes by at most A h in a time h, and the mean of both end velocities has a
        # smaller error.
        change = self._acceleration * seconds
        self._upper[2] = change + SPEED_ROUNDING
        self._upper[3] = change * (0.5 * seconds) + POSITION_ALLOWANCE
        np.negative(self._upper[2:], out=self._lower[2:])
        if ((rows <= self._upper) & (rows >= self._lower)).all():  # false for NaN
            return None
        return self._violation_error(seconds)

    def _not_finite(self, sample: TrajectorySample) -> RobotCellError:
        wrong = ~(np.isfinite(sample.positions) & np.isfinite(sample.velocities))
        names = tuple(self._joints[index] for index in np.flatnonzero(wrong))
        text = f"the next command of {', '.join(names)} is not a finite number; it was not sent"
        return TrajectoryLimitError(text, stage=STAGE, subjects=names)

    def _violation_error(self, seconds: float) -> RobotCellError:
        """Return the error of the first violated kind of limit, at its worst joint."""
        assert self._limits is not None
        rows, lower, upper = self._rows, self._lower, self._upper
        violated = ~((rows <= upper) & (rows >= lower))
        kind = int(np.argmax(violated.any(axis=1)))
        beyond = np.where(violated[kind], np.maximum(rows[kind] - upper[kind], lower[kind] - rows[kind]), -np.inf)
        joint = int(np.argmax(np.where(np.isnan(beyond), np.inf, beyond)))
        name, value = self._joints[joint], float(rows[kind, joint])
        if not np.isfinite(value):
            text = f"the next command of {name} is not a finite number; it was not sent"
            return TrajectoryLimitError(text, stage=STAGE, subjects=(name,), values=(Value(QUANTITIES[kind], value),))
        limit = float(upper[kind, joint])
        if kind == 0:
            limit = float(self._limits.upper[joint] if value > upper[0, joint] else self._limits.lower[joint])
        elif kind == 1:
            limit = float(self._limits.velocity[joint])
        elif kind == 2 and seconds > 0.0:
            value, limit = value / seconds, float(self._limits.acceleration[joint])
        quantity = "acceleration" if kind == 2 and seconds > 0.0 else QUANTITIES[kind]
        order = 2 if quantity == "acceleration" else ORDERS[kind]
        unit = self._limits.unit(joint, order)
        text = f"the next command would violate the {quantity} limit of {name}; it was not sent"
        return TrajectoryLimitError(text, stage=STAGE, subjects=(name,), values=(Value(quantity, value, limit, unit),))

    def stop_step(self, point: Point, parameter: float, now: float) -> TrajectorySample | None:
        """Return the next command of a stop along a path, as fast as the acceleration limits allow.

        The result is None if every such command violates a limit.

        point: Returns positions and their first two derivatives (dof,) by the path parameter at one of it [s].
        parameter: That of the previous command [s]. now: Time of the command [s].
        """
        if self._limits is None or not np.isfinite(parameter):
            return None
        seconds = self.seconds(now)
        first = point(parameter)[1]
        along = float(first @ first)
        rate = max(float(first @ self._velocities) / along, 0.0) if along > 0.0 else 0.0
        slower, max_change = rate, self._limits.acceleration * seconds
        for _ in range(ITERATIONS):
            reached = parameter + 0.5 * seconds * (rate + slower)
            positions, first, second = point(reached)
            moving = np.abs(first) > SPEED_ROUNDING
            steepness = np.where(moving, first, 1.0)
            # Minimum rate at which no joint's velocity changes by more than its limit allows.
            bounds = (self._velocities * np.sign(steepness) - max_change) / np.abs(steepness)
            slower = min(max(float(np.where(moving, bounds, 0.0).max(initial=0.0)), 0.0), rate)
        slope = (slower - rate) / seconds if seconds > 0.0 else 0.0
        sample = TrajectorySample(reached, positions, first * slower, second * slower**2 + first * slope)
        return sample if self.violation(sample, now) is None else None


def stopped_at(sample: TrajectorySample) -> TrajectorySample:
    """Return a command at the same path parameter with zero velocity."""
    still = np.zeros_like(sample.positions)
    return TrajectorySample(sample.parameter, sample.positions, still, still)
