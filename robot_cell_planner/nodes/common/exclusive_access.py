"""Exclusive access of one client at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...errors import MotionBusyError
from .cancellation import CancellationToken, outcome
from .node import CellNode
from .waiting import Waiters


class ExclusiveAccess:
    """The client with exclusive access, and the token that cancels its work. what: what the client does, for messages.

    on_change is called when access is acquired, handed over and released.
    """

    def __init__(self, what: str, on_change: Callable[[], None]) -> None:
        self._what = what
        self._on_change = on_change
        self._waiting = Waiters()
        self.owner = ""
        self.token: CancellationToken | None = None

    @contextmanager
    def acquired_by(self, owner: str, token: CancellationToken) -> Iterator[None]:
        """Context with exclusive access.

        Raises:
            MotionBusyError: another client has access; names it.
        """
        if self.token is not None:
            raise MotionBusyError(f"client {self.owner!r} {self._what}", subjects=(self.owner,))
        with self._held_by(owner, token):
            yield

    @contextmanager
    def handed_over_to(self, owner: str, token: CancellationToken) -> Iterator[None]:
        """Context with exclusive access, taken over from the present owner."""
        with self._held_by(owner, token):
            yield

    @contextmanager
    def _held_by(self, owner: str, token: CancellationToken) -> Iterator[None]:
        self.owner, self.token = owner, token
        self._on_change()
        try:
            yield
        finally:
            if self.token is token:  # access has not been handed over
                self.owner, self.token = "", None
                self._on_change()
                self._waiting.wake()

    async def released(self, node: CellNode, token: CancellationToken) -> None:
        """Wait until access is released."""
        while self.token is not None:
            await outcome(node, self._waiting.future(), token, math.inf, self._what)
