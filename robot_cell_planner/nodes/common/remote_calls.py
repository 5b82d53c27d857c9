"""Services and actions of other nodes as coroutines that return the reply or raise the error in it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from action_msgs.msg import GoalStatus
from rclpy.client import Client
from rclpy.task import Future
from rclpy.type_support import check_for_type_support
from unique_identifier_msgs.msg import UUID

from ...errors import CancelledError, RobotCellError, ServerLostError, ServiceUnavailableError
from ..conversions.basic import error_from_message
from .cancellation import CancellationToken, available, outcome
from .goal_requests import RepeatableActionClient
from .node import CellNode, Reporting
from .parameters import Parameter
from .server_monitor import (
    GOAL_AGAIN,
    KNOWN_AGAIN,
    REQUEST_AGAIN,
    ServerMonitor,
    ServerMonitors,
    is_idempotent,
    outcome_unknown,
    server_lost,
)
from .unlocked_requests import call_async

if TYPE_CHECKING:
    from interface_types import Action, Service

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT", bound=Reporting)
GoalT = TypeVar("GoalT")
ResultT = TypeVar("ResultT", bound=Reporting)
FeedbackT = TypeVar("FeedbackT")
T = TypeVar("T")
REPLY_TIMEOUT = "reply_timeout"
STOP_TIMEOUT = 30.0  # [s] for the result of a goal that was cancelled

REMOTE_PARAMETERS = (
    Parameter("server_timeout", 5.0, "Time to wait for another node to appear [s].", 0.0, 600.0, running=True),
    Parameter(REPLY_TIMEOUT, 60.0, "Time to wait for the reply of another node [s].", 0.1, 86_400.0, running=True),
)


async def _repeated(
    node: CellNode,
    send: Callable[[], Future[T]],
    drop: Callable[[Future[T]], object],
    first: float,
    timeout: float,
    what: str,
    token: CancellationToken,
    lives: Callable[[], bool],
) -> T:
    """Send a request until there is a reply to one of them: it can be lost during discovery. first [s]: before it is
    sent again, doubled each time. drop: removes a pending request."""
    reply: Future[T] = Future()
    sent: list[Future[T]] = []
    try:
        while True:
            sent.append(send())
            sent[-1].add_done_callback(partial(_pass_on, reply))
            try:
                return await outcome(node, reply, token, min(first, timeout), what, lives)
            except ServiceUnavailableError:
                timeout -= first
                first *= 2.0
                if timeout <= 0.0 or not lives():
                    raise
    finally:
        for future in sent:
            drop(future)


def _pass_on(reply: Future[T], done: Future[T]) -> None:
    """Resolve the future of a reply as one of its requests was, unless another one was before."""
    if reply.done() or done.cancelled():
        return
    error = done.exception()
    if error is not None:
        reply.set_exception(error)
    else:
        reply.set_result(cast("T", done.result()))


class RemoteService(Generic[RequestT, ResponseT]):
    """A service of another node, for a node with REMOTE_PARAMETERS. limit: parameter with the time limit of a reply.

    from_first_call: create the client of the service by the first call. DDS sends all replies to every client, which
    would wake this node for those to others.
    """

    def __init__(
        self,
        node: CellNode,
        kind: type[Service[RequestT, ResponseT]],
        name: str,
        limit: str = REPLY_TIMEOUT,
        from_first_call: bool = False,
    ) -> None:
        self._node, self._name, self._limit = node, name, limit
        self._kind = kind
        check_for_type_support(kind)  # loads libraries, during which other threads of the node would wait
        if not from_first_call:
            _ = self._client
        self._monitors = ServerMonitors(node, name, is_action=False)
        node.on_release(self._monitors.close)

    @cached_property
    def _client(self) -> Client[RequestT, ResponseT]:
        return self._node.service_client(self._kind, self._name)

    async def __call__(self, request: RequestT, token: CancellationToken | None = None) -> ResponseT:
        """Return the reply.

        Raises:
            ServiceUnavailableError: The node does not run, or does not reply in time.
            OutcomeUnknownError: The same after a request that may have changed something.
            RobotCellError: The error of the reply, which is in `partial`; or the reason of a cancellation.
        """
        with self._monitors.of_call() as monitor:
            return await self._call(request, token or CancellationToken(), monitor)

    async def _call(self, request: RequestT, token: CancellationToken, monitor: ServerMonitor) -> ResponseT:
        node, client = self._node, self._client
        what, timeouts = f"service {self._name}", node.parameters

        def served() -> bool:
            return client.service_is_ready() and monitor.begin()

        def lives() -> bool:
            return not monitor.lost(client.service_is_ready())

        await available(node, served, token, timeouts["server_timeout"], what)
        send, drop, limit = (
            partial(call_async, client, request),
            client.remove_pending_request,
            timeouts[self._limit],
        )
        if is_idempotent(self._name):
            again = KNOWN_AGAIN if monitor.has_replied else REQUEST_AGAIN
            reply = await _repeated(node, send, drop, again, limit, what, token, lives)
            monitor.note_reply()
        else:
            reply = await self._once(send(), limit, what, token, lives)
        return checked(reply)

    async def _once(
        self, future: Future[ResponseT], limit: float, what: str, token: CancellationToken, lives: Callable[[], bool]
    ) -> ResponseT:
        try:
            return await outcome(self._node, future, token, limit, what, lives)
        except ServiceUnavailableError as error:
            raise outcome_unknown(self._name, error.message) from error
        finally:
            self._client.remove_pending_request(future)


class RemoteAction(Generic[GoalT, ResultT, FeedbackT]):
    """An action of another node, for a node with REMOTE_PARAMETERS. limit: parameter with the time limit of the
    response to a goal.

    from_first_goal: create the client of the action by the first call. DDS sends feedback, states and results of all
    goals to every client, which would wake this node for those of others.
    """

    def __init__(
        self,
        node: CellNode,
        kind: type[Action[GoalT, ResultT, FeedbackT]],
        name: str,
        limit: str = REPLY_TIMEOUT,
        from_first_goal: bool = False,
    ) -> None:
        self._node, self._name, self._limit = node, name, limit
        self._kind = kind
        check_for_type_support(kind)  # loads libraries, during which other threads of the node would wait
        if not from_first_goal:
            _ = self._client
        self._monitors = ServerMonitors(node, name, is_action=True)
        node.on_release(self._monitors.close)

    @cached_property
    def _client(self) -> Any:
        return RepeatableActionClient(
            self._node, self._kind, self._name, callback_group=self._node.concurrent, follows_status=False
        )

    async def __call__(
        self,
        goal: GoalT,
        token: CancellationToken,
        on_feedback: Callable[[FeedbackT], None] | None = None,
        *,
        rest: bool = False,
    ) -> ResultT:
        """Return the result of a goal. rest: after a cancellation, wait for the result: the robot is at rest then. A
        goal that the server does not know is not waited for.

        Raises:
            ServiceUnavailableError: The node does not run, ends, or rejects the goal.
            RobotCellError: The error of the result, which is in `partial`; or the reason of a cancellation.
        """
        with self._monitors.of_call() as monitor:
            return await self._call(goal, token, on_feedback, rest, monitor)

    async def _call(
        self,
        goal: GoalT,
        token: CancellationToken,
        on_feedback: Callable[[FeedbackT], None] | None,
        rest: bool,
        monitor: ServerMonitor,
    ) -> ResultT:
        node, client = self._node, self._client
        what, timeouts = f"action {self._name}", node.parameters

        def served() -> bool:
            return bool(client.server_is_ready()) and monitor.begin()

        def lives() -> bool:
            return not monitor.lost(client.server_is_ready())

        await available(node, served, token, timeouts["server_timeout"], what)
        identity = UUID(uuid=list(os.urandom(16)))
        send = partial(
            client.send_goal_async,
            goal,
            feedback_callback=None if on_feedback is None else lambda message: on_feedback(message.feedback),
            goal_uuid=identity,
        )
        result_of = partial(self._result_of, monitor, lives)
        try:
            limit = timeouts[self._limit]
            handle = await _repeated(node, send, Future.cancel, GOAL_AGAIN, limit, what, token, lives)
            if not handle.accepted:
                raise ServiceUnavailableError(f"{what} rejected the goal", subjects=(self._name,))
            found = await result_of(identity, token, math.inf)
        except RobotCellError:
            client.cancel(identity)
            if rest and lives():  # the goal may have begun although its response has not arrived
                with suppress(ServerLostError):
                    await result_of(identity, CancellationToken(), STOP_TIMEOUT)
            raise
        finally:
            client.forget(identity)
        done: ResultT = checked(found.result)
        if found.status != GoalStatus.STATUS_SUCCEEDED:
            raise CancelledError(f"{what} ended without a result", subjects=(self._name,))
        return done

    async def _result_of(
        self,
        monitor: ServerMonitor,
        lives: Callable[[], bool],
        identity: UUID,
        token: CancellationToken,
        timeout: float,
    ) -> Any:
        """Return the result of a goal, with its status. It is requested again after 3 s, then 6 s and so on:
        a response can be lost, and a node that was configured again does not know the goal.

        Raises:
            ServerLostError: The server does not know the goal.
            ServiceUnavailableError: It has ended, or the goal has not within a timeout [s].
            RobotCellError: The reason of a cancellation.
        """
        send, what = partial(self._client.request_result, identity), f"action {self._name}"
        found = await _repeated(self._node, send, Future.cancel, REQUEST_AGAIN, timeout, what, token, lives)
        if found.status == GoalStatus.STATUS_UNKNOWN:
            raise server_lost(what, monitor.node, "goal", replaced=True)
        return found


def checked(reply: ResultT) -> ResultT:
    """Return a reply or result.

    Raises:
        RobotCellError: The error in it; the reply is in `partial`.
    """
    error = error_from_message(reply.error)
    if error is not None:
        error.partial = reply
        raise error
    return reply
