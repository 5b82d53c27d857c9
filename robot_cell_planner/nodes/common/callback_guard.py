"""Exception handling of the executor: exceptions of callbacks are reported, and the node continues.

It applies to all callbacks: timers, subscriptions, guard conditions, services (also those of parameters), action
servers and clients, sending of replies, done callbacks of futures, and tasks.
"""

from __future__ import annotations

import time
import traceback
from functools import partial
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from ...errors import InvalidRequestError, RobotCellError, bounded
from .wait_set_executor import WaitSetExecutor
from .waiting import call_later

ENDING = 1.0  # [s] timeout of the shutdown of a context
QUIET = 5.0  # [s] between reports of the same fault
MAX_REPORT = 10_000  # [characters] of a report with its traceback
MAX_FAULTS = 1_000  # kinds of faults that are distinguished
ARGUMENTS = "Correct the arguments after --ros-args; config/parameters.yaml is a valid file of parameters."


class NodeEndsError(Exception):
    """Terminates the node with one line on the standard error stream; the only exception that is not caught."""

    def __init__(self, error: RobotCellError) -> None:
        super().__init__(str(error))
        self.error = error


def start_context(arguments: list[str] | None) -> None:
    """Initialize rclpy.

    Raises:
        InvalidRequestError: rclpy refuses the arguments, such as a malformed file of parameters.
    """
    try:
        rclpy.init(args=arguments)
    except RuntimeError as error:  # an RCLError, which has no public name
        text = str(error).partition(", at /")[0]  # the rest names source files of rcl
        raise InvalidRequestError(text, stage="start", remedy=ARGUMENTS) from error


def context_ends(timeout: float = ENDING) -> bool:
    """Return whether the context is shut down within `timeout` [s].

    A callback that runs while the context is shut down gets an RCLError or, where rclpy cannot convert that, another
    RuntimeError, which is not reported. Entities become invalid before the context does.
    """
    until = time.monotonic() + timeout
    while rclpy.ok() and time.monotonic() < until:
        time.sleep(0.01)
    return not rclpy.ok()


class Faults:
    """Counts exceptions of callbacks, and logs each kind at most every few seconds.

    A RuntimeError is logged later, unless the context is shut down meanwhile: see `context_ends`.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._last: dict[tuple[object, ...], tuple[float, int]] = {}
        self.count = 0
        self.latest = ""

    def report(self, where: str, error: Exception) -> None:
        """Log an exception raised in `where`: a RobotCellError in one line, others with their traceback."""
        frames = traceback.extract_tb(error.__traceback__)
        key = (where, type(error), frames[-1].lineno if frames else 0)
        now, (last_report, suppressed) = time.monotonic(), self._last.get(key, (-QUIET, 0))
        if now - last_report < QUIET:
            self._count(f"{where}: {type(error).__name__}")
            self._last[key] = last_report, suppressed + 1
            return
        if len(self._last) >= MAX_FAULTS:
            self._last.clear()
        self._last[key] = now, 0
        is_named = isinstance(error, RobotCellError)
        text = str(error) if is_named else "".join(traceback.format_exception(error)).rstrip()
        again = f" ({suppressed} more in the last {now - last_report:.0f} s)" if suppressed else ""
        log = partial(self._log, f"{where} failed{again}: {text}")
        if rclpy.ok():
            self._count(f"{where}: {type(error).__name__}")
        if isinstance(error, RuntimeError) and self._node.executor is not None:
            call_later(self._node, ENDING, log)  # other callbacks do not wait
        else:
            log()

    def _log(self, text: str) -> None:
        if rclpy.ok():
            self._node.get_logger().error(bounded(text, MAX_REPORT))

    def _count(self, latest: str) -> None:
        self.count += 1
        self.latest = latest


class GuardedExecutor(WaitSetExecutor):
    """Single-threaded executor of one node that reports exceptions of callbacks.

    rclpy resumes every waiting coroutine once before it waits for the next event. A coroutine whose future is resolved
    later in that pass, by a task or another coroutine, would wait for the next event: 20 ms on average. This executor
    does not wait after such a task, so that the coroutine is resumed at once.
    """

    def __init__(self, faults: Faults, *, context: Context | None = None) -> None:
        super().__init__(context=context)
        self._faults = faults
        self._task: Any = None
        self._running: Any = None
        self._is_waiting = True
        self._ends = False

    def spin(self) -> None:
        """Run callbacks until `end`, or the shutdown of the context."""
        try:
            while self.context.ok() and not self._ends:
                self.spin_once()
        finally:
            self.release_wait_set()

    def end(self) -> None:
        """End `spin` after the callback that calls this, such as a task of another thread. Call `shutdown` after `spin`
        has ended: it destroys the guard condition that the thread may be about to wait for, which would not end."""
        self._ends = True

    def wait_for_ready_callbacks(self, *arguments: Any, **keywords: Any) -> Any:
        """As rclpy's; records the callback that runs next. An entity that another thread destroys meanwhile is
        skipped."""
        self._is_waiting = True
        while True:
            try:
                found = super().wait_for_ready_callbacks(*arguments, **keywords)
            except InvalidHandle:
                if not self.context.ok():
                    raise
            else:
                self._is_waiting, (self._task, self._running, _) = False, found
                return found

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Run one callback; an exception is reported."""
        self._task = None
        try:
            super().spin_once(timeout_sec)
        except NodeEndsError:
            raise
        except Exception as error:
            # The executor cannot continue without a context, or if waiting itself fails.
            if self._is_waiting or not self.context.ok():
                raise
            self._faults.report(_name(self._running), error)
        # Callbacks of timers and subscriptions run after the coroutines are resumed, and before they are again.
        if self._task is not None and self._task.done() and not isinstance(self._running, Timer | Subscription):
            self.wake()


def _name(entity: Any) -> str:
    """Return the name of an entity in error reports."""
    if entity is None:
        return "a task"
    kind = type(entity).__name__
    for attribute in ("topic_name", "service_name", "srv_name"):
        name = getattr(entity, attribute, None)
        if name:
            return f"{kind} {name}"
    callback = getattr(entity, "callback", None)
    return kind if callback is None else f"{kind} {getattr(callback, '__qualname__', repr(callback))}"
