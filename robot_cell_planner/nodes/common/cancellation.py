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
POLL_PERIOD = 0.1  # [s] between checks for a server that has not appeared yet
LIVENESS_PERIOD = 1.0  # [s] between checks whether a server is still available
LAST_REPLY = 0.1  # [s] in which a reply arrives that a server has sent just before its end


class CancellationToken:
    """Cancels the work for a request. The first reason counts; listeners are called once, with it."""

    def __init__(self) -> None:
        self.error: RobotCellError | None = None
        self._listeners: list[Callable[[RobotCellError], None]] = []

    def set(self, error: RobotCellError) -> None:
        """Cancel with a reason."""
        if self.error is not None:
            return
        self.error = error
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener(error)

    def on_set(self, listener: Callable[[RobotCellError], None]) -> None:
        """Call `listener(error)` on cancellation, or at once if the token is already set."""
        if self.error is not None:
            listener(self.error)
        else:
            self._listeners.append(listener)

    def remove(self, listener: Callable[[RobotCellError], None]) -> None:
        """Remove a listener."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def check(self) -> None:
        """Raise the reason if the token is set."""
        if self.error is not None:
            raise self.error


class _Wake:
    """A future that is resolved by the first of several events."""

    def __init__(self, node: Node, token: CancellationToken, seconds: float) -> None:
        self._future: Future[None] = Future()
        self._token = token
        self._deadline = Deadline(node, seconds)

    def __call__(self, _: object = None) -> None:
        if not self._future.done():
            self._future.set_result(None)

    async def wait(self) -> None:
        """Wait for the first event; raises the reason of a cancellation."""
        self._deadline.wakes(self._future)
        self._token.on_set(self)
        try:
            await self._future
        finally:
            self._token.remove(self)
            self._deadline.end()
        self._token.check()


async def pause(node: Node, seconds: float, token: CancellationToken) -> None:
    """Wait for a time.

    Raises:
        RobotCellError: The reason of a cancellation.
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
    """Return the result of a future. is_there: returns whether the server still exists; called once a second.

    Raises:
        ServiceUnavailableError: `what` did not reply within `seconds`, or is no longer available.
        RobotCellError: The reason of a cancellation.
    """
    waited, has_ended = 0.0, False
    while not future.done():
        if waited >= seconds:
            raise ServiceUnavailableError(f"{what} did not reply within {seconds:g} s", subjects=(what,))
        if has_ended:
            raise ServiceUnavailableError(f"{what} is no longer available", subjects=(what,))
        has_ended = is_there is not None and not is_there()
        step = min(LAST_REPLY if has_ended else LIVENESS_PERIOD, seconds - waited)
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
    """Return the reply of a service.

    Raises:
        ServiceUnavailableError: It did not reply within `seconds`.
        RobotCellError: The reason of a cancellation.
    """
    future = client.call_async(request)
    try:
        return await outcome(node, future, token, seconds, name)
    finally:
        client.remove_pending_request(future)


async def available(
    node: Node, is_there: Callable[[], bool], token: CancellationToken, seconds: float, what: str
) -> None:
    """Wait until a service or action is available.

    Raises:
        ServiceUnavailableError: It did not appear within `seconds`.
    """
    left = math.ceil(seconds / POLL_PERIOD)
    while not is_there():
        if left <= 0:
            text = f"{what} did not appear within {seconds:g} s; does its node run, in this namespace and domain?"
            raise ServiceUnavailableError(text, subjects=(what,))
        left -= 1
        await pause(node, POLL_PERIOD, token)
