"""Execution of a timer without a task of rclpy."""

from __future__ import annotations

import inspect
from typing import Any

import rclpy.exceptions
import rclpy.timer
from rclpy.exceptions import InvalidHandle
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.timer import Timer

# rclpy of Jazzy has no error of its own for it, and passes no information to callbacks.
CancelledTimer: type[Exception] = getattr(rclpy.exceptions, "TimerCancelledError", rclpy_implementation.RCLError)
INFORMATION = getattr(rclpy.timer, "TimerInfo", None)


def is_plain(callback: Any) -> bool:
    """Return whether a callback of a timer is an ordinary function without a parameter for a `TimerInfo`."""
    if callback is None or inspect.iscoroutinefunction(callback):
        return False
    return all(parameter.annotation is not INFORMATION for parameter in inspect.signature(callback).parameters.values())


class TimerCall:
    """A call of a timer's callback, with the methods of a task that an executor uses.

    Unlike a task, it is executed at once: it is no coroutine, and ends before the executor does anything else.
    """

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._error: BaseException | None = None

    def __call__(self) -> None:
        """Call the callback, unless the timer was cancelled or destroyed, or its callback group is in use."""
        timer, group = self._timer, self._timer.callback_group
        if group is not None and not group.beginning_execution(timer):
            return
        try:
            if self._is_due():
                timer.callback()  # type: ignore[misc, call-arg]
        except Exception as error:  # the executor raises it
            self._error = error
        finally:
            if group is not None:
                group.ending_execution(timer)

    def _is_due(self) -> bool:
        """Begin the next period of the timer. Returns whether it was neither cancelled nor destroyed."""
        handle: Any = self._timer.handle
        call = handle.call_timer if INFORMATION is None else handle.call_timer_with_info
        try:
            with handle:
                call()
        except (InvalidHandle, CancelledTimer):
            return False
        return True

    def done(self) -> bool:
        """Return True: a call ends at once."""
        return True

    def exception(self) -> BaseException | None:
        """Return what the callback raised."""
        return self._error

    def result(self) -> None:
        """Return nothing."""
