"""Supervision of the clocks of motions: simulated time that was set, that nobody publishes any longer, or that several
nodes publish with different times."""

from __future__ import annotations

import time

from rclpy.clock import ROSClock
from rclpy.node import Node

from ...errors import StoppedError, Value
from ..common.clock_monitor import CLOCK, ClockMonitor
from ..motion.motion_clock import MotionClock

CONFLICT_PERIOD = 1.0  # [s] between reports of several publishers


class ClockSupervision:
    """Reports faults of simulated time, once each, but several publishers again and again. lost_after: time without
    /clock and its publishers after which it is lost [s]."""

    def __init__(self, node: Node, clock: MotionClock, lost_after: float) -> None:
        self._node = node
        self._motion_clock = clock
        self._lost_after = lost_after
        self._monitor = ClockMonitor()
        self._lost_since: float | None = None
        self._next_conflict = 0.0  # [s] when one is reported again

    def fault(self) -> StoppedError | None:
        """Return an error that stops motions if simulated time has jumped or was lost since the last call."""
        clock = self._node.get_clock()
        if not (isinstance(clock, ROSClock) and clock.ros_time_is_active):
            return None
        now = time.monotonic()
        return self._monitor.check(clock.now().nanoseconds, now) or self._lost(now) or self._conflict(now)

    def _conflict(self, now: float) -> StoppedError | None:
        fault = self._motion_clock.fault() if now >= self._next_conflict else None
        if fault is not None:
            self._next_conflict = now + CONFLICT_PERIOD
        return fault

    def _lost(self, now: float) -> StoppedError | None:
        clock = self._motion_clock
        if not clock.stands or clock.runs:
            self._lost_since = None
            return None
        before, self._lost_since = self._lost_since, now if self._lost_since is None else self._lost_since
        if before is None or not before < now - self._lost_after:
            return None
        self._lost_since = float("inf")  # it is reported
        text = "simulated time stands: /clock has no publisher any longer"
        return StoppedError(text, stage=CLOCK, values=(Value("silence", now - before, self._lost_after, "s"),))
