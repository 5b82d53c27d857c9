"""How a client waits for replies, goals and results: never longer than it was told, and not for who has ended."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action.graph import get_action_names_and_types
from rclpy.node import Node

from ...errors import InvalidRequestError, ServiceUnavailableError, Value
from ..common.server_monitor import (
    CHECK_PERIOD,
    GOAL_AGAIN,
    REQUEST_AGAIN,
    ServerMonitor,
    is_idempotent,
    may_be_sent_again,
    outcome_unknown,
    server_lost,
)
from ..conversions.basic import MAX_TIMEOUT

ACCEPTED_WITHIN = 30.0  # [s] that a server may take to say whether it accepts a goal
APPEAR_LOOK = 0.02  # [s] between two looks whether somebody serves
ENDED = (GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED)


def check_timeout(timeout: float) -> None:
    """Refuse times that are none, or longer than a day.

    Raises:
        InvalidRequestError: not within 0 to MAX_TIMEOUT [s].
    """
    if not 0.0 < timeout <= MAX_TIMEOUT:
        numbers = (Value("timeout", timeout, MAX_TIMEOUT, "s"),)
        text = f"a timeout of {timeout:g} s, expected more than 0 and at most {MAX_TIMEOUT:g} s"
        raise InvalidRequestError(text, stage="client", subjects=("timeout",), values=numbers)


def wait_until_served(name: str, is_ready: Callable[[], bool], monitor: ServerMonitor, timeout: float) -> None:
    """Wait until somebody serves, who is monitored from then on.

    Raises:
        ServiceUnavailableError: nobody does within `timeout` [s].
    """
    until = time.monotonic() + timeout
    while not (is_ready() and monitor.begin()):
        if time.monotonic() >= until:
            text = f"{name} did not appear within {timeout:g} s; does its node run, in this domain?"
            raise ServiceUnavailableError(text, subjects=(name,))
        time.sleep(APPEAR_LOOK)


def first_offered(node: Node, actions: Sequence[tuple[str, type[Any]]], timeout: float) -> type[Any]:
    """The type of the first of some actions, given by name and type, that anybody offers; that of the first of all if
    nobody offers any within `timeout` [s]."""
    until, space = time.monotonic() + timeout, node.get_namespace().rstrip("/") + "/"
    while time.monotonic() < until:
        offered = {
            (name.removeprefix(space), kind) for name, kinds in get_action_names_and_types(node) for kind in kinds
        }
        for name, kind in actions:
            if (name, interface_name(kind)) in offered:
                return kind
        time.sleep(APPEAR_LOOK)
    return actions[0][1]


def interface_name(kind: type[Any]) -> str:
    """The name of a ROS type as the graph has it, such as "control_msgs/action/GripperCommand"."""
    package, folder, *_ = kind.__module__.split(".")
    return f"{package}/{folder}/{kind.__name__}"


class Futures:
    """Futures of equal requests, of which the first answer counts."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._futures: list[Any] = []

    def __len__(self) -> int:
        return len(self._futures)

    def add(self, future: Any) -> None:
        self._futures.append(future)
        future.add_done_callback(lambda _: self._done.set())

    def wait(self, seconds: float) -> bool:
        """Whether one of them has come within some time."""
        return self._done.wait(seconds)

    def first(self) -> Any:
        """What came."""
        return next(future for future in self._futures if future.done()).result()

    def cancel(self) -> None:
        """Wait for none of those any more that have not come."""
        for future in self._futures:
            if not future.done():
                future.cancel()

    def drop(self, client: Any) -> None:
        """Let a service's client forget those that have not come."""
        for future in self._futures:
            client.remove_pending_request(future)


def reply_to(client: Any, request: Any, name: str, monitor: ServerMonitor, timeout: float) -> Any:
    """The reply to a request, which is sent again while none comes if it is idempotent.

    Raises:
        ServiceUnavailableError: none came to an idempotent request.
        ServerLostError: the server of an idempotent request has ended.
        OutcomeUnknownError: either of these, for any other request.
    """
    repeats = is_idempotent(name)
    until, again = time.monotonic() + timeout, REQUEST_AGAIN if repeats else math.inf
    futures = Futures()
    ask_at = -math.inf
    try:
        while True:
            now = time.monotonic()
            if now >= ask_at:
                futures.add(client.call_async(request))
                ask_at, again = now + again, 2.0 * again
            if futures.wait(min(CHECK_PERIOD, timeout)):
                return futures.first()
            if monitor.lost(client.service_is_ready()):
                if repeats:
                    raise server_lost(f"service {name}", monitor.node, "request", monitor.replaced)
                raise outcome_unknown(name, f"its server {monitor.node} ended before it replied")
            if time.monotonic() >= until:
                if repeats:
                    text = f"service {name} did not answer within {timeout:g} s, asked {len(futures)} times"
                    raise ServiceUnavailableError(text, subjects=(name,))
                raise outcome_unknown(name, f"no reply came within {timeout:g} s")
    finally:
        futures.drop(client)


def accepted_goal(
    send: Callable[[], Any], name: str, monitor: ServerMonitor, is_ready: Callable[[], bool], until: float
) -> Any:
    """The handle of a goal. send: sends it, and returns the future of its handle. An action of this suite
    is sent the goal again while there is no answer.

    Raises:
        ServerLostError: the server has ended.
        OutcomeUnknownError: nobody has said whether it is accepted.
    """
    until = min(until, time.monotonic() + ACCEPTED_WITHIN)
    again = GOAL_AGAIN if may_be_sent_again(name) else math.inf
    futures = Futures()
    ask_at = -math.inf
    try:
        while True:
            now = time.monotonic()
            if now >= ask_at:
                futures.add(send())
                ask_at, again = now + again, 2.0 * again
            if futures.wait(CHECK_PERIOD):
                return futures.first()
            if monitor.lost(is_ready()):
                raise server_lost(f"action {name}", monitor.node, "goal", monitor.replaced)
            if time.monotonic() >= until:
                raise outcome_unknown(name, "nobody has said whether the goal is accepted; it is cancelled")
    finally:
        futures.cancel()


def result_of_goal(
    ask: Callable[[], Any],
    status: Callable[[], int],
    name: str,
    monitor: ServerMonitor,
    is_ready: Callable[[], bool],
    until: float,
) -> Any:
    """The result of an accepted goal, with its status. It is asked for again when none has come for 3 s, then 6 s and
    so on, and every 3 s once the goal has ended by its status: an answer can be lost, and a node that was configured
    anew knows nothing of the goal.

    ask: asks for the result; returns the future. status: of the goal, as far as it is known.

    Raises:
        ServerLostError: the server has ended, or knows nothing of the goal, since it has taken another's place.
        ServiceUnavailableError: the goal has not ended in time.
    """
    futures = Futures()
    futures.add(ask())
    again, ended = REQUEST_AGAIN, False
    ask_at = time.monotonic() + again
    while not futures.wait(CHECK_PERIOD):
        now = time.monotonic()
        if monitor.lost(is_ready()):
            raise server_lost(f"action {name}", monitor.node, "goal", monitor.replaced)
        if now >= until:
            raise ServiceUnavailableError(f"action {name} has not ended in time; it is cancelled", subjects=(name,))
        if now >= ask_at:
            futures.add(ask())
            again = REQUEST_AGAIN if ended else 2.0 * again
            ask_at = now + again
        elif not ended and status() in ENDED:
            ended, ask_at = True, min(ask_at, now + REQUEST_AGAIN)
    found = futures.first()
    if found.status == GoalStatus.STATUS_UNKNOWN:
        raise server_lost(f"action {name}", monitor.node, "goal", replaced=True)
    return found
