"""Messages to another process: none blocks who sends it, and none is lost while the process is slow."""

from __future__ import annotations

import select
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

MessageT = TypeVar("MessageT")
if TYPE_CHECKING:
    from ..system.worker_process import AnyConnection


class Outbox(Generic[MessageT]):
    """Sends messages in order: at once if the connection takes them, or by a thread as soon as it does.

    Args:
        connection: Where they are sent. Who owns it closes it after this.
        capacity: Maximum number of messages that wait; beyond it, the oldest that can be discarded are.
        can_be_discarded: Returns whether a message can be discarded, because later ones replace it.

    Attributes:
        accepted: Number of messages that were sent or wait to be sent.
        discarded: Number of messages that were discarded.
    """

    def __init__(self, connection: AnyConnection, capacity: int, can_be_discarded: Callable[[MessageT], bool]) -> None:
        self._connection = connection
        self._capacity = capacity
        self._can_be_discarded = can_be_discarded
        self._waiting: deque[MessageT] = deque()
        self._changed = threading.Condition()
        self._open = True
        self.accepted = self.discarded = 0
        self._thread = threading.Thread(target=self._send_waiting, name="outbox", daemon=True)
        self._thread.start()

    def put(self, message: MessageT) -> bool:
        """Send a message without blocking; return whether it was sent or waits to be sent.

        False: the other end is closed, or too many messages wait that cannot be discarded.
        """
        with self._changed:
            if not self._open or not self._make_room():
                return False
            self._waiting.append(message)
            self.accepted += 1
            self._flush()
            if self._waiting:
                self._changed.notify()
            return self._open

    def close(self) -> None:
        """End the thread; messages that still wait are forgotten. The process at the other end must have ended."""
        with self._changed:
            self._end()
        self._thread.join()

    def _make_room(self) -> bool:
        if len(self._waiting) < self._capacity:
            return True
        for index, message in enumerate(self._waiting):
            if self._can_be_discarded(message):
                del self._waiting[index]
                self.discarded += 1
                self.accepted -= 1
                return True
        return False

    def _flush(self) -> None:
        """Send what the connection takes without blocking."""
        try:
            while self._waiting and select.select((), (self._connection,), (), 0.0)[1]:
                self._connection.send(self._waiting[0])
                self._waiting.popleft()
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
