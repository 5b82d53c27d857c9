"""Active requests of a node, which can be ended with a reason; new ones are then refused."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Generator
from typing import Any, Generic, TypeVar, cast

from rclpy.node import Node
from rclpy.task import Future

from ...errors import RobotCellError
from .cancellation import CancellationToken
from .waiting import delay

T = TypeVar("T")
CHECK_PERIOD = 0.01  # [s] between checks whether all have ended


class Interruptible(Generic[T]):
    """Awaits a coroutine. When a token is set, its reason is raised once in the coroutine."""

    def __init__(self, work: Coroutine[Any, Any, T], token: CancellationToken) -> None:
        self._work = work
        self._token = token

    def __await__(self) -> Generator[Any, None, T]:
        interrupted = False
        try:
            waited_for = self._work.send(None)
            while True:
                if self._token.error is not None and not interrupted:
                    interrupted = True
                    waited_for = self._work.throw(self._token.error)
                    continue
                yield from self._until_done(waited_for)
                if self._token.error is None or interrupted:
                    waited_for = self._work.send(None)
        except StopIteration as end:
            return cast("T", end.value)

    def _until_done(self, waited_for: Any) -> Generator[Any, None, None]:
        """Yield the future that the coroutine awaits, or one that the token also resolves."""
        if not isinstance(waited_for, Future):  # rclpy also resumes the coroutine after other callbacks
            yield waited_for
            return
        wake: Future[None] = Future()

        def resume(_: object) -> None:
            if not wake.done():
                wake.set_result(None)

        waited_for.add_done_callback(resume)
        self._token.on_set(resume)
        try:
            yield wake
        finally:
            self._token.remove(resume)
            waited_for.remove_done_callback(resume)


class Requests:
    """Service requests and goals without a reply or result yet."""

    def __init__(self) -> None:
        self._reason: RobotCellError | None = None
        self._interrupt = CancellationToken()
        self._force = CancellationToken()
        self._goals: list[CancellationToken] = []
        self._serving = 0

    @property
    def accepted(self) -> bool:
        """Whether new requests are accepted."""
        return self._reason is None

    def check(self) -> None:
        """Raise the reason if new requests are refused."""
        if self._reason is not None:
            raise self._reason

    def refuse(self, reason: RobotCellError) -> None:
        """Refuse new requests from now on."""
        self._reason = reason

    def accept(self) -> None:
        """Accept new requests from now on."""
        self._reason = None
        self._interrupt, self._force = CancellationToken(), CancellationToken()

    async def serve(self, work: Coroutine[Any, Any, T]) -> T:
        """Handle a service request, unless `end` interrupts it."""
        self._serving += 1
        try:
            return await Interruptible(work, self._interrupt)
        finally:
            self._serving -= 1

    async def pursue(self, work: Coroutine[Any, Any, T], token: CancellationToken) -> T:
        """Handle a goal with a cancellation token, which `end` sets."""
        self._goals.append(token)
        try:
            return await Interruptible(work, self._force)
        finally:
            self._goals.remove(token)

    async def end(self, node: Node, reason: RobotCellError, timeout: float) -> bool:
        """Refuse new requests, interrupt services, cancel goals, and wait until all have ended.

        timeout [s]: time after which running goals are interrupted. Returns whether all have ended within twice that
        time.
        """
        self.refuse(reason)
        self._interrupt.set(reason)
        for token in tuple(self._goals):
            token.set(reason)
        begun = time.monotonic()
        while self._goals or self._serving:
            waited = time.monotonic() - begun
            if waited >= 2.0 * timeout:
                return False
            if waited >= timeout:
                self._force.set(reason)
            await delay(node, CHECK_PERIOD)
        return True
