"""Setpoints of a joint at each physics step, from commands at a lower rate.

As in a robot controller, commands arrive at a lower rate than the control loop: a position command with a velocity
defines position and motion at one time and is extrapolated for a short duration. The setpoint respects the limits of
the joint, so a distant command makes the joint travel instead of jump.

Uses Python floats, one joint at a time, which for the few joints of a cell is several times as fast as arrays.
"""

from __future__ import annotations

import math
from enum import Enum

from .multibody.multibodies import JointModel
from .options import SimulationOptions

# Defaults if neither the description nor the limits file specifies a value, or specifies 0, by whether the joint is
# revolute.
DEFAULT_VELOCITY = {True: math.pi, False: 0.5}  # [rad/s], [m/s]
DEFAULT_ACCELERATION = {True: 50.0, False: 10.0}  # [rad/s2], [m/s2]
DEFAULT_EFFORT = {True: 500.0, False: 500.0}  # [Nm], [N]
NOTICEABLE = 1e-5  # [rad or m] lag of a joint that presses against an object
OPENING = 1e-4  # [rad or m] min commanded motion away from a stop to release it
ROUNDING = 1e-9  # [s] of times
VELOCITY_HEADROOM = 1.05  # prevents a command at the limit from running ahead of the setpoint


def assumed_effort(joint: JointModel) -> float:
    """Return the max effort of a joint without an effort limit [Nm or N]."""
    return max(DEFAULT_EFFORT[joint.revolute], joint.assumed_effort)


class Mode(Enum):
    """Control mode of a joint."""

    POSITION = "position"
    VELOCITY = "velocity"
    EFFORT = "effort"


_POSITION, _VELOCITY, _EFFORT = Mode  # members of an enumeration are slow to look up


class Setpoint:
    """Setpoint of one joint.

    Attributes:
        before, position: Desired position at the beginning and at the end of the current step [rad or m].
        velocity: Velocity between them [rad/s or m/s].
        effort_limit: Max effort of the motor [Nm or N].
        effort: Commanded effort in effort mode [Nm or N].
        mode: Control mode.
        window: Max deviation of a blocked joint from its setpoint [rad or m].
        pressing: Direction in which the joint is blocked, 1 or -1; 0 if it is not blocked.
        changed: Whether a command, a bound or a stop has changed since the value was last set to False.
    """

    def __init__(self, joint: JointModel, options: SimulationOptions) -> None:
        limits = joint.limits
        # A joint that starts beyond its limits is not pulled back.
        self.lower, self.upper = min(limits.lower, joint.start), max(limits.upper, joint.start)
        self.largest_velocity = VELOCITY_HEADROOM * (limits.velocity or DEFAULT_VELOCITY[joint.revolute])
        acceleration = limits.acceleration or DEFAULT_ACCELERATION[joint.revolute]
        self.largest_acceleration = options.acceleration_factor * acceleration
        self._braking = acceleration  # of velocity commands towards a position limit
        self.largest_effort = max(limits.effort, joint.assumed_effort) if limits.effort else assumed_effort(joint)
        self.effort_limit = self.largest_effort
        self.window = self._narrow = options.following_window * self.largest_velocity
        self._extrapolate_for = options.extrapolate_for
        self._timeout = options.command_timeout
        self.mode = Mode.POSITION
        self.before = self.position = joint.start
        self.velocity = 0.0
        self.effort = 0.0
        self.pressing = 0.0
        self.changed = True
        self._measured = self._commanded = joint.start
        self._stop: float | None = None
        # Latest command: its value, velocity, acceleration and time, and how far it may be extrapolated backwards.
        self._value = joint.start
        self._slope = 0.0
        self._bend = 0.0
        self._time = -math.inf
        self._back = 0.0

    def command_position(self, position: float, velocity: float | None, time: float) -> None:
        """Command a position for a time; without a velocity, it is computed from the preceding command."""
        gap = time - self._time
        stream = self.mode is _POSITION and 0.0 < gap <= self._extrapolate_for
        position = _clamped(position, self.lower, self.upper)
        if velocity is None:
            slope = (position - self._value) / gap if stream else 0.0
            self._bend = 0.0
        else:
            slope = velocity
            self._bend = (velocity - self._slope) / gap if stream else 0.0
        if position != self._value or slope or self._bend or self.mode is not _POSITION:
            self.changed = True  # a command to rest where the joint is commanded to be changes nothing
        self._value, self._slope = position, slope
        self._back = gap if stream else 0.0
        self._time = time
        self.mode = _POSITION

    def command_velocity(self, velocity: float, time: float) -> None:
        """Command a velocity [rad/s or m/s] at a time [s]."""
        if velocity or self._slope or self.mode is not _VELOCITY:
            self.changed = True
        self._slope, self._time, self.mode = velocity, time, Mode.VELOCITY

    def command_effort(self, effort: float, time: float) -> None:
        """Command an effort [Nm or N] at a time [s]."""
        self.effort = min(max(effort, -self.largest_effort), self.largest_effort)
        self._time, self.mode, self.changed = time, Mode.EFFORT, True

    def limit_effort(self, limit: float) -> None:
        """Bound the motor effort in the other modes; 0 removes the bound."""
        bound = min(limit, self.largest_effort) if limit > 0.0 else self.largest_effort
        self.changed = self.changed or bound != self.effort_limit
        self.effort_limit = bound

    def allow_deviation(self, allowed: bool) -> None:
        """Allow a joint to be pushed away from its command without bound, or within the window of the options."""
        self.window = math.inf if allowed else self._narrow

    def rest_at(self, measured: float) -> None:
        """Replace the command by rest at a measured position [rad or m]."""
        self.before = self.position = self._value = self._measured = measured
        self.velocity = self._slope = self._bend = self._back = 0.0
        self.mode = Mode.POSITION

    def stop(self, direction: float) -> None:
        """Block motion of the joint in a direction, 1 or -1, from its current position."""
        self._stop = self.position = self._measured
        self.velocity = 0.0
        self.pressing = direction
        self.changed = True

    def end_stop(self) -> None:
        self._stop = None
        self.pressing = 0.0
        self.changed = True

    @property
    def drives_by_effort(self) -> bool:
        """Return whether the commanded effort moves the joint; one with a stop is held there."""
        return self.mode is _EFFORT and self._stop is None

    @property
    def held_effort(self) -> float | None:
        """Return the effort with which a joint presses against its stop [Nm or N]; None without a stop."""
        if self._stop is None:
            return None
        return self.effort if self.mode is _EFFORT else self.pressing * self.effort_limit

    @property
    def is_commanded_away(self) -> bool:
        """Return whether a joint with a stop is commanded to move away from it."""
        return self._stop is not None and (self._commanded - self._stop) * self.pressing < -OPENING

    def is_steady(self, time: float) -> bool:
        """Return whether the command will have no other effect later than at a time [s]."""
        if self.mode is _POSITION:
            return not (self._slope or self._bend) or time - self._time > self._extrapolate_for
        return self.mode is _VELOCITY and (not self._slope or time - self._time > self._timeout)

    def advance(self, time: float, step: float, measured: float) -> None:
        """Advance from `time - step` to `time` [s]; `measured`: position of the joint at `time - step`."""
        self._measured = measured
        stop = self._stop
        if self.drives_by_effort:
            self._let_go(time, measured)
            return
        before, present = self.position, self.velocity
        low, high = measured - self.window, measured + self.window
        if not low <= before <= high:
            # The velocity is that of a blocked joint, so that it does not jump when released.
            before, present = _clamped(before, low, high), 0.0
        self.before = before
        velocity = self._chase(time, step) if self.mode is _POSITION else self._requested_velocity(time, step)
        max_change = self.largest_acceleration * step
        velocity = _clamped(velocity, present - max_change, present + max_change)
        velocity = _clamped(velocity, -self.largest_velocity, self.largest_velocity)
        velocity = self._stoppable(velocity, before, step, self.largest_acceleration)
        position = _clamped(before + velocity * step, self.lower, self.upper)
        if stop is None:
            lag = before - measured
            self.pressing = 0.0 if -NOTICEABLE <= lag <= NOTICEABLE else math.copysign(1.0, lag)
        elif (position - stop) * self.pressing > 0.0:
            position = stop
        self.position, self.velocity = position, (position - before) / step

    def _requested_velocity(self, time: float, step: float) -> float:
        """Return the velocity of a joint that is not commanded by position."""
        command = self._slope if self.mode is _VELOCITY else self.effort
        if time - self._time > self._timeout:
            command = 0.0
            if self.mode is _EFFORT:
                self._let_go(time, self.position)
        self._commanded = self.position + math.copysign(1.0, command) if command else self.position
        return self._stoppable(command, self.before, step, self._braking) if self.mode is _VELOCITY else 0.0

    def _stoppable(self, velocity: float, position: float, step: float, acceleration: float) -> float:
        """Return a velocity at a position, bounded to the one from which the joint stops at its limit."""
        speed, room = abs(velocity), self.upper - position if velocity > 0.0 else position - self.lower
        if speed * (speed + 2.0 * acceleration * step) <= 2.0 * acceleration * room:
            return velocity  # without the exact bound, which takes more time
        return math.copysign(min(speed, self._approach(max(room, 0.0), step, acceleration)), velocity)

    def _chase(self, time: float, step: float) -> float:
        """Return the velocity that reaches the commanded position at `time`, or the max velocity towards it from which
        the joint can stop there."""
        target, going, age = self._value, 0.0, time - self._time
        if age <= self._extrapolate_for:
            last = self._last_age()
            moment = _clamped(age, -self._back, last)
            target += (self._slope + 0.5 * self._bend * moment) * moment
            target = _clamped(target, self.lower, self.upper)
            going = self._slope + self._bend * moment if age <= last else 0.0
        self._commanded = target
        error = target - self.before - going * step
        if error == 0.0:
            return going
        return going + math.copysign(self._approach(abs(error), step, self.largest_acceleration), error)

    def _last_age(self) -> float:
        """Return the age of the command up to which the joint is extrapolated with its acceleration [s].

        A joint that is commanded to come to rest stays there, and one that comes to rest later does so, too: neither
        returns with its deceleration. Only within the period of the commands it turns, as those of sinusoids do.
        """
        if not self._slope:
            return 0.0
        rest = -self._slope / self._bend if self._slope * self._bend < 0.0 else math.inf
        return max(rest, self._back + ROUNDING)

    @staticmethod
    def _approach(distance: float, step: float, acceleration: float) -> float:
        """Return the max velocity from which the joint stops within a distance, braking in whole steps."""
        max_change = acceleration * step
        # In units of the velocity change per step: from n + f, with integer n and f < 1, the velocities n + f, n + f -
        # 1, ..., f cover the distance (n + 1) f + n (n + 1) / 2.
        units = distance / (max_change * step)
        whole = math.floor(0.5 * (math.sqrt(1.0 + 8.0 * units) - 1.0))
        return max_change * (whole + (units - 0.5 * whole * (whole + 1)) / (whole + 1))

    def _let_go(self, time: float, measured: float) -> None:
        """Follow a joint in effort mode; hold it when the command has expired."""
        self.before = self.position = self._value = measured
        self.velocity = self._slope = self._bend = self._back = 0.0
        if time - self._time > self._timeout:
            self.mode = Mode.POSITION


def _clamped(value: float, lower: float, upper: float) -> float:
    """Return a value within bounds, faster than `min` and `max` do."""
    if value < lower:
        return lower
    return upper if value > upper else value
