"""Readings of a clock that several nodes publish with different times."""

from __future__ import annotations

import math
from collections import deque

MIN_BACK = 0.1  # [s] by which a reading is before the last one; less is a relay of the same clock, or its delay
TIMES = 5  # so often, within the duration below, a clock that one node publishes and sets does not go back
WITHIN = 1.0  # [s]


class ClockConflicts:
    """Notes how often a clock goes back. All times of the steady clock in calls must not decrease."""

    def __init__(self) -> None:
        self._last = -math.inf
        self._backs: deque[tuple[float, float]] = deque(maxlen=TIMES)  # steady clock, and by how much [s]

    def note(self, stamp: int, now: float) -> None:
        """Take a reading of the clock [ns] at a time of the steady clock [s]."""
        reading = 1e-9 * stamp
        if reading < self._last - MIN_BACK:
            self._backs.append((now, self._last - reading))
        self._last = reading

    def largest(self, now: float) -> float:
        """Return by how much the clock goes back at most [s], if it does so again and again; otherwise 0."""
        if len(self._backs) < TIMES or now - self._backs[0][0] > WITHIN:
            return 0.0
        return max(size for _, size in self._backs)
