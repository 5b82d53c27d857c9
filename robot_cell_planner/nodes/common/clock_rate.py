"""Rate of a clock that may run faster than the steady clock, as that of a simulation does."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

MAX_RATE = 100.0  # of a simulated clock, see `real_time_factor` of the simulated robot
# Intervals whose median is the rate, so that neither a jump nor a pause changes it: a clock that becomes faster is
# followed soon, one that becomes slower later, since it may only be late.
FEW, MANY = 5, 25
MIN_INTERVAL = 0.01  # [s] of each: messages that have waited are read at once


class ClockRate:
    """Estimates the seconds of a clock per second of the steady clock, from 1 to MAX_RATE.

    A clock that is slower counts as one with rate 1 that is late: it may catch up.

    Attributes:
        value: The rate; 1 before an interval has passed.
    """

    def __init__(self) -> None:
        self.value = 1.0
        self._begin: tuple[int, float] | None = None  # of the present interval
        self._rates: deque[float] = deque(maxlen=MANY)

    def note(self, stamp: int, now: float) -> None:
        """Take a time of the clock [ns], read at a time of the steady clock [s]."""
        if self._begin is None:
            self._begin = stamp, now
            return
        elapsed = now - self._begin[1]
        if elapsed < MIN_INTERVAL:
            return
        self._rates.append(1e-9 * (stamp - self._begin[0]) / elapsed)
        self._begin = stamp, now
        rates = list(self._rates)
        self.value = min(max(_lower_median(rates), _lower_median(rates[-FEW:]), 1.0), MAX_RATE)


def _lower_median(values: Sequence[float]) -> float:
    return sorted(values)[(len(values) - 1) // 2]
