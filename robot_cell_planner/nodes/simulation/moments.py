"""Conversion between stamps of messages and times of a simulation."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod

from builtin_interfaces.msg import Time
from rclpy.clock import Clock

from ...errors import InvalidRequestError
from ...simulation.commands import STAGE
from ..conversions.basic import NANOSECONDS, time_to_message

MAX_SKEW = 1.0  # [s] maximum between the stamp of a command and its arrival
# [ns] that may pass between reading the clock of a node and the steady clock; so often it is tried to do better.
READING, READINGS = 100_000, 20


class Moments(ABC):
    """Conversion between stamps of messages and times of the simulation."""

    @abstractmethod
    def nanoseconds(self, moment: float) -> int:
        """Return the stamp [ns] for a time [s]."""

    @abstractmethod
    def moment(self, stamp: int) -> float | None:
        """Return the time [s] at which to carry out a command with a stamp [ns].

        None, for the time of its arrival, if there is no stamp, or one of more than 1 s ago.

        Raises:
            InvalidRequestError: The stamp is more than 1 s ahead.
        """

    def stamp(self, moment: float) -> Time:
        """Return the stamp for a time [s]."""
        return time_to_message(self.nanoseconds(moment))


class SteadyMoments(Moments):
    """Times on the steady clock, with stamps of the clock of a node."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def _offset(self) -> int:
        """Return the node's clock minus the steady clock [ns], read as simultaneously as possible: another process may
        run in between."""
        shortest, best = math.inf, 0
        for _ in range(READINGS):
            before = time.monotonic_ns()
            now = self._clock.now().nanoseconds
            after = time.monotonic_ns()
            if after - before < shortest:
                shortest, best = after - before, int(now) - (before + after) // 2
            if shortest < READING:
                break
        return best

    def nanoseconds(self, moment: float) -> int:
        return max(round(moment * NANOSECONDS) + self._offset(), 0)

    def moment(self, stamp: int) -> float | None:
        moment = (stamp - self._offset()) / NANOSECONDS
        return _checked(moment, time.monotonic()) if stamp else None


class SimulatedMoments(Moments):
    """Times of the simulation, equal to the stamps."""

    def __init__(self) -> None:
        self._latest = 0.0

    def nanoseconds(self, moment: float) -> int:
        self._latest = max(self._latest, moment)  # images come later than samples
        return round(moment * NANOSECONDS)

    def moment(self, stamp: int) -> float | None:
        moment = stamp / NANOSECONDS
        return _checked(moment, self._latest) if stamp else None


def _checked(moment: float, now: float) -> float | None:
    """Return the time of a stamp [s], or None if it is long ago; raise if it is far ahead."""
    if moment - now > MAX_SKEW:
        text = (
            f"its stamp is {moment - now:.3f} s ahead of the clock of the simulation, expected at most {MAX_SKEW:g} s; "
            "check that both use the same clock (use_sim_time)"
        )
        raise InvalidRequestError(text, stage=STAGE, subjects=("stamp",))
    return moment if now - moment <= MAX_SKEW else None
