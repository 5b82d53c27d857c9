"""Messages to another process: none blocks who sends it, and none is lost while the process is slow."""

from __future__ import annotations

import select
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic

from .quotas import MessageT, Quotas

if TYPE_CHECKING:
    from ..system.worker_process import AnyConnection


class Outbox(Generic[MessageT]):
    """Sends messages in order: at once if the connection takes them, or by a thread as soon as it does.

    Args:
        connection: Where they are sent. Who owns it closes it after this.
        capacity: Maximum number of messages of each joint that wait, and of those without joints; beyond it, a joint is
            discarded from the oldest of its messages, which later ones replace.
        joints_of, without: See `Quotas`.

    Attributes:
        accepted: Number of messages that were sent or wait to be sent.
    """

    def __init__(
        self,
        connection: AnyConnection,
        capacity: int,
        joints_of: Callable[[MessageT], frozenset[str]],
        without: Callable[[MessageT, frozenset[str]], MessageT],
    ) -> None:
        self._connection = connection
        self._capacity = capacity
        self._joints_of = joints_of
        self._waiting: deque[MessageT] = deque()
        self._quotas = Quotas(self._waiting, capacity, joints_of, without)
        self._kept = 0  # messages without joints that wait
        self._changed = threading.Condition()
        self._open = True
        self.accepted = 0
        self._thread = threading.Thread(target=self._send_waiting, name="outbox", daemon=True)
        self._thread.start()

    @property
    def discarded(self) -> int:
        """Number of messages that were discarded in whole or part."""
        return self._quotas.thinned

    def put(self, message: MessageT) -> bool:
        """Send a message without blocking; return whether it was sent or waits to be sent.

        False: the other end is closed, or too many messages wait that cannot be discarded.
        """
        with self._changed:
            is_kept = not self._joints_of(message)
            if not self._open or (is_kept and self._kept >= self._capacity):
                return False
            self._waiting.append(message)
            self._kept += is_kept
            self.accepted += 1 - self._quotas.added(message)
            self._flush()
            if self._waiting:
                self._changed.notify()
            return self._open

    def close(self) -> None:
        """End the thread; messages that still wait are forgotten. The process at the other end must have ended."""
        with self._changed:
            self._end()
        self._thread.join()

    def _flush(self) -> None:
        """Send what the connection takes without blocking."""
        try:
            while self._waiting and select.select((), (self._connection,), (), 0.0)[1]:
                self._connection.send(self._waiting[0])
                sent = self._waiting.popleft()
                self._quotas.removed(sent)
                self._kept -= not self._joints_of(sent)
        except (BrokenPipeError, ConnectionResetError):
            self._end()  # who reads from the process reports its end

    def _end(self) -> None:
        self._open = False
        self._waiting.clear()
        self._changed.notify()

    def _send_waiting(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or not self._open)
                if not self._open:
                    return
            # Also returns when the other end is closed.
            select.select((), (self._connection,), ())
            with self._changed:
                self._flush()
