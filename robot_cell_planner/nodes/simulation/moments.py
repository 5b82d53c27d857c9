"""Conversion between stamps of messages and times of a simulation."""

from __future__ import annotations

import time
from typing import Protocol

from builtin_interfaces.msg import Time
from rclpy.clock import Clock

from ..conversions.basic import NANOSECONDS, time_from_message, time_to_message

MAX_SKEW = 1.0  # [s] maximum between the stamp of a command and its arrival; beyond, the stamp is of another clock


class Moments(Protocol):
    """Conversion between stamps of messages and times of the simulation."""

    def stamp(self, moment: float) -> Time:
        """Return the stamp for a time [s]."""

    def moment(self, stamp: Time) -> float | None:
        """Return the time of a stamp [s]; None for no stamp, or one of another clock."""


class SteadyMoments:
    """Times on the steady clock, with stamps of the clock of a node."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def _offset(self) -> int:
        """Return the node's clock minus the steady clock [ns]."""
        while True:
            before = time.monotonic_ns()
            now = self._clock.now().nanoseconds
            after = time.monotonic_ns()
            # Longer if another process ran in between.
            if after - before < 100_000:
                return int(now) - (before + after) // 2

    def stamp(self, moment: float) -> Time:
        return time_to_message(max(round(moment * NANOSECONDS) + self._offset(), 0))

    def moment(self, stamp: Time) -> float | None:
        nanoseconds = time_from_message(stamp)
        moment = (nanoseconds - self._offset()) / NANOSECONDS
        return moment if nanoseconds and abs(time.monotonic() - moment) <= MAX_SKEW else None


class SimulatedMoments:
    """Times of the simulation, equal to the stamps."""

    def __init__(self) -> None:
        self._latest = 0.0

    def stamp(self, moment: float) -> Time:
        self._latest = max(self._latest, moment)  # images come later than samples
        return time_to_message(round(moment * NANOSECONDS))

    def moment(self, stamp: Time) -> float | None:
        nanoseconds = time_from_message(stamp)
        moment = nanoseconds / NANOSECONDS
        return moment if nanoseconds and abs(self._latest - moment) <= MAX_SKEW else None
