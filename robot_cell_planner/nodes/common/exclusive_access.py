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
        self.token: CancellationToken | None = None

    @contextmanager
    def acquired_by(self, owner: str, token: CancellationToken) -> Iterator[None]:
        """Have it while the context lasts.

        Raises:
            MotionBusyError: somebody else has it; names them.
        """
        if self.token is not None:
            raise MotionBusyError(f"{self.owner} has {self._what}", subjects=(self.owner,))
        with self._held_by(owner, token):
            yield

    @contextmanager
    def handed_over_to(self, owner: str, token: CancellationToken) -> Iterator[None]:
        """Have it from now on while the context lasts, in place of whoever has it."""
        with self._held_by(owner, token):
            yield

    @contextmanager
    def _held_by(self, owner: str, token: CancellationToken) -> Iterator[None]:
        self.owner, self.token = owner, token
        self._on_change()
        try:
            yield
        finally:
            if self.token is token:  # it has not been handed over
                self.owner, self.token = "", None
                self._on_change()
                self._waiting.wake()

    async def released(self, node: CellNode, token: CancellationToken) -> None:
        """Wait until nobody has it."""
        while self.token is not None:
            await outcome(node, self._waiting.future(), token, math.inf, self._what)
