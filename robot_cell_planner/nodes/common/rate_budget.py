"""Bound of the processor time of background work of a node."""

from __future__ import annotations

import time
from types import TracebackType


class RateBudget:
    """Limits work to a fraction of the time by a rest after each turn.

    `due` returns whether the rest is over; `with budget:` encloses a turn.
    """

    def __init__(self, fraction: float) -> None:
        self._rest = 1.0 / fraction - 1.0
        self._begun = 0.0
        self._due = 0.0

    @property
    def due(self) -> bool:
        return time.monotonic() >= self._due

    def __enter__(self) -> None:
        self._begun = time.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        now = time.monotonic()
        self._due = now + self._rest * (now - self._begun)
