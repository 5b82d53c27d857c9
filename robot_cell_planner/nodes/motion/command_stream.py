"""The stream of joint commands: a thread that samples trajectories and publishes commands at a constant rate.

Planning, collision checks and physics run in other processes, since they would block the interpreter and cause gaps in
the stream. Gaps are counted and reported.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from rclpy.node import Node

from ...errors import ExecutionError, MotionBusyError, NotSupportedError, RobotCellError, TrajectoryError, Value
from ...trajectory.sampler import TrajectorySample
from ...trajectory.time_scaling import TimeScaling
from ..common.clock_monitor import CLOCK
from ..common.realtime_priority import set_realtime_priority
from ..common.robot_topics import JointOutput
from . import successors
from .channels import Channel
from .command_topic import check_alone
from .command_values import CommandValues
from .commanded_joints import CommandedJoints, ForgottenCommand
from .joint_feedback import LONGEST_PAUSE
from .motion_clock import MotionClock
from .speed_changes import change_speed

REPORT_PERIOD = 5.0  # [s] between reports of errors
Forbidden = Callable[[int], tuple[int, RobotCellError | None]]


@dataclass(frozen=True)
class StreamStatistics:
    """Statistics of the last second: commands sent, and the longest interval between two [s]."""

    rate: float
    longest_interval: float


class CommandStream:
    """Publishes finite commands of all joints at a steady rate while anything moves, and nothing otherwise.

    output: publishes the commands. rate [Hz]. clock: the time that trajectories run on. fields: command interfaces of
    the robot: position, velocity, effort. joints: those in every message; without any, all that were commanded so far.
    late_command_periods: an interval longer than this many periods counts as late. max_command_gap: after a longer gap
    [s] the robot is assumed to have stopped, and the motion continues from rest. hold: keep publishing the last command
    between motions. priority: SCHED_FIFO, 0 for none. forbidden(seen): called before each command; returns how often
    commands were forbidden, and the reason if they are now, or were more often than `seen`. robot_of: name of the robot
    of a joint; each is held once all of its joints are known. passive: joints of grippers, see `forgotten`.
    """

    def __init__(
        self,
        node: Node,
        output: JointOutput,
        *,
        rate: float,
        clock: MotionClock,
        fields: Sequence[str] = ("position",),
        joints: Sequence[str] = (),
        late_command_periods: float = 2.0,
        max_command_gap: float = 0.1,
        hold: bool = False,
        priority: int = 0,
        forbidden: Forbidden = lambda _: (0, None),
        robot_of: Callable[[str], str] = lambda _: "",
        passive: Collection[str] = (),
    ) -> None:
        self._priority = priority
        self._node = node
        self._output = output
        self._period = 1.0 / rate
        self.clock = clock
        self._command = CommandValues(fields)
        self._forbidden = forbidden
        self.robot_of = robot_of
        self._times_forbidden = 0
        self._late = late_command_periods * self._period
        self._max_command_gap = max_command_gap
        self.holds = hold  # whether it publishes between motions, too
        self._lock = threading.Condition()
        self._channels: list[Channel] = []
        self._commanded = CommandedJoints(joints, robot_of, passive)
        self._sent: deque[tuple[float, float]] = deque(maxlen=2 * math.ceil(rate))
        self._running = True
        self._thread = threading.Thread(target=self._run, name="command stream", daemon=True)
        self._thread.start()

    def now(self) -> float:
        """Return the clock of trajectories [s]."""
        return self.clock.now()

    @property
    def commanded(self) -> dict[str, float]:
        """Return the last commanded position of every joint that was commanded and not forgotten since [rad or m]."""
        with self._lock:
            return self._commanded.known

    @property
    def forgotten(self) -> Mapping[str, ForgottenCommand]:
        """Return the last command of each passive joint before it was forgotten."""
        return self._commanded.forgotten

    @property
    def held(self) -> frozenset[str]:
        """Return the joints of every message that no channel moves, which are held at their positions."""
        with self._lock:
            return self._held()

    def _held(self) -> frozenset[str]:
        return self._commanded.names.difference(*(channel.joints for channel in self._channels))

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics of commands."""
        return self._output.topic_names

    @property
    def has_subscribers(self) -> bool:
        """Return whether the commands have a subscriber on each topic."""
        return self._output.has_subscribers

    def check_alone(self) -> None:
        """Raise ExecutionError if a topic has another publisher."""
        for topic in self.topics:
            check_alone(self._node, topic)

    def check_rate(self) -> None:
        """Raise ExecutionError if commands are so far apart, on a clock faster than the steady one, that the robot is
        assumed to stop after each."""
        period = self._period * self.clock.rate
        if period > self._max_command_gap:
            text = "simulated time is too fast for the commands: the time between two is more than max_command_gap"
            values = (Value("time between commands", period, self._max_command_gap, "s"),)
            raise ExecutionError(text, stage=CLOCK, values=values)

    def start(
        self,
        channel: Channel,
        others: Mapping[str, float],
        ages: Mapping[str, Value] | None = None,
        withheld: Collection[str] = (),
    ) -> None:
        """Start a channel.

        others: positions at which other joints are held from now on, NaN if unknown. Moving joints, and those that no
        message contains, are ignored. A robot of which one is unknown gets no commands. ages: of measurements
        that are too old to know positions by, for the error [s]. withheld: see `CommandedJoints.start`.

        Raises:
            MotionBusyError: one of its joints is already moving.
            ExecutionError: the position of a joint of every message is unknown, other than those of other robots.
            StoppedError: commands are forbidden.
        """
        with self._lock:
            self._check_free(channel)
            if not self._channels:  # interruptions while nothing moved do not matter
                self._times_forbidden, _ = self._forbidden(self._times_forbidden)
            _, reason = self._forbidden(self._times_forbidden)
            if reason is not None:
                raise reason
            known = self._held()
            held = {name: value for name, value in others.items() if name in known}
            moving = dict(zip(channel.joints, channel.last.positions.tolist(), strict=True))
            left_out = self._commanded.start(moving, held, ages or {}, withheld)
            self._channels.append(channel)
            self._lock.notify()
        if left_out:
            self._node.get_logger().warning(left_out)

    def _check_free(self, channel: Channel, besides: Channel | None = None) -> None:
        for other in self._channels:
            if other is besides:
                continue
            successor = () if other.successor is None else other.successor[0].joints
            shared = sorted({*other.joints, *successor} & set(channel.joints))
            if shared:
                raise MotionBusyError(f"{other.owner} is moving {', '.join(shared)}", subjects=(other.owner, *shared))

    def hold_at(self, positions: Mapping[str, float]) -> None:
        """Set positions to command between motions, for joints that were not commanded yet."""
        with self._lock:
            self._commanded.hold_at(positions)
            self._lock.notify()

    def commanded_at(self, channel: Channel, stamp: int) -> TrajectorySample:
        """Return the command of a channel at a time of messages [ns]."""
        with self._lock:
            return channel.at(stamp)

    def set_scale(self, channel: Channel, scale: float) -> None:
        """Change the speed of a channel; 0 brings it to rest on its path. A channel that stands after a gap is
        resumed. One that waits to replace another ends, since it could not begin at the speed of that."""
        changes = channel.waits and scale != channel.scale
        if not (channel.stopping or (changes and self._called_off(channel, "its speed was changed"))):
            self._change_speed(channel, scale)

    def stop(self, channel: Channel) -> None:
        """Bring a channel to rest on its path and end it; one that was not started ends at once."""
        if channel.stopping or self._called_off(channel, "the motion was stopped"):
            return
        self._change_speed(channel, 0.0)
        with self._lock:
            channel.stopping = True

    def _called_off(self, channel: Channel, why: str) -> bool:
        """End a channel that was not started; returns whether it was not."""
        with self._lock:
            called_off = successors.call_off(self._channels, channel, why)
        if called_off:
            channel.on_end()
        return called_off

    def _change_speed(self, channel: Channel, scale: float) -> None:
        """Change the speed of a channel; one whose speed cannot be changed stops, with the error as its violation."""
        with self._lock:
            withdrawn = channel.withdraw_successor()
            channel.scale, sampler = scale, channel.sampler
        if withdrawn is not None:
            withdrawn.on_end()
        if sampler is None:
            return
        try:
            change_speed(channel, sampler, scale, self._lock, self.clock)
        except TrajectoryError as error:
            self._node.get_logger().error(f"{channel.owner} is stopped, since its speed cannot be changed: {error}")
            with self._lock:
                channel.violation = channel.violation or (None if channel.ended else error)

    def replace(self, old: Channel, new: Channel, time_scaling: TimeScaling) -> bool:
        """Replace a channel by another one at the start of that, which must contain its joints. Returns False if it is
        too late, or the speed of the old one has changed.

        time_scaling: the expected time scaling of the old one until then.

        Raises:
            MotionBusyError: another joint of the new one is already moving.
        """
        with self._lock:
            if old not in self._channels or old.ended or old.stopping or not old.has_kept_to(time_scaling):
                return False
            if old.successor is not None or new.ended or not self.clock.now() < new.begins:
                return False
            self._check_free(new, besides=old)
            old.successor = new, time_scaling
        return True

    def drop(self, channel: Channel) -> None:
        """Remove a channel at once; its joints are no longer commanded, and a successor that waits fails."""
        with self._lock:
            successors.call_off(self._channels, channel)
            withdrawn = channel.withdraw_successor()
            if channel in self._channels:
                self._channels.remove(channel)
        if withdrawn is not None:
            withdrawn.on_end()

    def forget(self, joints: Sequence[str]) -> None:
        """Forget the commands of joints that are moved or held by other means."""
        with self._lock:
            self._commanded.forget(joints)

    def statistics(self) -> StreamStatistics:
        """Return statistics of the last second."""
        now = time.monotonic()
        with self._lock:
            recent = [interval for at, interval in self._sent if now - at <= 1.0]
        return StreamStatistics(float(len(recent)), max(recent, default=0.0))

    def close(self) -> None:
        """End the thread."""
        with self._lock:
            self._running = False
            self._lock.notify()
        self._thread.join()

    # The thread.

    def _run(self) -> None:
        self._raise_priority()
        due, before = 0.0, math.nan
        while True:
            with self._lock:
                if not self._has_work():
                    self._lock.wait_for(lambda: not self._running or self._has_work())
                    due, before = time.monotonic(), math.nan
                if not self._running:
                    return
                self._times_forbidden, reason = self._forbidden(self._times_forbidden)
                ended, is_ready = self._advance(before) if reason is None else (self._halt(reason), False)
            if is_ready:
                before = time.monotonic()
                self._publish()
            successors.report_ends(ended, self._node.get_logger().error)
            due = self._rest_until(due + self._period)

    def _advance(self, before: float) -> tuple[list[Channel], bool]:
        """Compute the next command as `_next`. An error of any part fails all channels: the thread continues, and the
        robot stays at its last command."""
        try:
            return self._next(before)
        except Exception as error:
            text = f"the next command could not be computed, and all motions are ended: {error!r}"
            self._node.get_logger().error(text, throttle_duration_sec=REPORT_PERIOD)
            failed, self._channels = successors.fail(self._channels, error), []
            return failed, False

    def _next(self, before: float) -> tuple[list[Channel], bool]:
        """Compute the next command. before: time of the last one [s]. Returns the channels that have ended, and whether
        there is a command: none while the clock of trajectories stands."""
        now, stamp = self.clock.moment()
        if self.clock.may_stand and self._channels and all(channel.played_at == now for channel in self._channels):
            return [], False
        ended = successors.hand_over(self._channels, now, self._max_command_gap)
        self._fill(now, stamp)
        ended += self._just_ended(now) + successors.withdraw_after_violations(self._channels)
        self._count(time.monotonic(), before)
        return ended, True

    def _halt(self, reason: RobotCellError) -> list[Channel]:
        """Stop commanding at once, and forget all commands. Returns the channels that have ended."""
        halted = successors.fail(self._channels, reason)
        self._channels = []
        self._commanded.forget_all()
        return halted

    def _raise_priority(self) -> None:
        """Set the real-time priority, if requested and permitted."""
        if not self._priority:
            return
        try:
            set_realtime_priority(self._priority)
        except NotSupportedError as error:
            self._node.get_logger().info(f"commands are streamed with normal priority: {error}")

    def _has_work(self) -> bool:
        return bool(self._channels or (self.holds and self._sendable()))

    def _sendable(self) -> Mapping[str, float]:
        return self._commanded.sendable(joint for channel in self._channels for joint in channel.joints)

    def _rest_until(self, due: float) -> float:
        """Sleep until a time; times long past are skipped, so that no burst of commands follows a gap."""
        left = due - time.monotonic()
        if left > 0.0:
            time.sleep(left)
            return due
        return due if left > -2.0 * self._period else time.monotonic()

    def _just_ended(self, now: float) -> list[Channel]:
        ended = [channel for channel in self._channels if not channel.ended and channel.has_come_to_its_end(now)]
        for channel in ended:
            channel.ended_at = time.monotonic()
        return ended

    def _fill(self, now: float, stamp: int) -> None:
        """Fill the message with the present command. stamp [ns]."""
        velocities: dict[str, float] = {}
        for channel in self._channels:
            faultless = channel.violation is None
            channel.play(now, stamp, self._max_command_gap)
            if faultless and channel.violation is not None:
                self._node.get_logger().error(f"{channel.owner} is stopped: {channel.violation}")
            sample = channel.last
            self._commanded.update(dict(zip(channel.joints, sample.positions.tolist(), strict=True)))
            velocities.update(zip(channel.joints, sample.velocities.tolist(), strict=True))
            if self._command.has_efforts:
                efforts = channel.effort_at(sample.parameter).tolist()
                self._commanded.efforts.update(zip(channel.joints, efforts, strict=True))
        self._command.fill(self._sendable(), velocities, self._commanded.efforts, stamp)

    def _count(self, now: float, before: float) -> None:
        interval = now - before
        if math.isfinite(interval):
            self._sent.append((now, interval))
        for channel in self._channels:
            record = channel.sent
            if record.commands and math.isfinite(interval):
                record.longest_interval = max(record.longest_interval, interval)
                record.late += interval > self._late
                if interval > LONGEST_PAUSE:
                    record.paused_at = now
            if not record.commands:
                record.first = now
            record.last = now
            record.commands += 1

    def _publish(self) -> None:
        try:
            self._output.publish(self._command.values)
        except Exception as error:
            with self._lock:  # an exception of the middleware ends these channels; the thread continues
                failed = successors.fail(self._channels, error)
                self._channels = []
            successors.report_ends(failed, self._node.get_logger().error)
