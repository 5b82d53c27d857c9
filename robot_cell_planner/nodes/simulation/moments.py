"""Conversion between stamps of messages and times of a simulation."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

from builtin_interfaces.msg import Time
from rclpy.clock import Clock

from ..conversions.basic import NANOSECONDS, time_to_message

MAX_SKEW = 1.0  # [s] maximum between the stamp of a command and its arrival; beyond, the stamp is of another clock


class Moments(ABC):
    """Conversion between stamps of messages and times of the simulation."""

    @abstractmethod
    def nanoseconds(self, moment: float) -> int:
        """Return the stamp [ns] for a time [s]."""

    @abstractmethod
    def moment(self, stamp: int) -> float | None:
        """Return the time [s] of a stamp [ns]; None for no stamp, or one of another clock."""

    def stamp(self, moment: float) -> Time:
        """Return the stamp for a time [s]."""
        return time_to_message(self.nanoseconds(moment))


class SteadyMoments(Moments):
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

    def nanoseconds(self, moment: float) -> int:
        return max(round(moment * NANOSECONDS) + self._offset(), 0)

    def moment(self, stamp: int) -> float | None:
        moment = (stamp - self._offset()) / NANOSECONDS
        return moment if stamp and abs(time.monotonic() - moment) <= MAX_SKEW else None


class SimulatedMoments(Moments):
    """Times of the simulation, equal to the stamps."""

    def __init__(self) -> None:
        self._latest = 0.0

    def nanoseconds(self, moment: float) -> int:
        self._latest = max(self._latest, moment)  # images come later than samples
        return round(moment * NANOSECONDS)

    def moment(self, stamp: int) -> float | None:
        moment = stamp / NANOSECONDS
        return moment if stamp and abs(self._latest - moment) <= MAX_SKEW else None
