"""Messages to another process: none blocks who sends it, and none is lost while the process is slow."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Generic

from ..system.readiness import wait_writable
from .quotas import MessageT, Quotas

if TYPE_CHECKING:
    from ..system.worker_process import AnyConnection

# Bytes of a message that a connection takes at once if it takes any: Linux reports a socket as writable while less than
# a quarter of its buffer, 208 KiB by default, is in use.
AT_ONCE = 1 << 15


class Outbox(Generic[MessageT]):
    """Sends messages in order: at once if the connection takes them, or by a thread as soon as it does. The thread also
    sends those above AT_ONCE, which can block until the other end reads.

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
        self._is_sending = False  # the thread sends a message, outside the lock
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
            while self._sends_next():
                content = ForkingPickler.dumps(self._waiting[0])
                if len(content) > AT_ONCE:
                    return
                self._connection.send_bytes(content)
                self._next()
        except (BrokenPipeError, ConnectionResetError):
            self._end()  # who reads from the process reports its end

    def _sends_next(self) -> bool:
        """Return whether there is a message, and the connection takes some of it."""
        return bool(self._waiting) and not self._is_sending and wait_writable(self._connection, 0.0)

    def _next(self) -> MessageT:
        """Return the first message, which does not wait any longer."""
        message = self._waiting.popleft()
        self._quotas.removed(message)
        self._kept -= not self._joints_of(message)
        return message

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
            wait_writable(self._connection)
            with self._changed:
                self._flush()
                if not self._sends_next():
                    continue
                message, self._is_sending = self._next(), True
            self._send_large(message)

    def _send_large(self, message: MessageT) -> None:
        """Send a message for which the other end has to read, without the lock."""
        try:
            self._connection.send(message)
        except (BrokenPipeError, ConnectionResetError):
            with self._changed:
                self._end()
        finally:
            self._is_sending = False
