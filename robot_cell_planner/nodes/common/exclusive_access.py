"""Who has something that only one client can have at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...errors import MotionBusyError
from .cancellation import CancellationToken, outcome
from .node import CellNode
from .waiting import Waiters


class ExclusiveAccess:
    """Who has something that only one client can have at a time, and what calls off what is done for it.

    on_change is called when it is taken, when it is handed over, and when it is given back.
    """

    def __init__(self, what: str, on_change: Callable[[], None]) -> None:
        self._what = what
        self._on_change = on_change
        self._waiting = Waiters()
        self.owner = ""
        self.interrupt: CancellationToken | None = None

    @contextmanager
    def taken_by(self, owner: str, interrupt: CancellationToken) -> Iterator[None]:
        """Have it while the context lasts.

        Raises:
            MotionBusyError: somebody else has it; names them.
        """
        if self.interrupt is not None:
            raise MotionBusyError(f"{self.owner} has {self._what}", subjects=(self.owner,))
        with self._had_by(owner, interrupt):
            yield

    @contextmanager
    def handed_over_to(self, owner: str, interrupt: CancellationToken) -> Iterator[None]:
        """Have it from now on while the context lasts, in place of whoever has it."""
        with self._had_by(owner, interrupt):
            yield

    @contextmanager
    def _had_by(self, owner: str, interrupt: CancellationToken) -> Iterator[None]:
        self.owner, self.interrupt = owner, interrupt
        self._on_change()
        try:
            yield
        finally:
            if self.interrupt is interrupt:  # it has not been handed over
                self.owner, self.interrupt = "", None
                self._on_change()
                self._waiting.wake()

    async def released(self, node: CellNode, interrupt: CancellationToken) -> None:
        """Wait until nobody has it."""
        while self.interrupt is not None:
            await outcome(node, self._waiting.future(), interrupt, math.inf, self._what)
