"""What a joint should do at each step, from commands that come now and then.

A robot's controller takes commands at some rate and moves its joints at a higher one. So does this one: a position
command with its velocity says where a joint should be at one moment and how it goes on; between and after commands
that is carried on for a short time. The setpoint follows within the limits of the joint, so a command far away makes
the joint travel there rather than jump.

Plain numbers, one joint at a time: for the few joints of a cell that is several times as fast as arrays.
"""

from __future__ import annotations

import math
from enum import Enum

from .multibody import JointModel
from .options import SimulationOptions

# Where neither the description nor the limits file says it, or says 0; by whether the joint turns.
DEFAULT_VELOCITY = {True: math.pi, False: 0.5}  # [rad/s], [m/s]
DEFAULT_ACCELERATION = {True: 50.0, False: 10.0}  # [rad/s2], [m/s2]
DEFAULT_EFFORT = {True: 500.0, False: 500.0}  # [Nm], [N]
NOTICEABLE = 1e-5  # [rad or m] by which a joint lags that presses against something
OPENING = 1e-4  # [rad or m] that a joint must be told to move away from a stop to leave it
VELOCITY_HEADROOM = 1.05  # so that a command at the limit does not run away from the setpoint


class Mode(Enum):
    """How a joint is driven."""

    POSITION = "position"
    VELOCITY = "velocity"
    EFFORT = "effort"


class Setpoint:
    """Setpoint of one joint.

    before, position [rad or m]: where the joint should be at the begin and at the end of the present step; velocity:
    from one to the other [per s]. effort_limit [Nm or N]: the largest effort of its motor. effort [Nm or N]: the
    commanded one, in that mode. mode: see `Mode`. pressing: 1 or -1, the direction in which the joint is kept from
    going on, 0 if it isn't.
    """

    def __init__(self, joint: JointModel, options: SimulationOptions) -> None:
        limits = joint.limits
        # A joint that starts beyond its limits is not pulled back by force.
        self.lower, self.upper = min(limits.lower, joint.start), max(limits.upper, joint.start)
        self.largest_velocity = VELOCITY_HEADROOM * (limits.velocity or DEFAULT_VELOCITY[joint.turns])
        acceleration = limits.acceleration or DEFAULT_ACCELERATION[joint.turns]
        self.largest_acceleration = options.acceleration_factor * acceleration
        self.largest_effort = limits.effort or DEFAULT_EFFORT[joint.turns]
        self.effort_limit = self.largest_effort
        self._window = options.following_window * self.largest_velocity
        self._extrapolate_for = options.extrapolate_for
        self._timeout = options.command_timeout
        self.mode = Mode.POSITION
        self.before = self.position = joint.start
        self.velocity = 0.0
        self.effort = 0.0
        self.pressing = 0.0
        self._measured = self._told = joint.start
        self._stop: float | None = None
        # The latest command: its value, velocity, acceleration and time, and how far back that may be carried.
        self._value = joint.start
        self._slope = 0.0
        self._bend = 0.0
        self._time = -math.inf
        self._back = 0.0

    def command_position(self, position: float, velocity: float | None, time: float) -> None:
        """A position for a time; without a velocity that follows from the command before."""
        gap = time - self._time
        stream = self.mode is Mode.POSITION and 0.0 < gap <= self._extrapolate_for
        position = min(max(position, self.lower), self.upper)
        if velocity is None:
            slope = (position - self._value) / gap if stream else 0.0
            self._bend = 0.0
        else:
            slope = velocity
            self._bend = (velocity - self._slope) / gap if stream else 0.0
        self._value, self._slope = position, slope
        self._back = gap if stream else 0.0
        self._time = time
        self.mode = Mode.POSITION

    def command_velocity(self, velocity: float, time: float) -> None:
        self._slope, self._time, self.mode = velocity, time, Mode.VELOCITY

    def command_effort(self, effort: float, time: float) -> None:
        self.effort = min(max(effort, -self.largest_effort), self.largest_effort)
        self._time, self.mode = time, Mode.EFFORT

    def limit_effort(self, limit: float) -> None:
        """Bound the effort of the motor in the other modes; 0 takes the bound away."""
        self.effort_limit = min(limit, self.largest_effort) if limit > 0.0 else self.largest_effort

    def stop(self, direction: float) -> None:
        """Keep the joint from moving on in a direction, 1 or -1, from where it is."""
        self._stop = self.position = self._measured
        self.velocity = 0.0
        self.pressing = direction

    def end_stop(self) -> None:
        self._stop = None
        self.pressing = 0.0

    @property
    def held_effort(self) -> float | None:
        """The effort with which a joint presses that has a stop [Nm or N]; None without one."""
        return None if self._stop is None else self.pressing * self.effort_limit

    @property
    def is_told_away(self) -> bool:
        """Whether a joint with a stop is commanded to leave it."""
        return self._stop is not None and (self._told - self._stop) * self.pressing < -OPENING

    def advance(self, time: float, step: float, measured: float) -> None:
        """Go from `time - step` to `time` [s]; measured: position of the joint at `time - step`."""
        self._measured = measured
        if self.mode is Mode.EFFORT and self._stop is None:
            self._let_go(time, measured)
            return
        self.before = min(max(self.position, measured - self._window), measured + self._window)
        if self.before != self.position:
            self.velocity = 0.0  # of a joint that is blocked, lest it runs on when that ends
        velocity = self._wanted_velocity(time, step)
        reach = self.largest_acceleration * step
        velocity = min(max(velocity, self.velocity - reach), self.velocity + reach)
        velocity = min(max(velocity, -self.largest_velocity), self.largest_velocity)
        self.position = self._bounded(self.before + velocity * step)
        self.velocity = (self.position - self.before) / step
        if self._stop is None:
            lag = self.before - measured
            self.pressing = math.copysign(1.0, lag) if abs(lag) > NOTICEABLE else 0.0

    def _bounded(self, position: float) -> float:
        position = min(max(position, self.lower), self.upper)
        if self._stop is not None and (position - self._stop) * self.pressing > 0.0:
            return self._stop
        return position

    def _wanted_velocity(self, time: float, step: float) -> float:
        if self.mode is Mode.POSITION:
            return self._chase(time, step)
        command = self._slope if self.mode is Mode.VELOCITY else self.effort
        if time - self._time > self._timeout:
            command = 0.0
        self._told = self.position + math.copysign(1.0, command) if command else self.position
        return command if self.mode is Mode.VELOCITY else 0.0

    def _chase(self, time: float, step: float) -> float:
        """The velocity that leads to where the latest command wants the joint at `time`, or towards that as fast as
        the joint can still stop there."""
        age = max(time - self._time, -self._back)
        wanted, going = self._value, 0.0
        if age <= self._extrapolate_for:
            wanted += (self._slope + 0.5 * self._bend * age) * age
            wanted = min(max(wanted, self.lower), self.upper)
            going = self._slope + self._bend * age
        self._told = wanted
        error = wanted - self.before - going * step
        return going + math.copysign(self._approach(abs(error), step), error)

    def _approach(self, distance: float, step: float) -> float:
        """The largest velocity from which the joint stops within a distance, by braking in whole steps."""
        reach = self.largest_acceleration * step
        # In units of one step's change of velocity: from n + f, with n whole and f below 1, the velocities
        # n + f, n + f - 1, ..., f lead over (n + 1) f + n (n + 1) / 2.
        units = distance / (reach * step)
        whole = math.floor(0.5 * (math.sqrt(1.0 + 8.0 * units) - 1.0))
        return reach * (whole + (units - 0.5 * whole * (whole + 1)) / (whole + 1))

    def _let_go(self, time: float, measured: float) -> None:
        """Follow a joint that is driven by effort; hold it when the command has become too old."""
        self.before = self.position = self._value = measured
        self.velocity = self._slope = self._bend = self._back = 0.0
        if time - self._time > self._timeout:
            self.mode = Mode.POSITION
