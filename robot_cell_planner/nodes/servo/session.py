"""A session of servo: conversion of commands to joint velocities for the stream."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from control_msgs.msg import JointJog
from geometry_msgs.msg import TwistStamped
from numpy.typing import NDArray

from robot_cell_planner.msg import ServoOptions, ServoStatus

from ...errors import ExecutionError, RobotCellError, TrackingError, Value
from ...kinematics.velocity import VelocityBounds
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...trajectory.limits import MotionLimits
from ...trajectory.servo import Approach
from ...trajectory.servo_frames import FrameServo, TargetTracker
from ...trajectory.tracking import lost
from ..common.node import CellNode
from ..conversions.basic import time_to_message
from ..motion.command_stream import CommandStream
from ..motion.joint_feedback import JointFeedback
from ..motion.path_return import PathReturn, RobotTimeout, feedback_timeouts
from .channel import ServoChannel
from .collision_monitor import CollisionMonitor
from .commands import Command, FrameReader, ServoTopics, joint_velocities
from .parameters import ServoSettings

Array = NDArray[np.float64]
# Fraction of the velocity limit: a joint whose velocity bound towards a position limit is lower counts as at the limit.
AT_LIMIT = 1e-3
SLOWED = 0.999  # fractions of speed below this are reported as slowed
STOPPED = 1e-3


@dataclass(frozen=True, eq=False)
class ServoTask:
    """The task of a session.

    joints: the robot's names of the variables of the limits. source: of ServoOptions. present: the cell of the scene
    when the session began. others: names in joint_states of further joints whose measured positions collisions are
    checked with.
    """

    cell: RobotCell
    state: RobotCellState
    joints: tuple[str, ...]
    source: int
    frame: str
    limits: MotionLimits
    settings: ServoSettings
    present: RobotCell
    others: frozenset[str] = frozenset()


class ServoSession:
    """Converts commands to velocities; `update` must be called at a constant rate. on_refused(error): called for
    rejected commands."""

    def __init__(
        self,
        node: CellNode,
        task: ServoTask,
        topics: ServoTopics,
        stream: CommandStream,
        channel: ServoChannel,
        reader: FrameReader,
        feedback: JointFeedback,
        collision_monitor: CollisionMonitor | None,
        on_refused: Callable[[RobotCellError], None],
    ) -> None:
        self._node = node
        self.task = task
        self._topics = topics
        self._stream = stream
        self.channel = channel
        self._feedback = feedback
        self._monitor = collision_monitor
        self._on_refused = on_refused
        self._frames = FrameServo(task.cell, task.state, task.frame, task.limits, task.settings.frames)
        # Compile and load before anything moves.
        self._frames.command(channel.last.positions, np.zeros(6))
        self._reader = reader
        self._tracker = TargetTracker(task.settings.frames)
        self._approach = Approach(task.limits)
        self._timeouts = feedback_timeouts(node.parameters)
        self._return = PathReturn(self._timeouts.path_return_timeout)
        self._settling = RobotTimeout()
        self._is_silent = False
        self._velocities = np.zeros(len(task.limits.variables))
        self._twist = np.zeros(6)
        self._commanded_at = -math.inf
        self.status = ServoStatus(state=ServoStatus.NO_COMMAND)

    def fault(self) -> RobotCellError | None:
        """Return an error that must end the session, if any."""
        failure = self.channel.failure
        if failure is not None:
            return failure if isinstance(failure, RobotCellError) else ExecutionError(f"no command was sent: {failure}")
        if self.channel.violation is not None:
            return self.channel.violation
        joints, parameters, now = self.task.joints, self._node.parameters, time.monotonic()
        age, lag = self._feedback.age(joints, now), self._feedback.lag(joints)
        self._is_silent = max(age, lag) > self._timeouts.silence
        if age > self._timeouts.lost_after:
            return lost(age, self._timeouts.lost_after)
        if (lagging := self._feedback.lagging(joints, self._timeouts.lost_after)) is not None:
            return lagging
        if (unknown := self._feedback.unknown(self.task.others, now)) is not None:
            return unknown
        if self._is_silent:
            return None
        desired = self._stream.commanded_at(self.channel, self._stamp())
        errors = np.abs(desired.positions - self._measured())
        worst = int(np.argmax(errors))
        if errors[worst] <= parameters["path_tolerance"]:
            self._return.is_back()
            return None
        if self._return.excuses(max(self._feedback.paused_at(joints), self.channel.sent.paused_at), now):
            return None
        error, limit = float(errors[worst]), parameters["path_tolerance"]
        unit = self.task.limits.unit(worst)
        numbers = f"{error:.4g} {unit} (limit {limit:.4g} {unit})"
        text = f"path tolerance violated: position error of {joints[worst]} is {numbers}"
        values = (Value("position error", error, limit, unit),)
        return TrackingError(text, subjects=(joints[worst],), values=values)

    def _measured(self) -> Array:
        positions = self._feedback.positions()
        return np.array([positions[joint] for joint in self.task.joints])

    def _stamp(self) -> int:
        """Return the stamp of the oldest of the latest measurements [ns]."""
        found = [self._feedback.get(joint) for joint in self.task.joints]
        return min(measured.stamp for measured in found if measured is not None)

    def has_arrived(self) -> bool:
        """Return whether the robot has reached its stop position, its measurements are lost, or the time limit of
        trajectory ends has expired."""
        if self._feedback.age(self.task.joints, time.monotonic()) > self._timeouts.lost_after:
            return True
        parameters, last, stamp = self._node.parameters, self.channel.last.positions, self._stamp()
        if np.abs(self._measured() - last).max() <= parameters["goal_tolerance"]:
            return True
        commanded = bool((self._stream.commanded_at(self.channel, stamp).positions == last).all())
        listened = self._feedback.listened(time.monotonic())
        return self._settling.has_expired(parameters["goal_time"], listened, stamp, commanded)

    def update(self, global_scale: float) -> None:
        """Read commands, and set the velocities of the stream. global_scale: speed scale of the robot, 0 to 1."""
        now = time.monotonic()
        positions = self.channel.last.positions
        self._read(positions, now)
        status = ServoStatus(smallest_singular_value=0.0, scale=0.0, state=ServoStatus.NO_COMMAND)
        status.header.stamp = time_to_message(self._node.get_clock().now().nanoseconds)
        left = self._commanded_at + self.task.settings.timeout - now
        if self._is_silent:
            # The position is unknown: the robot comes to rest until it is measured again.
            self.channel.follow(np.zeros_like(positions), math.inf)
        elif left > 0.0:
            requested = self._requested(positions, status)
            allowed = global_scale * self._without_collision(requested, status)
            status.scale *= global_scale
            # A few periods, which this process may be delayed.
            self.channel.follow(allowed, self._stream.clock.after(min(left, 10.0 / self.task.settings.rate)))
        else:
            self.channel.follow(np.zeros_like(positions), math.inf)
            if self._monitor is not None:
                self._monitor.requested, self._monitor.present = np.zeros_like(positions), self.channel.follower.state
        if self._monitor is not None:
            status.clearance = self._monitor.closest
        self.status = status

    def _without_collision(self, requested: Array, status: ServoStatus) -> Array:
        """Return the velocities (dof,) that the collision monitor allows; fills the status."""
        if self._monitor is None:
            return requested
        self._monitor.requested, self._monitor.present = requested, self.channel.follower.state
        scale = self._monitor.scale(requested)
        status.scale *= scale
        if requested.any() and scale < SLOWED:
            stopped = scale <= STOPPED
            status.state = ServoStatus.STOPPED_BY_COLLISION if stopped else ServoStatus.SLOWED_BY_COLLISION
        return self._monitor.allowed(requested)

    def _read(self, positions: Array, now: float) -> None:
        """Read new commands; the last valid one counts."""
        for message in self._topics.take(self.task.source):
            try:
                self._topics.check_age(message, self.task.settings.timeout)
                self._accept(message, positions)
                self._commanded_at = now
            except RobotCellError as error:
                self._on_refused(error)

    def _accept(self, message: Command, positions: Array) -> None:
        task = self.task
        if isinstance(message, JointJog):
            self._velocities = joint_velocities(message, task.limits.variables, task.joints)
        elif isinstance(message, TwistStamped):
            self._twist = self._reader.twist(message, positions)
        else:
            # The velocity of the target is one on the clock that the robot moves on.
            self._tracker.take(self._reader.target(message, positions), self._stream.now())

    def _requested(self, positions: Array, status: ServoStatus) -> Array:
        """Return the velocities (dof,) of the command within the limits [rad/s or m/s]; fills the status."""
        bounds = self._approach.bounds(positions)
        if self.task.source == ServoOptions.JOINT_VELOCITY:
            commanded = self._velocities
            largest = float((np.abs(commanded) / self.task.limits.velocity).max(initial=0.0))
            status.scale, status.state = 1.0 / max(1.0, largest), ServoStatus.FOLLOWING
            requested = np.clip(status.scale * commanded, bounds.lower, bounds.upper)
        else:
            commanded = requested = self._velocities_in_frame(positions, status)
        self._report_joints_at_limits(commanded, requested, bounds, status)
        return requested

    def _velocities_in_frame(self, positions: Array, status: ServoStatus) -> Array:
        """Return the velocities (dof,) for the twist, or towards the target; fills the status."""
        twist = self._twist
        if self.task.source == ServoOptions.TRACK_TARGET:
            tracking = self._tracker.track_pose(self._frames.pose(positions), self._stream.now())
            twist = tracking.twist
            status.position_error, status.orientation_error = tracking.position_error, tracking.orientation_error
        found = self._frames.command(positions, twist)
        status.scale = found.limit_fraction * found.singularity_fraction
        status.smallest_singular_value = found.smallest_singular_value
        status.state = _state_of(found.singularity_fraction)
        return found.velocities

    def _report_joints_at_limits(
        self, commanded: Array, requested: Array, bounds: VelocityBounds, status: ServoStatus
    ) -> None:
        """Report the joints that are commanded to move beyond their position limits, and a robot that they stop."""
        near = AT_LIMIT * self.task.limits.velocity
        beyond_upper = (bounds.upper <= near) & (commanded >= bounds.upper)
        beyond_lower = (bounds.lower >= -near) & (commanded <= bounds.lower)
        stopped = (beyond_upper | beyond_lower) & (commanded != 0.0)
        status.joints_at_limit = [self.task.joints[index] for index in np.flatnonzero(stopped)]
        if stopped.any() and float(np.abs(requested[~stopped]).max(initial=0.0)) <= float(near.min()):
            status.state = ServoStatus.STOPPED_BY_LIMIT


def _state_of(scale: float) -> int:
    if scale >= SLOWED:
        return int(ServoStatus.FOLLOWING)
    return int(ServoStatus.STOPPED_BY_SINGULARITY if scale <= STOPPED else ServoStatus.SLOWED_BY_SINGULARITY)
