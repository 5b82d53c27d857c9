"""Blocking calls of services and actions that return the reply or raise the error in it."""

from __future__ import annotations

import atexit
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import rclpy
from action_msgs.msg import GoalStatus
from rclpy.action.client import ActionClient, ClientGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from ...errors import CancelledError, ExecutionError, InvalidRequestError, ServiceUnavailableError
from ..common.callback_guard import GuardedExecutor
from ..common.dds_profile import set_dds_profile
from ..common.goal_requests import RepeatableActionClient
from ..common.node import CellNode
from ..common.robot_topics import ROBOT_TOPICS
from ..common.server_monitor import ServerMonitor, ServerMonitors
from ..common.service_quality import SERVICES
from ..conversions.basic import error_from_message
from ..conversions.wire_types import to_wire
from .closing import join_in_time
from .usage import Usage
from .waits import accepted_goal, check_timeout, reply_to, result_of_goal, wait_until_served

if TYPE_CHECKING:
    from interface_types import Action, Service

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")
GoalT = TypeVar("GoalT")
ResultT = TypeVar("ResultT")
FeedbackT = TypeVar("FeedbackT")
T = TypeVar("T")
Connection = TypeVar("Connection", bound="CellConnection")
Progress = Callable[[FeedbackT], None]
CANCELLED_WITHIN = 2.0  # [s] that a process which is interrupted waits for the response to a cancellation


class ClientNode(CellNode):
    """Node of a client, which reads joint states where the nodes of the cell do."""

    declared = (ROBOT_TOPICS,)


class CellConnection:
    """Blocking calls of the services and actions of a cell's nodes, from any thread except the client node's own.

    Callbacks of the client node may publish, but not call: the reply would be received by the same thread. A client
    that is still open when the program ends is closed then.

    discovery_timeout [s]: time that a node may take to appear. Every call raises the RobotCellError that the node
    reported, ServiceUnavailableError if no node replies, the client was closed or ROS was shut down, or ServerLostError
    as soon as the called node has terminated.
    """

    def __init__(self, name: str = "cell_client", namespace: str = "", discovery_timeout: float = 30.0) -> None:
        self._owns_context = not rclpy.ok()
        if self._owns_context:
            set_dds_profile()
            # On Ctrl-C, Python raises KeyboardInterrupt, and the goal that is waited for can still be cancelled; in
            # commands also on SIGTERM.
            options: Any = SignalHandlerOptions
            raises = signal.getsignal(signal.SIGTERM) is signal.default_int_handler
            rclpy.init(signal_handler_options=options.NO if raises else options.SIGTERM)
        self.node = ClientNode(name, namespace, sole=False)
        self._name = self.node.get_name()  # a shutdown of ROS destroys the node
        self._group = ReentrantCallbackGroup()
        self._discovery_timeout = discovery_timeout
        self.usage = Usage(self.node.context.ok)
        self._clients: dict[str, Any] = {}  # and publishers; entries are added in the thread of the executor
        self._executor = GuardedExecutor(self.node.faults)
        self._monitors: dict[str, ServerMonitors] = {}
        self._executor.add_node(self.node)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cell client", daemon=True)
        self._thread.start()
        atexit.register(self.close)  # an interpreter that ends while a thread is in rclpy may abort

    def _run(self) -> None:
        """Run callbacks until the client is closed, and destroy its node then, which the middleware may block."""
        try:
            self._spin()
        except Exception as error:  # reported now: the client may be closed much later
            threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, self._thread)))
        self._closing.wait()
        self._destroy()

    def _destroy(self) -> None:
        self._executor.shutdown()
        for monitors in self._monitors.values():
            monitors.close()
        self.node.destroy_node()
        if self._owns_context:
            rclpy.try_shutdown()

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except (ExternalShutdownException, RuntimeError):  # an RCLError, if something was being created
            if self.node.context.ok():
                raise

    def __enter__(self: Connection) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Destroy the node of the client. Calls in progress in other threads end, and their goals are cancelled; later
        calls are refused. If that takes longer than 10 s, the program continues, with a warning on the standard error
        stream.

        Raises:
            InvalidRequestError: A callback of the client node closes it, whose end would have to be waited for.
        """
        if threading.current_thread() is self._thread:
            text = "a callback of the client node cannot close the client, which waits for the end of callbacks"
            raise InvalidRequestError(text, stage="client", remedy="Close it in another thread.")
        atexit.unregister(self.close)
        if not self.usage.close(CANCELLED_WITHIN):
            return
        self._executor.create_task(self._executor.end)
        self._closing.set()  # last: from now on, the thread may destroy the node and the executor at any time
        join_in_time(self._thread, self._name)

    def call_service(
        self,
        kind: type[Service[RequestT, ResponseT]],
        name: str,
        request: RequestT,
        timeout: float = 60.0,
        retries: int = 0,
    ) -> ResponseT:
        """Call a service and return its reply; an error in the reply is raised. An idempotent request is sent again if
        no reply has been received within 3 s, then 6 s and so on (`server_monitor.IDEMPOTENT`); to a server that has
        replied to this client before, within 30 s, then 60 s and so on.

        timeout [s]: of one attempt, at most a day. retries: further attempts if the service is unavailable or its node
        terminates; only for requests that change nothing.

        Raises:
            InvalidRequestError: A field of the request has a value of another type, or a callback of the client node
                calls.
            ServiceUnavailableError: The service does not appear, or an idempotent request gets no reply.
            ServerLostError: The node of the service terminated during an idempotent request.
            OutcomeUnknownError: A request that must not be repeated got no reply, or the node terminated meanwhile.
        """
        self._check_thread(name)
        check_timeout(timeout)
        _check_fields(request)
        for _ in range(retries):
            try:
                return self._call_once(kind, name, request, timeout)
            except ServiceUnavailableError:
                self.usage.check_open()
        return self._call_once(kind, name, request, timeout)

    def _call_once(
        self, kind: type[Service[RequestT, ResponseT]], name: str, request: RequestT, timeout: float
    ) -> ResponseT:
        with self.usage.call():
            client = self._service_client(kind, name)
            ready = self.usage.while_open(client.service_is_ready)
            relative = name.removeprefix(f"{self.node.get_namespace().rstrip('/')}/")
            with self._monitored(name, ready, is_action=False) as monitor:
                reply: ResponseT = reply_to(client, request, relative, monitor, ready, timeout, monitor.has_replied)
                monitor.note_reply()
        _raise_error(reply)
        return reply

    def wait_for_service(self, kind: type[Service[RequestT, ResponseT]], name: str, timeout: float) -> None:
        """Wait until a service is available.

        timeout [s]: at most a day.

        Raises:
            InvalidRequestError: A callback of the client node calls.
            ServiceUnavailableError: The service does not appear.
        """
        self._check_thread(name)
        check_timeout(timeout)
        with self.usage.call():
            ready = self.usage.while_open(self._service_client(kind, name).service_is_ready)
            with self._monitored(name, ready, is_action=False, timeout=timeout):
                pass

    def _service_client(self, kind: type[Any], name: str) -> Any:
        """Return the client of a service, which is created by the first call."""
        make = partial(self.node.create_client, kind, name, qos_profile=SERVICES, callback_group=self._group)
        return self._entity(name, make)

    def send_goal(
        self,
        kind: type[Action[GoalT, ResultT, FeedbackT]],
        name: str,
        goal: GoalT,
        progress: Progress[FeedbackT] | None = None,
        timeout: float = 600.0,
    ) -> ResultT:
        """Send a goal to an action and return its result; an error in the result is raised. The goal is cancelled if
        this call ends without its result.

        progress: called with each feedback.

        timeout [s]: at most a day.

        Raises:
            InvalidRequestError: A field of the goal has a value of another type, or a callback of the client node
                calls.
            ServiceUnavailableError: The action does not appear, or there is no result within the timeout.
            ServerLostError: The node terminated, and the goal is lost; a restarted node does not know it.
            OutcomeUnknownError: No response about the acceptance of the goal was received.
            ExecutionError: The goal did not succeed, and its result contains no error.
        """
        self._check_thread(name)
        check_timeout(timeout)
        _check_fields(goal)
        with self.usage.call():
            found = self._result_of(kind, name, goal, progress, timeout)
        result: ResultT = found.result
        _raise_error(result)
        if found.status != GoalStatus.STATUS_SUCCEEDED:
            outcome = "was cancelled" if found.status == GoalStatus.STATUS_CANCELED else "was aborted"
            error = ExecutionError(
                f"the goal of action {name} {outcome}; the reason is in the log of its server", subjects=(name,)
            )
            error.partial = result
            raise error
        return result

    def _result_of(
        self, kind: type[Any], name: str, goal: object, progress: Progress[Any] | None, timeout: float
    ) -> Any:
        """Send a goal, and return its result with its status."""
        client = self._action_client(kind, name)
        ready = self.usage.while_open(client.server_is_ready)
        goal_id = UUID(uuid=list(os.urandom(16)))
        feedback = None if progress is None else lambda message: progress(message.feedback)
        send = partial(self._send_goal_async, client, goal, feedback, goal_id)
        with self._monitored(name, ready, is_action=True) as monitor:
            until = time.monotonic() + timeout
            try:
                handle = accepted_goal(send, name, monitor, ready, until)
                if not handle.accepted:
                    raise CancelledError(f"action {name} rejected the goal", subjects=(name,))
                request_result = partial(client.request_result, goal_id)
                return result_of_goal(request_result, lambda: client.status_of(handle), name, monitor, ready, until)
            except BaseException as ending:
                # A goal is also cancelled if it is unknown whether it was accepted: no client would monitor it.
                cancelled = client.cancel(goal_id)
                if isinstance(ending, KeyboardInterrupt):  # this process is about to end
                    with suppress(ServiceUnavailableError):
                        self._wait(cancelled, CANCELLED_WITHIN, name)
                raise
            finally:
                client.forget(goal_id)

    def _action_client(self, kind: type[Any], name: str) -> RepeatableActionClient:
        """Return the client of an action, which is created by the first call."""
        make = partial(RepeatableActionClient, self.node, kind, name, callback_group=self._group, follows_status=False)
        return self._entity(name, make)

    def _entity(self, name: str, make: Callable[[], T]) -> T:
        """Return the client or publisher of a name, which the first call makes, whatever its thread."""
        if name in self._clients:
            return cast("T", self._clients[name])
        return self._made(partial(self._created_entity, name, make))

    def _created_entity(self, name: str, make: Callable[[], T]) -> T:
        """As `_entity`, in the thread of the executor. No lock is held meanwhile: callbacks also publish."""
        if name not in self._clients:
            self._clients[name] = make()
        return cast("T", self._clients[name])

    @contextmanager
    def subscribed(
        self, kind: type[Any], name: str, take: Callable[[Any], None], profile: QoSProfile
    ) -> Iterator[Callable[[threading.Event, float], bool]]:
        """Subscribe to a topic. take: called with each message, in the client's own thread.

        The block gets a function that waits for an event up to a time [s], and returns whether it was set. The
        function and the block raise ServiceUnavailableError if the client is closed.
        """
        self._check_thread(name)
        with self.usage.call():
            subscription = self._made(partial(self.node.create_subscription, kind, name, take, profile))
        try:
            yield self.usage.wait
        finally:
            with suppress(ServiceUnavailableError), self.usage.call():  # closed: it was destroyed with the node
                self._made(partial(self.node.destroy_subscription, subscription))

    def _check_thread(self, name: str) -> None:
        if threading.current_thread() is self._thread:
            text = f"{name}: a callback of the client node cannot wait for a reply, which the same thread receives"
            remedy = "Call it in another thread; callbacks of the client node may publish."
            raise InvalidRequestError(text, stage="client", subjects=(name,), remedy=remedy)

    def _made(self, make: Callable[[], T]) -> T:
        """Return the result of `make`, called in the thread of the executor, which must not see incomplete action
        clients."""
        if threading.current_thread() is self._thread:
            return make()
        return self._wait(self._executor.create_task(make), self._discovery_timeout, "the executor of the client")

    def _send_goal_async(
        self,
        client: ActionClient[Any, Any, Any],
        goal: object,
        feedback: Progress[Any] | None = None,
        goal_id: UUID | None = None,
    ) -> Future[ClientGoalHandle[Any, Any, Any]]:
        """Send a goal. Returns the future of its handle.

        rclpy 9 registers two futures for a goal, one after the other; a response that another thread takes between
        the two resolves only the internal one. Its own clients send in the thread of the executor.
        """
        send = partial(client.send_goal_async, goal, feedback_callback=feedback, goal_uuid=goal_id)
        return send() if isinstance(client, RepeatableActionClient) else self._made(send)

    @contextmanager
    def _monitored(
        self, name: str, is_ready: Callable[[], bool], is_action: bool, timeout: float | None = None
    ) -> Iterator[ServerMonitor]:
        """Wait until the server is available, for the discovery timeout or another one [s]. The block gets the monitor
        of its node."""
        monitors = self._monitors.setdefault(name, ServerMonitors(self.node, name, is_action))
        what = f"{'action' if is_action else 'service'} {name}"
        with monitors.of_call() as monitor:
            wait_until_served(what, is_ready, monitor, timeout or self._discovery_timeout)
            yield monitor

    def _wait(self, future: Future[T], timeout: float, name: str) -> T:
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        if not self.usage.wait(done, timeout):
            raise ServiceUnavailableError(f"{name} did not answer within {timeout:g} s", subjects=(name,))
        return cast("T", future.result())


def _check_fields(message: object) -> None:
    """Convert fields to the types of the interface; rclpy would end the process if it sent another type."""
    name = type(message).__name__
    try:
        to_wire(message, name, finite=False)
    except TypeError as error:
        raise InvalidRequestError(f"{name}: {error}", stage="request", subjects=(name,)) from error


def _raise_error(reply: object) -> None:
    report = getattr(reply, "error", None)
    error = error_from_message(report) if report is not None else None
    if error is not None:
        error.partial = reply
        raise error
