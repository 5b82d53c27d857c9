"""The stream of joint commands: one thread that samples what is being played back, and publishes it on time.

It shares its process with no planning, checking or physics: what holds the interpreter for long would tear gaps into
the stream. Gaps are counted and told.
"""

from __future__ import annotations

import math
import threading
import time
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from ..errors import ExecutionError, MotionBusyError
from ..trajectory.playback import Playback, PlaybackOptions, PlaybackSample
from ..trajectory.trajectory import Trajectory
from .motion import Sent

FIELDS = ("position", "velocity", "effort")
Clock = Callable[[], float]
CLOCK_SKEW = 2_000_000_000  # [ns]; measurements with stamps further off are of another clock
SENT_KEPT = 2048  # commands that are remembered, to hold late measurements against


@dataclass(eq=False)
class Channel:
    """Joints that move together, and what they play back, from the moment of the first command on.

    efforts: to command along, at the times of the trajectory (n, dof) or the same all along (dof,) [Nm or N]; the last
    ones are kept afterwards. on_end: called by the stream's thread, once, when the end of the trajectory, or rest after
    `CommandStream.stop`, has been commanded; the last command is repeated until the channel is dropped. ended_at: when
    that was, on the steady clock [s].
    """

    joints: tuple[str, ...]
    owner: str
    trajectory: Trajectory
    scale: float
    options: PlaybackOptions
    on_end: Callable[[], None]
    efforts: NDArray[np.float64] | None = None
    sent: Sent = field(default_factory=Sent)
    last: PlaybackSample = field(init=False)
    stopping: bool = False
    ended_at: float = math.inf
    failure: Exception | None = None
    playback: Playback | None = None
    played_at: float = math.nan
    history: deque[tuple[int, PlaybackSample]] = field(default_factory=lambda: deque(maxlen=SENT_KEPT))

    def __post_init__(self) -> None:
        self.last = Playback(self.trajectory, 0.0, 0.0, self.options).sample(0.0)

    @property
    def ended(self) -> bool:
        return math.isfinite(self.ended_at)

    def play(self, now: float, stamp: int, longest_gap: float) -> None:
        """Go on to what is to be commanded now, stamp [ns] in the time of messages.

        After a longer gap the robot stands; it goes on from there, from rest.
        """
        if self.playback is None:
            self.playback = Playback(self.trajectory, now, self.scale, self.options)
        elif now - self.played_at > longest_gap:
            self.playback.go_on_from(self.last.place, now)
        self.last, self.played_at = self.playback.sample(now), now
        self.history.append((stamp, self.last))

    def at(self, stamp: int) -> PlaybackSample:
        """What the robot was told for a time of messages [ns], between two commands on the line from one to the other;
        what is commanded now, if its clock is far off."""
        if not self.history or abs(self.history[-1][0] - stamp) > CLOCK_SKEW:
            return self.last
        index = bisect_right(self.history, stamp, key=itemgetter(0))
        if index in (0, len(self.history)):
            return self.history[max(index - 1, 0)][1]
        (begin, before), (end, after) = self.history[index - 1], self.history[index]
        return _between(before, after, (stamp - begin) / (end - begin))

    def set_scale(self, scale: float, now: float) -> None:
        self.scale = scale
        if self.playback is not None:
            self.playback.set_scale(scale, now)

    def has_come_to_its_end(self, now: float) -> bool:
        """Whether its end, or rest after a stop, is what was last played."""
        playback = self.playback
        return playback is not None and (playback.at_end(now) or (self.stopping and playback.at_rest(now)))

    def effort_at(self, place: float) -> NDArray[np.float64]:
        """Efforts to command at a place of the trajectory (dof,)."""
        if self.efforts is None:
            return np.zeros(len(self.joints))
        if self.efforts.ndim == 1:
            return self.efforts
        times = self.trajectory.times
        return np.array([np.interp(place, times - times[0], column) for column in self.efforts.T])


def _between(before: PlaybackSample, after: PlaybackSample, share: float) -> PlaybackSample:
    return PlaybackSample(
        before.place + share * (after.place - before.place),
        before.positions + share * (after.positions - before.positions),
        before.velocities + share * (after.velocities - before.velocities),
        before.accelerations + share * (after.accelerations - before.accelerations),
    )


@dataclass(frozen=True)
class StreamStatistics:
    """Of the last second: commands sent, and the longest time between two of them [s]."""

    rate: float
    longest_interval: float


class CommandStream:
    """Publishes finite commands of all joints at a steady rate while anything moves, and nothing otherwise.

    rate [Hz]. clock: the time that trajectories run on [s]. fields: which of position, velocity and effort the robot is
    commanded by. joints: those in every message; without any, those that were ever commanded. late_after: an interval
    longer than this many periods counts as late. longest_gap: after a longer one the robot is taken to have stopped
    [s], and goes on from rest. hold: keep publishing the last command between motions.
    """

    def __init__(
        self,
        node: Node,
        publisher: Publisher,
        *,
        rate: float,
        clock: Clock,
        fields: Sequence[str] = ("position",),
        joints: Sequence[str] = (),
        late_after: float = 2.0,
        longest_gap: float = 0.1,
        hold: bool = False,
    ) -> None:
        self._node = node
        self._publisher = publisher
        self._period = 1.0 / rate
        self._clock = clock
        self._fields = frozenset(fields)
        self._joints = tuple(joints)
        self._late = late_after * self._period
        self._longest_gap = longest_gap
        self._hold = hold
        self._lock = threading.Condition()
        self._channels: list[Channel] = []
        self._commanded: dict[str, float] = dict.fromkeys(joints, math.nan)
        self._efforts: dict[str, float] = {}
        self._sent: deque[tuple[float, float]] = deque(maxlen=2 * math.ceil(rate))
        self._message = JointState()
        self._running = True
        self._thread = threading.Thread(target=self._run, name="command stream", daemon=True)
        self._thread.start()

    def now(self) -> float:
        """The time that trajectories run on [s]."""
        return self._clock()

    @property
    def commanded(self) -> dict[str, float]:
        """Last commanded position of every joint that was commanded since it was last forgotten [rad or m]."""
        with self._lock:
            return {name: value for name, value in self._commanded.items() if math.isfinite(value)}

    @property
    def wants_positions(self) -> bool:
        """Whether it is to hold the robot, but does not know where."""
        if not self._hold:
            return False
        with self._lock:
            return not self._commanded or not all(map(math.isfinite, self._commanded.values()))

    @property
    def topic(self) -> str:
        return self._publisher.topic_name

    @property
    def is_heard(self) -> bool:
        """Whether anybody listens to the commands."""
        return self._publisher.get_subscription_count() > 0

    def check_alone(self) -> None:
        """Raise ExecutionError if somebody else gives commands, too."""
        others = self._node.count_publishers(self.topic) - 1
        if others > 0:
            text = f"{self.topic} has {others} publishers besides this node; the robot would obey them, too"
            raise ExecutionError(text, subjects=(self.topic,))

    def start(self, channel: Channel, others: Mapping[str, float]) -> None:
        """Begin to play a channel back.

        others: where other joints are to be held, in place of what was commanded before. Those that move, and those
        that no message has, are left as they are.

        Raises:
            MotionBusyError: one of its joints is moving already.
            ExecutionError: a joint that every message must have is in neither.
        """
        with self._lock:
            self._check_free(channel)
            moving = {name for other in self._channels for name in other.joints}
            known = set(self._commanded) - moving
            held = {name: value for name, value in others.items() if name in known}
            commanded = {**self._commanded, **held}
            commanded.update(zip(channel.joints, channel.last.positions.tolist(), strict=True))
            unknown = tuple(name for name, value in commanded.items() if not math.isfinite(value))
            if unknown:
                text = f"no command can be made without the positions of {', '.join(unknown)}"
                raise ExecutionError(text, subjects=unknown)
            self._commanded = commanded
            self._channels.append(channel)
            self._lock.notify()

    def _check_free(self, channel: Channel) -> None:
        for other in self._channels:
            shared = sorted(set(other.joints) & set(channel.joints))
            if shared:
                raise MotionBusyError(f"{other.owner} is moving {', '.join(shared)}", subjects=(other.owner, *shared))

    def hold_at(self, positions: Mapping[str, float]) -> None:
        """Positions to command between motions, where none were commanded yet."""
        with self._lock:
            for name in self._joints or tuple(positions):
                if not math.isfinite(self._commanded.get(name, math.nan)) and name in positions:
                    self._commanded[name] = positions[name]
            self._lock.notify()

    def commanded_at(self, channel: Channel, stamp: int) -> PlaybackSample:
        """What had last been commanded of a channel at a time of messages [ns]."""
        with self._lock:
            return channel.at(stamp)

    def set_scale(self, channel: Channel, scale: float) -> None:
        """Change the speed of a channel; 0 brings it to rest on its path, and keeps it."""
        with self._lock:
            if not channel.stopping:
                channel.set_scale(scale, self._clock())

    def stop(self, channel: Channel) -> None:
        """Bring a channel to rest on its path, and end it there."""
        with self._lock:
            if not channel.stopping:
                channel.stopping = True
                channel.set_scale(0.0, self._clock())

    def drop(self, channel: Channel) -> None:
        """Command a channel's joints no more; at once, wherever they are."""
        with self._lock:
            if channel in self._channels:
                self._channels.remove(channel)

    def forget(self, joints: Sequence[str]) -> None:
        """What was commanded of joints means nothing any more: the robot is moved, or held, by other means."""
        with self._lock:
            for name in joints:
                self._efforts.pop(name, None)
                if name in self._joints:
                    self._commanded[name] = math.nan
                else:
                    self._commanded.pop(name, None)

    def statistics(self) -> StreamStatistics:
        """How the stream has run over the last second."""
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
        due, before = 0.0, math.nan
        while True:
            with self._lock:
                if not self._has_work():
                    self._lock.wait_for(lambda: not self._running or self._has_work())
                    due, before = time.monotonic(), math.nan
                if not self._running:
                    return
                now = self._clock()
                self._fill(now)
                ended = self._just_ended(now)
                self._count(time.monotonic(), before)
            before = time.monotonic()
            self._publish()
            for channel in ended:
                channel.on_end()
            due = self._rest_until(due + self._period)

    def _has_work(self) -> bool:
        finite = all(map(math.isfinite, self._commanded.values()))
        return bool(self._channels or (self._hold and self._commanded and finite))

    def _rest_until(self, due: float) -> float:
        """Sleep until a time; one that has long passed is given up, so that no burst of commands follows a gap."""
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

    def _fill(self, now: float) -> None:
        """Put the command for this moment into the message."""
        velocities: dict[str, float] = {}
        stamp = self._node.get_clock().now()
        for channel in self._channels:
            channel.play(now, stamp.nanoseconds, self._longest_gap)
            sample = channel.last
            self._commanded.update(zip(channel.joints, sample.positions.tolist(), strict=True))
            velocities.update(zip(channel.joints, sample.velocities.tolist(), strict=True))
            if "effort" in self._fields:
                self._efforts.update(zip(channel.joints, channel.effort_at(sample.place).tolist(), strict=True))
        names = list(self._commanded)
        message = self._message
        if len(names) != len(message.name) or names != message.name:
            message.name = names
        if "position" in self._fields:
            message.position = array("d", self._commanded.values())
        if "velocity" in self._fields:
            message.velocity = array("d", [velocities.get(name, 0.0) for name in names])
        if "effort" in self._fields:
            message.effort = array("d", [self._efforts.get(name, 0.0) for name in names])
        message.header.stamp = stamp.to_msg()

    def _count(self, now: float, before: float) -> None:
        interval = now - before
        if math.isfinite(interval):
            self._sent.append((now, interval))
        for channel in self._channels:
            record = channel.sent
            if record.commands and math.isfinite(interval):
                record.longest_interval = max(record.longest_interval, interval)
                record.late += interval > self._late
            if not record.commands:
                record.first = now
            record.last = now
            record.commands += 1

    def _publish(self) -> None:
        try:
            self._publisher.publish(self._message)
        except Exception as error:
            # Whatever the middleware raises, whoever waits for these channels must be told; the thread goes on.
            with self._lock:
                failed, self._channels = self._channels, []
                for channel in failed:
                    channel.failure, channel.ended_at = error, time.monotonic()
            for channel in failed:
                channel.on_end()
