"""Waiting in coroutines for results, with cancellation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar, cast

from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future

from ...errors import RobotCellError, ServiceUnavailableError
from .waiting import Deadline

T = TypeVar("T")
RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")
POLL_PERIOD = 0.1  # [s] between checks whether something has appeared
LOOK_PERIOD = 1.0  # [s] between checks whether it is still there


class CancellationToken:
    """Cancels the work for a request. The first reason counts; listeners are called once, with it."""

    def __init__(self) -> None:
        self.error: RobotCellError | None = None
        self._listeners: list[Callable[[RobotCellError], None]] = []

    def set(self, error: RobotCellError) -> None:
        """Cancel, for a reason."""
        if self.error is not None:
            return
        self.error = error
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener(error)

    def on_set(self, listener: Callable[[RobotCellError], None]) -> None:
        """Call `listener(error)` on cancellation; at once if it is cancelled already."""
        if self.error is not None:
            listener(self.error)
        else:
            self._listeners.append(listener)

    def remove(self, listener: Callable[[RobotCellError], None]) -> None:
        """Do not call it any more."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def check(self) -> None:
        """Raise the reason if it is cancelled."""
        if self.error is not None:
            raise self.error


class _Wake:
    """A future that any of several things may resolve."""

    def __init__(self, node: Node, token: CancellationToken, seconds: float) -> None:
        self._future: Future[None] = Future()
        self._token = token
        self._deadline = Deadline(node, seconds)

    def __call__(self, _: object = None) -> None:
        if not self._future.done():
            self._future.set_result(None)

    async def wait(self) -> None:
        """Wait for whichever comes first; raises the reason if that was a cancellation."""
        self._deadline.wakes(self._future)
        self._token.on_set(self)
        try:
            await self._future
        finally:
            self._token.remove(self)
            self._deadline.end()
        self._token.check()


async def pause(node: Node, seconds: float, token: CancellationToken) -> None:
    """Let a time pass.

    Raises:
        RobotCellError: the reason of a cancellation meanwhile.
    """
    await _Wake(node, token, seconds).wait()


async def outcome(
    node: Node,
    future: Future[T],
    token: CancellationToken,
    seconds: float,
    what: str,
    is_there: Callable[[], bool] | None = None,
) -> T:
    """The result of a future. is_there: whether who answers still exists; checked once a second.

    Raises:
        ServiceUnavailableError: `what` did not answer within `seconds`, or is gone.
        RobotCellError: the reason of a cancellation meanwhile.
    """
    waited = 0.0
    while not future.done():
        if waited >= seconds:
            raise ServiceUnavailableError(f"{what} did not answer within {seconds:g} s", subjects=(what,))
        if is_there is not None and not is_there():
            raise ServiceUnavailableError(f"{what} is gone", subjects=(what,))
        step = min(LOOK_PERIOD, seconds - waited)
        wake = _Wake(node, token, step)
        future.add_done_callback(wake)
        await wake.wait()
        future.remove_done_callback(wake)
        waited += step
    return cast("T", future.result())


async def reply_of(
    node: Node,
    client: Client[RequestT, ResponseT],
    request: RequestT,
    token: CancellationToken,
    seconds: float,
    name: str,
) -> ResponseT:
    """The reply of a service.

    Raises:
        ServiceUnavailableError: it did not answer within `seconds`.
        RobotCellError: the reason of a cancellation meanwhile.
    """
    future = client.call_async(request)
    try:
        return await outcome(node, future, token, seconds, name)
    finally:
        client.remove_pending_request(future)


async def available(
    node: Node, is_there: Callable[[], bool], token: CancellationToken, seconds: float, what: str
) -> None:
    """Wait until a service or action is there.

    Raises:
        ServiceUnavailableError: it did not appear within `seconds`.
    """
    left = math.ceil(seconds / POLL_PERIOD)
    while not is_there():
        if left <= 0:
            text = f"{what} did not appear within {seconds:g} s; does its node run, in this namespace and domain?"
            raise ServiceUnavailableError(text, subjects=(what,))
        left -= 1
        await pause(node, POLL_PERIOD, token)
