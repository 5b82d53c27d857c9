"""Turns of the preparations of workers: few prepare at once, those that a job waits for before all others."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# A worker is ready sooner if more do not share the processors with it.
AT_ONCE = max(len(os.sched_getaffinity(0)) - 1, 1)


class PreparationTurns:
    """Counts the preparations that are in progress.

    Those that a job waits for begin at once. Others wait until fewer than `at_once` are in progress.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._active = 0
        self._changed = threading.Condition()

    @contextmanager
    def for_job(self) -> Iterator[None]:
        """Context of a preparation that a job waits for."""
        with self._changed:
            self._active += 1
        try:
            yield
        finally:
            self._end()

    @contextmanager
    def ahead(self, timeout: float, gives_up: Callable[[], bool] = lambda: False) -> Iterator[bool]:
        """Context of another preparation: whether its turn has come. It must not begin if a time [s] is over before, or
        `gives_up()`, which is called again after `look_again`."""
        with self._changed:
            self._changed.wait_for(lambda: self._active < self._at_once or gives_up(), timeout)
            begins = self._active < self._at_once and not gives_up()
            self._active += begins
        try:
            yield begins
        finally:
            if begins:
                self._end()

    def look_again(self) -> None:
        """Let waiting preparations check whether they give up."""
        with self._changed:
            self._changed.notify_all()

    def _end(self) -> None:
        with self._changed:
            self._active -= 1
            self._changed.notify_all()


TURNS = PreparationTurns()  # of all pools of this process
