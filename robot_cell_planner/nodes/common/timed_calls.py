"""Functions to be called at a time, for an executor that waits for them without timers of rcl."""

from __future__ import annotations

import heapq
import itertools
import math
import threading
from collections.abc import Callable

MIN_CANCELLED = 100  # cancelled calls that are kept in any case


class TimedCall:
    """A function to be called once, at a time of the monotonic clock [s]."""

    def __init__(self, when: float, function: Callable[[], object]) -> None:
        self.when = when
        self.function: Callable[[], object] | None = function

    def cancel(self) -> None:
        """Do not call the function."""
        self.function = None


class TimedCalls:
    """Calls in the order of their times, equal ones in the order in which they were added; used by several threads."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, TimedCall]] = []
        self._number = itertools.count()
        self._lock = threading.Lock()
        self._clean_from = MIN_CANCELLED

    def add(self, call: TimedCall) -> None:
        """Add a call."""
        with self._lock:
            if len(self._heap) >= self._clean_from:
                self._heap = [entry for entry in self._heap if entry[2].function is not None]
                heapq.heapify(self._heap)
                self._clean_from = 2 * len(self._heap) + MIN_CANCELLED
            heapq.heappush(self._heap, (call.when, next(self._number), call))

    def next_time(self) -> float:
        """Return the time of the first call [s]; infinite if there is none."""
        with self._lock:
            while self._heap and self._heap[0][2].function is None:
                heapq.heappop(self._heap)
            return self._heap[0][0] if self._heap else math.inf

    def pop_due(self, now: float) -> list[Callable[[], object]]:
        """Remove the calls whose time has come, and return their functions."""
        due = []
        with self._lock:
            while self._heap and self._heap[0][0] <= now:
                function = heapq.heappop(self._heap)[2].function
                if function is not None:
                    due.append(function)
        return due
