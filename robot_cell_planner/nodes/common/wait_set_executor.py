"""A single-threaded executor that keeps its wait set."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

from rclpy.context import Context
from rclpy.executors import (
    ConditionReachedException,
    ExternalShutdownException,
    ShutdownException,
    SingleThreadedExecutor,
    TimeoutException,
    TimeoutObject,
)
from rclpy.guard_condition import GuardCondition
from rclpy.node import Node
from rclpy.timer import Timer

from .timed_calls import TimedCall, TimedCalls
from .timer_call import TimerCall, is_plain
from .wait_set import KeptWaitSet, Ready

MAX_REPEATS = 10  # of resuming tasks before the executor looks for events


class OwnGuard(GuardCondition):
    """The guard condition that ends the wait of an executor. While the thread of the executor does not wait, its own
    triggers only set a mark: it resumes its tasks again before it waits."""

    def __init__(self, context: Context) -> None:
        super().__init__(None, None, context)
        self.marking_thread: int | None = None
        self.is_marked = False

    def trigger(self) -> None:
        if self.marking_thread == threading.get_ident():
            self.is_marked = True
        else:
            super().trigger()


class WaitSetExecutor(SingleThreadedExecutor):
    """Executes what rclpy's SingleThreadedExecutor does, in the same order, with fewer and shorter waits. Tasks are
    resumed oldest first, as in Kilted; rclpy of Jazzy resumes the newest one first.

    It looks up the entities of its nodes only after one was created or destroyed. rclpy's executor triggers its own
    guard condition twice for each callback, so that coroutines are resumed before it waits for events again; this one
    resumes them without a wait that ends at once. Callbacks of timers that are ordinary functions are executed without
    a task, and without reading their signature each time. Timers that may be called early are executed with others.

    There is no public way to do so: the class relies on private attributes of rclpy's Executor, which are the same in
    Jazzy and Kilted.
    """

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__(context=context)
        if self._guard is not None:
            self._guard.destroy()
        self._own_guard = OwnGuard(self.context)
        self._guard = self._own_guard
        self._kept: KeptWaitSet | None = None
        self._uses_wait_set = threading.RLock()
        self._entities_change = True
        self._timed_calls = TimedCalls()

    def call_later(self, seconds: float, function: Callable[[], object]) -> TimedCall:
        """Call a function once, as a task, after a time on the steady clock [s]. A timer of rcl would change the wait
        set twice."""
        call = TimedCall(time.monotonic() + seconds, function)
        self._timed_calls.add(call)
        if self._own_guard.marking_thread != threading.get_ident():
            self.wake()
        return call

    def _wait_for_ready_callbacks(
        self,
        timeout_sec: Any = None,
        nodes: list[Node] | None = None,
        condition: Callable[[], bool] = lambda: False,
    ) -> Generator[Any, None, None]:
        """Yield handlers with their entity and node, of the first wait that finds any.

        Raises:
            TimeoutException: No handler was ready within `timeout_sec` [s].
            ShutdownException: The executor was shut down.
            ExternalShutdownException: The context was shut down.
            ConditionReachedException: `condition` is met.
        """
        if nodes is not None:
            self._own_guard.marking_thread = None  # rclpy's wait knows no marks
            self._own_guard.trigger()
            yield from super()._wait_for_ready_callbacks(timeout_sec, nodes, condition)
            return
        timeout = timeout_sec.timeout if isinstance(timeout_sec, TimeoutObject) else timeout_sec
        until = math.inf if timeout is None or timeout < 0.0 else time.monotonic() + timeout
        has_work = False
        while not has_work and not self._is_shutdown and not condition():
            for _ in range(MAX_REPEATS):
                self._own_guard.is_marked = False
                for task, entity, node in self._pending_tasks():
                    has_work = True
                    yield task, entity, node
                self._remove_finished_tasks()
                if not self._own_guard.is_marked:
                    break
            ready = self._wait(until)
            for function in self._timed_calls.pop_due(time.monotonic()):
                self.create_task(function)
            is_idle, has_timer = True, False
            for kind, entity, node in ready:
                has_work, is_idle, has_timer = True, False, has_timer or kind == "timer"
                yield self._handler(kind, entity, node), entity, node
            if has_timer and self._kept is not None:
                for kind, entity, node in self._kept.early_timers():
                    yield self._handler(kind, entity, node), entity, node
            if is_idle and time.monotonic() >= until:
                raise TimeoutException
        if self._is_shutdown:
            raise ShutdownException
        if condition():
            raise ConditionReachedException

    def _wait(self, until: float) -> Iterator[Ready]:
        """Wait for events until a time of the monotonic clock, or only look for them if tasks are to be resumed."""
        guard = self._own_guard
        with self._uses_wait_set:
            self._check_active()
            wait_set = self._wait_set()
            guard.marking_thread = None  # from here on, triggers of this thread, as of a signal handler, end the wait
            try:
                until = min(until, self._timed_calls.next_time())
                ready = wait_set.wait(0.0 if guard.is_marked else until - time.monotonic())
            finally:
                guard.marking_thread = threading.get_ident()
        self._check_active()
        return ready

    def _check_active(self) -> None:
        if self._is_shutdown:
            self.release_wait_set()
            raise ShutdownException
        if not self.context.ok():
            raise ExternalShutdownException

    def _pending_tasks(self) -> Iterator[Any]:
        with self._tasks_lock:
            tasks = list(self._tasks)
        nodes = self.get_nodes()
        for task, entity, node in tasks:
            if not task.executing() and not task.done() and (node is None or node in nodes):
                yield task, entity, node

    def _remove_finished_tasks(self) -> None:
        with self._tasks_lock:
            self._tasks = [entry for entry in self._tasks if not (entry[0].done() or entry[0].cancelled())]

    def _handler(self, kind: str, entity: Any, node: Node) -> Any:
        """Return the call that executes a ready entity."""
        if kind == "timer" and self._is_plain(entity):
            return TimerCall(entity)
        return self._make_handler(entity, node, getattr(self, f"_take_{kind}"))

    def _is_plain(self, timer: Timer) -> bool:
        # Kept with the timer: a table here would keep timers in existence whose callbacks refer to them.
        callback, plain = getattr(timer, "_plain_callback", (None, False))
        if callback is None or callback != timer.callback:
            plain = is_plain(timer.callback)
            timer._plain_callback = timer.callback, plain  # type: ignore[attr-defined]
        return bool(plain)

    def wake(self) -> None:
        """End a wait; a node also calls it after one of its entities was created or destroyed."""
        self._entities_change = True
        super().wake()

    def add_node(self, node: Node) -> bool:
        """Add a node whose callbacks are executed."""
        self._entities_change = True
        added: bool = super().add_node(node)
        return added

    def remove_node(self, node: Node) -> None:
        """Remove a node."""
        self._entities_change = True
        super().remove_node(node)

    def _wait_set(self) -> KeptWaitSet:
        """Return the wait set of the present entities."""
        if self._kept is not None and not self._entities_change:
            return self._kept
        self._entities_change = False  # a change after this line is found before the next wait
        nodes = tuple(self.get_nodes())
        if self._kept is None or not self._kept.serves(nodes):
            self.release_wait_set()
            guards = [guard for guard in (self._guard, self._sigint_gc) if guard is not None]
            self._kept = KeptWaitSet(self.context, nodes, guards)
        return self._kept

    def release_wait_set(self) -> None:
        """Release the handles of entities, which keep destroyed ones in existence. Call it in the thread that waits."""
        if self._kept is not None:
            self._kept.release()
            self._kept = None

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """As rclpy's. A thread that waits releases the wait set itself."""
        ended = super().shutdown(timeout_sec)
        if self._uses_wait_set.acquire(blocking=False):
            try:
                self.release_wait_set()
            finally:
                self._uses_wait_set.release()
        return ended
