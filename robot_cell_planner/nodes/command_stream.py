"""The stream of joint commands: one thread that samples what is being played back and publishes it, on time.

It shares its process with no planning, checking or physics: whatever holds the interpreter for long would tear gaps
into the stream. Gaps are counted and told.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from ..errors import ExecutionError, MotionBusyError, RobotCellError
from ..trajectory.playback import Playback, PlaybackSample

FIELDS = ("position", "velocity", "effort")


@dataclass
class StreamRecord:
    """What was sent: commands, the longest time between two of them [s], and how many came later than allowed."""

    commands: int = 0
    longest_interval: float = 0.0
    late: int = 0


class Channel:
    """Joints that move together, and what they are doing. Only the stream's thread samples it."""

    def __init__(self, joints: tuple[str, ...], owner: str, playback: Playback, on_end: Callable[[], None]) -> None:
        self.joints = joints
        self.owner = owner
        self.playback = playback
        self.on_end = on_end
        self.record = StreamRecord()
        self.last: PlaybackSample = playback.sample(time.monotonic())


class CommandStream:
    """Publishes full-length, finite joint commands at a steady rate while anything moves.

    rate [Hz]; late_factor: an interval longer than this many periods counts as late. fields: which of position,
    velocity and effort the hardware interface is commanded by.
    """

    def __init__(
        self, node: Node, publisher: Publisher, rate: float, fields: Sequence[str] = ("position",), late_factor: float = 2.0
    ) -> None:
        self._node = node
        self._publisher = publisher
        self._period = 1.0 / rate
        self._fields = frozenset(fields)
        self._late = late_factor * self._period
        self._lock = threading.Condition()
        self._channels: list[Channel] = []
        self._commanded: dict[str, float] = {}
        self._running = True
        self.recent: list[float] = []
        self._thread = threading.Thread(target=self._run, name="command stream", daemon=True)
        self._thread.start()

    @property
    def commanded(self) -> dict[str, float]:
        """Last commanded position of every joint that was ever commanded [rad or m]."""
        with self._lock:
            return dict(self._commanded)

    def forget(self) -> None:
        """Commanded positions mean nothing any more: the robot was moved by other means."""
        with self._lock:
            self._commanded.clear()

    def hold(self, positions: dict[str, float]) -> None:
        """Positions to command for joints that have not been commanded yet."""
        with self._lock:
            self._commanded = {**positions, **self._commanded}

    def start(self, channel: Channel) -> None:
        """Begin to play a channel back.

        Raises:
            MotionBusyError: one of its joints is moving already.
        """
        with self._lock:
            for other in self._channels:
                shared = sorted(set(other.joints) & set(channel.joints))
                if shared:
                    raise MotionBusyError(
                        f"{other.owner} is moving {', '.join(shared[:4])}", subjects=(other.owner, *shared)
                    )
            self._channels.append(channel)
            self._lock.notify()

    def owner_of(self, joints: Sequence[str]) -> str:
        """Who is moving any of the joints, or ""."""
        with self._lock:
            return next((c.owner for c in self._channels if set(c.joints) & set(joints)), "")

    def set_scale(self, channel: Channel, scale: float) -> None:
        """Change the speed of a channel; 0 stops it on its path."""
        with self._lock:
            channel.playback.set_scale(scale, time.monotonic())

    def drop(self, channel: Channel) -> None:
        """Stop commanding a channel at once, where it is."""
        with self._lock:
            if channel in self._channels:
                self._channels.remove(channel)

    def close(self) -> None:
        """End the thread."""
        with self._lock:
            self._running = False
            self._lock.notify()
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        while True:
            with self._lock:
                while self._running and not self._channels:
                    self._lock.wait()
                    due = time.monotonic()
                if not self._running:
                    return
                now = time.monotonic()
                message, ended = self._command(now)
            if message is not None:
                self._publisher.publish(message)
            for channel in ended:
                channel.on_end()
            due += self._period
            left = due - time.monotonic()
            if left > 0.0:
                time.sleep(left)
            elif left < -10 * self._period:
                due = time.monotonic()

    def _command(self, now: float) -> tuple[JointState | None, list[Channel]]:
        """The command for this moment, and the channels that reached their end or came to rest."""
        velocities: dict[str, float] = {}
        efforts: dict[str, float] = {}
        ended: list[Channel] = []
        for channel in self._channels:
            sample = channel.playback.sample(now)
            if not np.isfinite(sample.positions).all():
                raise ExecutionError("a sample to command is not finite", subjects=channel.joints)
            channel.last = sample
            self._commanded.update(zip(channel.joints, sample.positions.tolist(), strict=True))
            velocities.update(zip(channel.joints, sample.velocities.tolist(), strict=True))
            efforts.update(dict.fromkeys(channel.joints, 0.0))
            self._count(channel, now)
            if channel.playback.at_end(now) or channel.playback.at_rest(now):
                ended.append(channel)
        self._channels = [channel for channel in self._channels if channel not in ended]
        return self._message(velocities), ended

    def _count(self, channel: Channel, now: float) -> None:
        record = channel.record
        last = getattr(channel, "sent", 0.0)
        if record.commands and last:
            interval = now - last
            record.longest_interval = max(record.longest_interval, interval)
            record.late += interval > self._late
            self.recent.append(interval)
            del self.recent[:-1000]
        channel.sent = now  # type: ignore[attr-defined]
        record.commands += 1

    def _message(self, velocities: dict[str, float]) -> JointState:
        names = list(self._commanded)
        message = JointState(name=names)
        message.header.stamp = self._node.get_clock().now().to_msg()
        if "position" in self._fields:
            message.position = list(self._commanded.values())
        if "velocity" in self._fields:
            message.velocity = [velocities.get(name, 0.0) for name in names]
        return message


def reason_of(error: RobotCellError) -> str:
    """One line for a result that has only a string for the reason."""
    return str(error)
