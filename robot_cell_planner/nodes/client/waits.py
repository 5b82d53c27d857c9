"""Waits of a client for replies, goals and results, which end at the timeout or when the server terminates."""

from __future__ import annotations

import enum
import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action.graph import get_action_names_and_types
from rclpy.node import Node

from ...errors import InvalidRequestError, ServiceUnavailableError, Value
from ..common.cancellation import LAST_REPLY
from ..common.server_monitor import (
    CHECK_PERIOD,
    GOAL_AGAIN,
    KNOWN_AGAIN,
    REQUEST_AGAIN,
    ServerMonitor,
    is_idempotent,
    may_be_sent_again,
    outcome_unknown,
    server_lost,
)
from ..conversions.basic import MAX_TIMEOUT

ACCEPTED_WITHIN = 30.0  # [s] timeout of a goal response
APPEAR_PERIOD = 0.02  # [s] between checks for a server
ENDED = (GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED)


def check_timeout(timeout: float) -> None:
    """Check a timeout.

    Raises:
        InvalidRequestError: It is not positive, or longer than MAX_TIMEOUT [s].
    """
    if not 0.0 < timeout <= MAX_TIMEOUT:
        numbers = (Value("timeout", timeout, MAX_TIMEOUT, "s"),)
        text = f"timeout is {timeout:g} s, expected more than 0 and at most {MAX_TIMEOUT:g} s"
        raise InvalidRequestError(text, stage="client", subjects=("timeout",), values=numbers)


def wait_until_served(name: str, is_ready: Callable[[], bool], monitor: ServerMonitor, timeout: float) -> None:
    """Wait until the server is available, and monitor it from then on.

    Raises:
        ServiceUnavailableError: It is not available within `timeout` [s].
    """
    until = time.monotonic() + timeout
    while not (is_ready() and monitor.begin()):
        if time.monotonic() >= until:
            text = f"{name} did not appear within {timeout:g} s; does its node run, in this domain?"
            raise ServiceUnavailableError(text, subjects=(name,))
        time.sleep(APPEAR_PERIOD)


def first_offered(
    node: Node, actions: Sequence[tuple[str, type[Any]]], timeout: float, check_open: Callable[[], None]
) -> type[Any]:
    """Return the type of the first available action of a sequence of names and types; the first type if none is
    available within `timeout` [s]. check_open: raises the error of a closed client."""
    until, space = time.monotonic() + timeout, node.get_namespace().rstrip("/") + "/"
    while time.monotonic() < until:
        check_open()
        offered = {
            (name.removeprefix(space), kind) for name, kinds in get_action_names_and_types(node) for kind in kinds
        }
        for name, kind in actions:
            if (name, interface_name(kind)) in offered:
                return kind
        time.sleep(APPEAR_PERIOD)
    return actions[0][1]


def interface_name(kind: type[Any]) -> str:
    """Return the name of a ROS type in the graph, such as "control_msgs/action/GripperCommand"."""
    package, folder, *_ = kind.__module__.split(".")
    return f"{package}/{folder}/{kind.__name__}"


class Futures:
    """Futures of repeated requests, of which the first result counts."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._futures: list[Any] = []

    def __len__(self) -> int:
        return len(self._futures)

    def add(self, future: Any) -> None:
        self._futures.append(future)
        future.add_done_callback(lambda _: self._done.set())

    def wait(self, seconds: float) -> bool:
        """Return whether one is done within a time [s]."""
        return self._done.wait(seconds)

    def first(self) -> Any:
        """Return the result of the first future that is done."""
        return next(future for future in self._futures if future.done()).result()

    def cancel(self) -> None:
        """Cancel the futures that are not done."""
        for future in self._futures:
            if not future.done():
                future.cancel()

    def drop(self, client: Any) -> None:
        """Remove the pending requests from the client of a service."""
        for future in self._futures:
            client.remove_pending_request(future)


class _Ended(enum.Enum):
    """Reason why a wait ended without a result."""

    LOST = enum.auto()
    TIMEOUT = enum.auto()


def _first_of(
    futures: Futures,
    send: Callable[[], Any],
    again: float,
    monitor: ServerMonitor,
    is_ready: Callable[[], bool],
    until: float,
) -> _Ended | None:
    """Send until one of the futures is done; None if one is.

    again: time after which the request is sent again [s], doubled each time. until: end, on the steady clock [s].
    """
    send_at = -math.inf
    while True:
        now = time.monotonic()
        if now >= send_at:
            futures.add(send())
            send_at, again = now + again, 2.0 * again
        if futures.wait(max(min(CHECK_PERIOD, until - now), 0.0)):
            return None
        if monitor.lost(is_ready()):
            return None if futures.wait(LAST_REPLY) else _Ended.LOST
        if time.monotonic() >= until:
            return _Ended.TIMEOUT


def reply_to(
    client: Any,
    request: Any,
    name: str,
    monitor: ServerMonitor,
    is_ready: Callable[[], bool],
    timeout: float,
    is_known: bool = False,
) -> Any:
    """Return the reply to a request. An idempotent request is sent again until a reply is received.

    is_ready: returns whether the service is available; raises ServiceUnavailableError if the client was closed.
    is_known: whether the server has replied to this client before; the request is sent again much later then.

    Raises:
        ServiceUnavailableError: An idempotent request got no reply.
        ServerLostError: The server of an idempotent request terminated.
        OutcomeUnknownError: Either of these, for any other request.
    """
    repeats = is_idempotent(name)
    until, again = time.monotonic() + timeout, math.inf
    if repeats:
        again = KNOWN_AGAIN if is_known else REQUEST_AGAIN
    futures = Futures()
    try:
        try:
            ended = _first_of(futures, partial(client.call_async, request), again, monitor, is_ready, until)
        except ServiceUnavailableError as closed:
            if repeats or not futures:
                raise
            raise outcome_unknown(name, f"{closed.message} before it replied") from closed
        if ended is None:
            return futures.first()
        if ended is _Ended.LOST:
            if repeats:
                raise server_lost(f"service {name}", monitor.node, "request", monitor.replaced)
            raise outcome_unknown(name, f"its server {monitor.node} terminated before it replied")
        if repeats:
            text = f"service {name} did not reply within {timeout:g} s ({len(futures)} requests)"
            raise ServiceUnavailableError(text, subjects=(name,))
        raise outcome_unknown(name, f"no reply within {timeout:g} s")
    finally:
        futures.drop(client)


def accepted_goal(
    send: Callable[[], Any], name: str, monitor: ServerMonitor, is_ready: Callable[[], bool], until: float
) -> Any:
    """Return the handle of a goal. send: sends the goal and returns the future of its handle. Goals of this package's
    actions are sent again until a response is received.

    Raises:
        ServerLostError: The server terminated.
        OutcomeUnknownError: No response about its acceptance was received.
    """
    until = min(until, time.monotonic() + ACCEPTED_WITHIN)
    again = GOAL_AGAIN if may_be_sent_again(name) else math.inf
    futures = Futures()
    try:
        ended = _first_of(futures, send, again, monitor, is_ready, until)
        if ended is None:
            return futures.first()
        if ended is _Ended.LOST:
            raise server_lost(f"action {name}", monitor.node, "goal", monitor.replaced)
        raise outcome_unknown(name, f"no goal response within {ACCEPTED_WITHIN:g} s; the goal was cancelled")
    finally:
        futures.cancel()


def result_of_goal(
    request_result: Callable[[], Any],
    status: Callable[[], int],
    name: str,
    monitor: ServerMonitor,
    is_ready: Callable[[], bool],
    until: float,
) -> Any:
    """Return the result of an accepted goal, with its status. The request for the result is repeated after 3 s, then 6
    s and so on, and every 3 s once the status says that the goal has ended: a response can be lost, and a node that was
    configured again does not know the goal.

    request_result: requests the result and returns the future. status: returns the last known status of the goal.

    Raises:
        ServerLostError: The server terminated, or was restarted and does not know the goal.
        ServiceUnavailableError: The goal has not ended by the time `until`.
    """
    futures = Futures()
    futures.add(request_result())
    again, ended = REQUEST_AGAIN, False
    ask_at = time.monotonic() + again
    while not futures.wait(CHECK_PERIOD):
        now = time.monotonic()
        if monitor.lost(is_ready()):
            if futures.wait(LAST_REPLY):
                break
            raise server_lost(f"action {name}", monitor.node, "goal", monitor.replaced)
        if now >= until:
            text = f"action {name} has not ended within the timeout; the goal was cancelled"
            raise ServiceUnavailableError(text, subjects=(name,))
        if now >= ask_at:
            futures.add(request_result())
            again = REQUEST_AGAIN if ended else 2.0 * again
            ask_at = now + again
        elif not ended and status() in ENDED:
            ended, ask_at = True, min(ask_at, now + REQUEST_AGAIN)
    found = futures.first()
    if found.status == GoalStatus.STATUS_UNKNOWN:
        raise server_lost(f"action {name}", monitor.node, "goal", replaced=True)
    return found
