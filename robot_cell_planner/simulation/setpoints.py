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

from .assemblies import JointModel
from .options import SimulationOptions

# Where neither the description nor the limits file says it, by whether the joint turns.
DEFAULT_VELOCITY = {True: math.pi, False: 0.5}  # [rad/s], [m/s]
DEFAULT_ACCELERATION = {True: 50.0, False: 10.0}  # [rad/s2], [m/s2]
DEFAULT_EFFORT = {True: 500.0, False: 500.0}  # [Nm], [N]
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
    commanded one, in that mode. mode: see `Mode`.
    """

    def __init__(self, joint: JointModel, options: SimulationOptions) -> None:
        limits = joint.limits
        self.lower, self.upper = limits.lower, limits.upper
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

    def advance(self, time: float, step: float, measured: float) -> None:
        """Go from `time - step` to `time` [s]; measured: position of the joint at `time - step`."""
        if self.mode is Mode.EFFORT:
            self._let_go(time, measured)
            return
        self.before = min(max(self.position, measured - self._window), measured + self._window)
        if self.mode is Mode.POSITION:
            velocity = self._chase(time, step)
        else:
            velocity = self._slope if time - self._time <= self._timeout else 0.0
        reach = self.largest_acceleration * step
        velocity = min(max(velocity, self.velocity - reach), self.velocity + reach)
        velocity = min(max(velocity, -self.largest_velocity), self.largest_velocity)
        self.position = min(max(self.before + velocity * step, self.lower), self.upper)
        self.velocity = (self.position - self.before) / step

    def _chase(self, time: float, step: float) -> float:
        """The velocity that leads to where the latest command wants the joint at `time`, or towards that as fast as
        the joint can still stop there."""
        age = max(time - self._time, -self._back)
        wanted, going = self._value, 0.0
        if age <= self._extrapolate_for:
            wanted += (self._slope + 0.5 * self._bend * age) * age
            wanted = min(max(wanted, self.lower), self.upper)
            going = self._slope + self._bend * age
        error = wanted - self.before - going * step
        # Braking by a in steps of length h, the distance from a velocity n a h is a h^2 n (n + 1) / 2.
        reach = self.largest_acceleration * step
        braking = 0.5 * reach * (math.sqrt(1.0 + 8.0 * abs(error) / (reach * step)) - 1.0)
        return going + math.copysign(min(abs(error) / step, braking), error)

    def _let_go(self, time: float, measured: float) -> None:
        """Follow a joint that is driven by effort; hold it when the command has become too old."""
        self.before = self.position = self._value = measured
        self.velocity = self._slope = self._bend = self._back = 0.0
        if time - self._time > self._timeout:
            self.mode = Mode.POSITION
