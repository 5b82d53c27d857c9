"""Pauses until a time on a clock that may be faster than the steady clock, or stand."""

from __future__ import annotations

import math

SHORTEST = 1e-3  # [s] of a pause; it doubles while the clock stands
STANDING = 0.02  # [s] of a pause while the clock stands, at most


class ClockPauses:
    """Durations of the pauses of one wait, on the steady clock. The wait ends late by `SHORTEST`, or by as much as the
    clock has stood, but at most by `STANDING`. longest: Longest pause [s]."""

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._before, self._shortest = math.inf, SHORTEST

    def next(self, left: float, rate: float) -> float:
        """Return the next pause [s] of the steady clock.

        Args:
            left: Time until the end of the wait on the clock [s], above 0.
            rate: Seconds of the clock per second of the steady clock.
        """
        self._shortest = min(2.0 * self._shortest, STANDING) if left == self._before else SHORTEST
        self._before = left
        return min(max(left / max(rate, 1.0), self._shortest), self._longest)
