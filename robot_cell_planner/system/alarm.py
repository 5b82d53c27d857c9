"""Timer thread for scheduled calls."""

from __future__ import annotations

import heapq
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

LONGEST_WAIT = 3600.0  # [s] max wait; a condition cannot wait for arbitrarily long
FEWEST_TO_CLEAR = 64  # number of cancelled entries before they are removed from the queue


@dataclass(order=True)
class Entry:
    """Call scheduled at a time of `time.monotonic`; None if cancelled."""

    moment: float
    number: int
    call: Callable[[], None] | None = field(compare=False)


class Alarm:
    """Calls functions at given times in its own thread. Cancelled functions are released immediately.

    The thread wakes for calls that are due, not for each one that is scheduled: most are cancelled long before.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._entries: list[Entry] = []
        self._count = 0
        self._called_off = 0
        self._closing = False
        self._waits_until = -math.inf  # while the thread waits; it checks all entries before
        self._thread = threading.Thread(target=self._run, name="alarm", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """Return the number of pending calls."""
        with self._changed:
            return len(self._entries) - self._called_off

    def at(self, moment: float, call: Callable[[], None]) -> Entry:
        """Schedule a call at a time of `time.monotonic`; the returned entry can be passed to `call_off`."""
        with self._changed:
            self._count += 1
            entry = Entry(moment, self._count, call)
            heapq.heappush(self._entries, entry)
            if moment < self._waits_until:
                self._waits_until = moment
                self._changed.notify()
            return entry

    def call_off(self, entry: Entry) -> None:
        """Cancel a call. Has no effect if it was made or cancelled before."""
        with self._changed:
            if entry.call is None:
                return
            entry.call = None
            self._called_off += 1
            if self._called_off >= max(FEWEST_TO_CLEAR, len(self._entries) // 2):
                self._entries = [entry for entry in self._entries if entry.call is not None]
                heapq.heapify(self._entries)
                self._called_off = 0

    def close(self) -> None:
        """End the thread; pending calls are not made."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closing:
                    return
                while self._entries and self._entries[0].call is None:
                    heapq.heappop(self._entries)
                    self._called_off -= 1
                now = time.monotonic()
                moment = self._entries[0].moment if self._entries else math.inf
                if moment > now:
                    self._waits_until = until = min(moment, now + LONGEST_WAIT)
                    self._changed.wait(until - now)
                    self._waits_until = -math.inf
                    continue
                entry = heapq.heappop(self._entries)
                call, entry.call = entry.call, None
            if call is not None:
                call()
