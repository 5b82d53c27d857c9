"""What is done at some of the calls of a timer, at a rate of its own."""

from __future__ import annotations

import math


class Periodic:
    """Tells at which calls of a timer something is due.

    Its mean rate is kept, although the calls come at other times than it is due, and a little early or late. A wait for
    a whole period since the last time would add up to one period of the timer to each of its own.

    Attributes:
        period: Mean time between two [s].
    """

    def __init__(self, period: float) -> None:
        self.period = period
        self._due = -math.inf

    def is_due(self, now: float) -> bool:
        """Return whether it is due now, and take it as done. After a pause it is due once. now: steady clock [s]."""
        if now < self._due:
            return False
        is_in_time = now - self._due < self.period
        self._due = (self._due if is_in_time else now) + self.period
        return True
