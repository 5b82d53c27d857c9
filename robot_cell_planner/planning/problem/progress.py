"""What goes on around a request while it is served: cancellation, time limit, progress, and times by stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ...errors import CancelledError, TimedOutError, Value
from .plan import StageTime

PROGRESS_PERIOD = 0.1  # [s]


@dataclass(frozen=True)
class Progress:
    """How far a request has come: the stage that is running, the share of it that is done (NaN where it cannot be
    known), states checked so far in its motion, the cost of the best path so far (infinite if there is none), and the
    step of a multi-step request."""

    stage: str
    fraction: float = float("nan")
    states_checked: int = 0
    best_cost: float = float("inf")
    step: int = 0


class ProgressMonitor:
    """Holds a request to its time limit and its caller's wish to go on. Nothing of it shapes a result.

    on_progress: called at the beginning of each stage and at most ten times a second. cancelled: asked often; it must
    be quick. time_limit [s]: from now on; 0: none.
    """

    def __init__(
        self,
        time_limit: float = 0.0,
        on_progress: Callable[[Progress], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        self._limit = time_limit
        self._on_progress = on_progress
        self._cancelled = cancelled
        self._started = time.monotonic()
        self._next_report = self._started + PROGRESS_PERIOD
        self._stage = "request"
        self._times: list[StageTime] = []
        self.fraction = float("nan")
        self.best_cost = float("inf")
        self.step = 0

    @property
    def times(self) -> tuple[StageTime, ...]:
        """Of the stages that have ended, in order."""
        return tuple(self._times)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Run a stage under its name."""
        self._stage, self.fraction = name, float("nan")
        self._report(0)
        began = time.monotonic()
        try:
            yield
        finally:
            self._times.append(StageTime(name, time.monotonic() - began))

    def check(self, states_checked: int = 0) -> None:
        """Go on, or not.

        Raises:
            CancelledError: the caller cancelled.
            TimedOutError: the time limit has passed.
        """
        if self._cancelled is not None and self._cancelled():
            raise CancelledError("the request was cancelled", stage=self._stage)
        now = time.monotonic()
        if 0.0 < self._limit < now - self._started:
            numbers = (Value("time", now - self._started, self._limit, "s"),)
            raise TimedOutError("the time limit ended the request", stage=self._stage, values=numbers)
        if now >= self._next_report:
            self._next_report = now + PROGRESS_PERIOD
            self._report(states_checked)

    def _report(self, states_checked: int) -> None:
        if self._on_progress is not None:
            self._on_progress(Progress(self._stage, self.fraction, states_checked, self.best_cost, self.step))
