"""Calls of a client that are in progress, and its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...errors import RobotCellError, ServiceUnavailableError

CHECK_PERIOD = 0.1  # [s] between checks whether the client was closed
REMEDY = "Create another client; a client that was closed is not opened again."
REMEDY_OF_SHUTDOWN = "End the program if it was asked to; otherwise call rclpy.init and create another client."


class Usage:
    """Counts the calls in progress, ends them when the client is closed or its context of ROS is shut down, and refuses
    calls after that. runs: returns whether the context was not shut down."""

    def __init__(self, runs: Callable[[], bool] = lambda: True) -> None:
        self._runs = runs
        self._changed = threading.Condition()
        self._calls = 0
        self._closed = False

    def check_open(self) -> None:
        """Check that the client can receive replies.

        Raises:
            ServiceUnavailableError: It was closed, or its context was shut down.
        """
        if self._closed:
            raise ServiceUnavailableError("the client was closed", stage="client", remedy=REMEDY)
        if not self._runs():
            text = "ROS was shut down in this process, as by SIGTERM"
            raise ServiceUnavailableError(text, stage="client", remedy=REMEDY_OF_SHUTDOWN)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Count a call. Exceptions of rclpy about what `close` has destroyed become the error of a closed client.

        Raises:
            ServiceUnavailableError: The client was closed before, or is closed meanwhile.
        """
        with self._changed:
            self.check_open()
            self._calls += 1
            self._changed.notify_all()
        try:
            yield
        except RobotCellError:
            raise
        except Exception:
            self.check_open()
            raise
        finally:
            with self._changed:
                self._calls -= 1
                self._changed.notify_all()

    def close(self, timeout: float) -> bool:
        """End the calls in progress, and wait for them up to `timeout` [s]. Returns whether the client was open."""
        with self._changed:
            was_open, self._closed = not self._closed, True
            self._changed.wait_for(lambda: not self._calls, timeout)
        return was_open

    def while_open(self, is_ready: Callable[[], bool]) -> Callable[[], bool]:
        """Return a function that returns `is_ready()`, and raises the error of a closed client."""

        def ready() -> bool:
            self.check_open()
            return is_ready()

        return ready

    def wait(self, event: threading.Event, timeout: float) -> bool:
        """Return whether an event is set within `timeout` [s]. The wait counts as a call, which `close` waits for.

        Raises:
            ServiceUnavailableError: The client was closed before, or is closed meanwhile.
        """
        until = time.monotonic() + timeout
        with self.call():
            while not event.wait(max(min(CHECK_PERIOD, until - time.monotonic()), 0.0)):
                self.check_open()
                if time.monotonic() >= until:
                    return False
        return True
