"""Progress monitor of a request: cancellation, time limit, progress reports and stage times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from ...errors import CancelledError, TimedOutError, Value
from .plan import StageTime

PROGRESS_PERIOD = 0.1  # [s]


@dataclass(frozen=True)
class Progress:
    """Progress of a request.

    Attributes:
        stage: Current stage.
        fraction: Completed fraction of the stage; NaN if unknown.
        states_checked: Number of states checked in the current motion.
        best_cost: Cost of the best path; infinite without a path.
        step: Step of a multi-step request.
    """

    stage: str
    fraction: float = float("nan")
    states_checked: int = 0
    best_cost: float = float("inf")
    step: int = 0


class _Stage(AbstractContextManager[None]):
    """Records its time; a generator would take longer than some stages."""

    def __init__(self, name: str, times: list[StageTime]) -> None:
        self._name, self._times = name, times
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._times.append(StageTime(self._name, time.monotonic() - self._began))


class CountsWork(Protocol):
    """Checks that count their work."""

    states: int
    motions: int


class WorkCount:
    """Work of all checks made since it exists.

    Attributes:
        checks: Checks whose numbers may still increase.
    """

    def __init__(self) -> None:
        self.checks: list[CountsWork] = []
        self._states = self._motions = 0

    @property
    def states(self) -> int:
        """Number of states checked."""
        return self._states + sum(checks.states for checks in self.checks)

    @property
    def motions(self) -> int:
        """Number of motions checked."""
        return self._motions + sum(checks.motions for checks in self.checks)

    def release(self) -> None:
        """Add up the work so far and forget the checks, whose work has ended."""
        self._states, self._motions = self.states, self.motions
        self.checks.clear()


class ProgressMonitor:
    """Monitors the time limit and cancellation of a request, and reports progress. It does not affect results.

    Args:
        time_limit: Time limit from now on [s]; 0 for none.
        on_progress: Called at the beginning of each stage and at most ten times per second.
        cancelled: Called frequently; has to be fast.
        timed_out: Whether the caller, whose clock began before, says that the time limit has passed; as `cancelled`.
    """

    def __init__(
        self,
        time_limit: float = 0.0,
        on_progress: Callable[[Progress], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
        timed_out: Callable[[], bool] | None = None,
    ) -> None:
        self._limit = time_limit
        self._on_progress = on_progress
        self._cancelled = cancelled
        self._timed_out = timed_out
        self._started = time.monotonic()
        self._next_report = self._started + PROGRESS_PERIOD
        self._stage = "request"
        self._times: list[StageTime] = []
        self._count: WorkCount | None = None
        self.fraction = float("nan")
        self.best_cost = float("inf")
        self.step = 0

    @property
    def times(self) -> tuple[StageTime, ...]:
        """Times of completed stages, in order."""
        return tuple(self._times)

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Return a context that is a stage, whose time is recorded at its end."""
        self._stage, self.fraction = name, float("nan")
        self._report(0)
        return _Stage(name, self._times)

    @contextmanager
    def counting(self) -> Iterator[WorkCount]:
        """Count the work of all checks that are made in the context, also those of motions that are not found."""
        self._count = WorkCount()
        try:
            yield self._count
        finally:
            self._count = None

    def register(self, checks: CountsWork) -> None:
        """Include the work of new checks in the count, if it is counted."""
        if self._count is not None:
            self._count.checks.append(checks)

    @property
    def is_cancelled(self) -> bool:
        """Whether the caller cancelled the request."""
        return self._cancelled is not None and self._cancelled()

    def check(self, states_checked: int = 0) -> None:
        """Raise if the request has to end; report progress periodically.

        Raises:
            CancelledError: The caller cancelled the request.
            TimedOutError: The time limit has passed.
        """
        if self.is_cancelled:
            raise CancelledError("the request was cancelled", stage=self._stage)
        now = time.monotonic()
        if 0.0 < self._limit < now - self._started or (self._timed_out is not None and self._timed_out()):
            numbers = (Value("time", now - self._started, self._limit, "s"),)
            raise TimedOutError("the time limit was reached", stage=self._stage, values=numbers)
        if now >= self._next_report:
            self._next_report = now + PROGRESS_PERIOD
            self._report(states_checked)

    def _report(self, states_checked: int) -> None:
        if self._on_progress is not None:
            self._on_progress(Progress(self._stage, self.fraction, states_checked, self.best_cost, self.step))
