"""Waits in coroutines with deadlines."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator
from typing import TypeVar

from rclpy.clock import Clock, ClockType  # type: ignore[attr-defined]
from rclpy.node import Node
from rclpy.task import Future
from rclpy.timer import Timer

from .timed_calls import TimedCall
from .wait_set_executor import WaitSetExecutor

T = TypeVar("T")
SLICE = 0.01  # [s] of long work, after which other events are handled: servo waits for a collision check as long


def steady_timer(node: Node, period: float, callback: Callable[[], None], *, may_be_early: bool = False) -> Timer:
    """Create a timer on the steady clock, independent of simulated time. period [s].

    may_be_early: whether a `WaitSetExecutor` may call it up to half a period early, when it executes another timer: a
    process that rests between its timers uses most of its time to wake up.
    """
    timer = node.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))
    timer.may_be_early = may_be_early  # type: ignore[attr-defined]
    return timer


def call_later(node: Node, seconds: float, function: Callable[[], object]) -> TimedCall:
    """Call a function once, in the executor of a node, after a time on the steady clock [s]."""
    executor = node.executor
    assert isinstance(executor, WaitSetExecutor)
    return executor.call_later(seconds, function)


class Deadline:
    """A deadline on the steady clock that resolves a future."""

    def __init__(self, node: Node, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self._node = node
        self._future: Future[None] | None = None
        self._call: TimedCall | None = None

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self._end

    def wakes(self, future: Future[None]) -> None:
        """Resolve this future at the deadline, unless it is done."""
        self._future = future
        if self._call is None:
            self._call = call_later(self._node, self._end - time.monotonic(), self._fire)

    def _fire(self) -> None:
        self._call = None
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    def end(self) -> None:
        """Resolve nothing from now on."""
        if self._call is not None:
            self._call.cancel()
            self._call = None


class Waiters:
    """Coroutines that wait for the same event."""

    def __init__(self) -> None:
        self._futures: list[Future[None]] = []

    def future(self) -> Future[None]:
        """Return a future that the next event resolves."""
        future: Future[None] = Future()
        self._futures.append(future)
        return future

    async def wait(self, deadline: Deadline) -> None:
        """Wait for the event or the deadline, whichever comes first."""
        future = self.future()
        deadline.wakes(future)
        try:
            await future
        finally:
            if future in self._futures:  # the event may never come
                self._futures.remove(future)

    def wake(self) -> None:
        """Report the event."""
        futures, self._futures = self._futures, []
        for future in futures:
            if not future.done():
                future.set_result(None)


async def delay(node: Node, seconds: float) -> None:
    """Wait for a time on the steady clock."""
    passed: Future[None] = Future()
    deadline = Deadline(node, seconds)
    deadline.wakes(passed)
    try:
        await passed
    finally:
        deadline.end()


class InOrder:
    """Exclusive access of the coroutines of an executor, each of which waits for those that came before it.

    `async with` acquires and releases it.
    """

    def __init__(self) -> None:
        self.is_held = False
        self._waiting: deque[Future[None]] = deque()

    async def __aenter__(self) -> None:
        if not self.is_held:
            self.is_held = True
            return
        turn: Future[None] = Future()
        self._waiting.append(turn)
        try:
            await turn
        except BaseException:
            if turn.done():  # it was interrupted when its turn had come
                self._release()
            else:
                self._waiting.remove(turn)
            raise

    async def __aexit__(self, *_: object) -> None:
        self._release()

    def _release(self) -> None:
        if self._waiting:
            self._waiting.popleft().set_result(None)
        else:
            self.is_held = False


class Slices:
    """Divides the long work of a coroutine, so that the executor handles other events between its slices.

    Args:
        node: Node whose executor runs the coroutine.
        seconds: Duration of a slice [s].
    """

    def __init__(self, node: Node, seconds: float = SLICE) -> None:
        self._node = node
        self._seconds = seconds
        self._until = time.monotonic() + seconds

    async def turn(self) -> None:
        """Let the executor handle the events that are ready, if a slice has ended."""
        if time.monotonic() < self._until:
            return
        handled: Future[None] = Future()
        call_later(self._node, 0.0, lambda: handled.set_result(None))
        await handled
        self._until = time.monotonic() + self._seconds

    async def returned(self, steps: Generator[None, None, T]) -> T:
        """Return what a generator returns, whose steps are the work."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                result: T = end.value
                return result
            await self.turn()
