"""Clocks that motions run on: the steady clock, or simulated time."""

from __future__ import annotations

import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from rclpy.clock import ROSClock
from rclpy.node import Node
from rclpy.time import Time
from rosgraph_msgs.msg import Clock as ClockMessage

from ...errors import StoppedError, Value
from ..common.clock_monitor import CLOCK
from ..common.node import sensor
from ..common.polled_subscription import PolledSubscription
from ..conversions.basic import time_from_message
from .clock_conflicts import MIN_BACK, ClockConflicts
from .clock_follower import ClockFollower

CLOCK_TOPIC = "/clock"
ONE_PUBLISHER = "Stop all publishers of /clock but one, such as a record that is played, or a second simulation."
# [s] that may pass between reading the time of trajectories and that of messages; so often it is tried to do better.
READING, READINGS = 2e-5, 5


class MotionClock(ABC):
    """The time that trajectories run on, which never decreases. All methods may be called by any thread."""

    @abstractmethod
    def now(self) -> float:
        """Return the present time [s]."""

    @abstractmethod
    def moment(self) -> tuple[float, int]:
        """Return the present time [s], and its stamp for messages [ns]."""

    def after(self, seconds: float) -> float:
        """Return the time [s] that is expected when a duration of the steady clock has passed [s]."""
        return self.now() + self.rate * seconds

    @property
    def rate(self) -> float:
        """Its seconds per second of the steady clock."""
        return 1.0

    @property
    def may_stand(self) -> bool:
        """Whether it is a clock that may stand, so that two commands are for the same time."""
        return False

    @property
    def runs(self) -> bool:
        """Whether motions may begin: there is a clock."""
        return True

    @property
    def stands(self) -> bool:
        """Whether it has stood for some time."""
        return False

    def take_stood(self) -> float:
        """Return for how much of the time since the last call it has stood, or was slower than the steady clock [s]; 0
        for a clock that was lost."""
        return 0.0

    def fault(self) -> StoppedError | None:
        """Return why no motion may run on it at present, None if motions may."""
        return None

    def check(self) -> None:
        """Raise the error of `fault`, if any."""
        if (fault := self.fault()) is not None:
            raise fault


class SteadyClock(MotionClock):
    """The steady clock. node: its clock gives the stamps of messages."""

    def __init__(self, node: Node, read: Callable[[], float] = time.monotonic) -> None:
        self._node = node
        self._read = read

    def now(self) -> float:
        return self._read()

    def moment(self) -> tuple[float, int]:
        """As of the base class, both read as simultaneously as possible: another thread may run between the two
        reads."""
        shortest, best = math.inf, (math.nan, Time())
        for _ in range(READINGS):
            before = self._read()
            stamp = self._node.get_clock().now()
            after = self._read()
            if after - before < shortest:
                shortest, best = after - before, (0.5 * (before + after), stamp)
            if shortest <= READING:
                break
        return best[0], best[1].nanoseconds


class SimulatedClock(MotionClock):
    """Simulated time as of `ClockFollower`, of which stamps are, too. Each caller reads `/clock` itself, so that a busy
    node does not delay it. max_command_gap: time between commands after which the robot is assumed to rest [s]."""

    def __init__(self, node: Node, max_command_gap: float, read: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._messages: PolledSubscription[ClockMessage] = PolledSubscription(
            node, ClockMessage, CLOCK_TOPIC, sensor(1)
        )
        self._follower, self._conflicts = ClockFollower(max_command_gap), ClockConflicts()
        self._stood = 0.0
        self._lock = threading.Lock()

    def _present(self) -> ClockFollower:
        """Return the follower at the present time; call it with the lock."""
        now, follower = self._read(), self._follower
        for message in self._messages.take():
            if (stamp := time_from_message(message.clock)) >= 0:
                follower.note(stamp, now)
                self._conflicts.note(stamp, now)
        follower.advance(now)
        return follower

    def now(self) -> float:
        with self._lock:
            return self._present().time

    def moment(self) -> tuple[float, int]:
        with self._lock:
            follower = self._present()
            return follower.time, follower.stamp

    @property
    def rate(self) -> float:
        with self._lock:
            return self._present().rate

    @property
    def may_stand(self) -> bool:
        return True

    @property
    def runs(self) -> bool:
        self.now()
        return self._follower.started and self._messages.publishers > 0

    @property
    def stands(self) -> bool:
        with self._lock:
            return self._present().stands(self._read())

    def take_stood(self) -> float:
        with self._lock:
            before, self._stood = self._stood, self._present().stood(self._read())
            passed = self._stood - before
        return passed if self._messages.publishers else 0.0

    def fault(self) -> StoppedError | None:
        with self._lock:
            self._present()
            back = self._conflicts.largest(self._read())
        if not back or (publishers := self._messages.publishers) < 2:
            return None
        text = f"{CLOCK_TOPIC} has {publishers} publishers with different times: it goes back again and again"
        return StoppedError(
            text, stage=CLOCK, values=(Value("goes back by", back, MIN_BACK, "s"),), remedy=ONE_PUBLISHER
        )


def motion_clock(node: Node, max_command_gap: float) -> MotionClock:
    """Return the clock that the motions of a node run on: simulated time if it uses that now, or else the steady
    clock."""
    clock = node.get_clock()
    if isinstance(clock, ROSClock) and clock.ros_time_is_active:
        return SimulatedClock(node, max_command_gap)
    return SteadyClock(node)
