"""Base class of the nodes: declared parameters, services that always reply, and start errors in one line."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import traceback
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, TypeVar

import rclpy
from rclpy.action.client import ActionClient
from rclpy.action.server import ActionServer
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.client import Client
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.executors import ExternalShutdownException, await_or_execute
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.service import Service
from rclpy.service_introspection import ServiceIntrospectionState
from rclpy.task import Future

from robot_cell_planner.msg import ErrorReport

from ...errors import (
    InternalError,
    InvalidRequestError,
    LimitExceededError,
    NotSupportedError,
    RobotCellError,
    StaleStateError,
    drop_tracebacks,
)
from ...security.environment import ENABLE, REMEDY, has_security
from ...system.private_files import PRIVATE_UMASK
from ...system.time_limit import end_process_after
from ..conversions.basic import error_to_message, unexpected
from ..conversions.wire_types import to_wire
from .callback_guard import Faults, GuardedExecutor, NodeEndsError, context_ends, start_context
from .dds_profile import set_dds_profile
from .ending_signals import ignore_signals, interrupt_on_signals
from .exit_status import COULD_NOT_START, FAILED_WHILE_RUNNING
from .large_trajectories import service_in_memory, taken
from .parameters import Parameter, Parameters, refuse_parameters
from .presence import NAME_TAKEN, NameTakenError, Presence
from .replies import repeat_replies
from .requests import Requests
from .service_quality import SERVICES
from .waiting import call_later

if TYPE_CHECKING:
    from interface_types import Service as ServiceType


class Reporting(Protocol):
    """A response or result with an error report."""

    error: ErrorReport


M = TypeVar("M")
RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")

# [s] to release the resources of a node, with its topics and services, and to close the middleware. Fast DDS may wait
# for ever if other participants end meanwhile (https://github.com/eProsima/Fast-DDS/issues/6502).
RELEASE_TIME, CLOSING_TIME = 30.0, 5.0

LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def report_error(message: Any, error: RobotCellError) -> None:
    """Fill the error report of a response or result."""
    message.error = error_to_message(error)


def reliable(depth: int, *, latched: bool = False) -> QoSProfile:
    """Reliable, keep the last `depth`; latched: late subscribers also receive them."""
    durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
    return QoSProfile(
        depth=depth, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.RELIABLE, durability=durability
    )


def sensor(depth: int) -> QoSProfile:
    """Best effort, keep the last `depth`: compatible with reliable and best-effort publishers."""
    return QoSProfile(depth=depth, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.BEST_EFFORT)


INTROSPECTION_STATES = {
    "off": ServiceIntrospectionState.OFF,
    "metadata": ServiceIntrospectionState.METADATA,
    "contents": ServiceIntrospectionState.CONTENTS,
}
INTROSPECTION = Parameter(
    "service_introspection",
    "off",
    "What is published of requests and replies of services and actions, on topics that end with _service_event.",
    choices=tuple(INTROSPECTION_STATES),
)


class WirePublisher(Publisher):  # type: ignore[type-arg]  # not generic in rclpy of Jazzy
    """Publisher that converts the fields of messages to the types of their interface (`to_wire`)."""

    faults: Faults | None = None
    is_open: Callable[[], bool] = staticmethod(lambda: True)  # whether messages are sent or dropped

    def publish(self, msg: Any) -> None:
        """As rclpy's. A message with a number out of range of its field is not sent, but reported. Bytes are a
        serialized message, which is sent as it is."""
        if not self.is_open():
            return
        if isinstance(msg, bytes):
            super().publish(msg)
            return
        try:
            to_wire(msg, type(msg).__name__, finite=False)
        except LimitExceededError as error:
            if self.faults is None:
                raise
            self.faults.report(f"publisher of {self.topic_name}", error)
            return
        super().publish(msg)


class CellNode(Node):
    """A node of this package. `declared` lists its parameters; services are registered with `serve`.

    sole: whether it must be the only node of its name in its domain, on this machine; its presence is then observable
    (`presence`).

    Callbacks are coroutines in one thread: one that waits for the scene or a worker does not block others. Their
    exceptions are reported (`faults`); only `fail` terminates the node.
    """

    declared: ClassVar[Sequence[Parameter]] = ()

    _introspection = ServiceIntrospectionState.OFF

    def __init__(self, name: str, namespace: str = "", *, sole: bool = True) -> None:
        self.faults = Faults(self)
        self.presence: Presence | None = None
        self.requests = Requests()
        self._cleanups = ExitStack()
        try:
            super().__init__(name, namespace=namespace or None)
        except RuntimeError as error:  # an RCLError, which has no public name
            if not has_security(os.environ):
                raise
            text = f"{name} cannot take part in a domain with security ({ENABLE}=true): {error}"
            raise NotSupportedError(text, stage="start", subjects=(name,), remedy=REMEDY) from error
        if sole:
            self.presence = self._shown()
        self.parameters = Parameters(self, self.declared)
        if INTROSPECTION in self.declared:
            self._introspection = INTROSPECTION_STATES[self.parameters[INTROSPECTION.name]]
        self.concurrent = ReentrantCallbackGroup()

    def _shown(self) -> Presence:
        """Return the presence of this node.

        Raises:
            InvalidRequestError: A node of this name is already running.
        """
        name, domain = self.get_fully_qualified_name(), self.context.get_domain_id()
        try:
            return Presence(domain, name)
        except NameTakenError as error:
            text = f"{name} is already running in domain {domain}"
            raise InvalidRequestError(text, stage="start", subjects=(name,), remedy=NAME_TAKEN) from error

    def destroy_node(self) -> None:
        """As rclpy's; also releases the name, and destroys action servers and clients, which rclpy leaves to their
        owners."""
        self.release()
        if self.presence is not None:
            self.presence.close()
        for part in list(self.waitables):
            if isinstance(part, (ActionServer, ActionClient)):
                part.destroy()
        super().destroy_node()

    def create_publisher(
        self, msg_type: type[M], topic: str, qos_profile: QoSProfile | int, **keywords: Any
    ) -> Publisher[M]:
        """As rclpy's, for messages with any number types, and without events of incompatible quality of service, which
        the subscription reports itself: the executor would check each of them at every wait."""
        keywords.setdefault("event_callbacks", PublisherEventCallbacks(use_default_callbacks=False))
        publisher = super().create_publisher(msg_type, topic, qos_profile, publisher_class=WirePublisher, **keywords)
        assert isinstance(publisher, WirePublisher)
        publisher.faults = self.faults
        return publisher

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[[Any, Any], Any], **keywords: Any
    ) -> Service[Any, Any]:
        """As rclpy's, but a reply is also sent if the callback raises, and again while its client is not discovered.
        The queue holds the requests of many clients."""
        keywords.setdefault("qos_profile", SERVICES)

        async def answer(request: Any, response: Any) -> Any:
            try:
                return await await_or_execute(callback, taken(srv_type.Request, request), response)
            except Exception as error:
                self.faults.report(f"service {srv_name}", error)
                refuse_parameters(request, response, error)
                drop_tracebacks(error)
                return response

        service = super().create_service(srv_type, srv_name, answer, **keywords)
        service.srv_type = service_in_memory(srv_type)
        repeat_replies(self, service)
        self.introspect(service)
        return service

    def introspect(self, server: Service[Any, Any] | ActionServer[Any, Any, Any]) -> None:
        """Publish the requests and replies of a service or an action, if the parameter is set. rclpy of Jazzy cannot
        do so for actions."""
        if self._introspection != ServiceIntrospectionState.OFF and hasattr(server, "configure_introspection"):
            server.configure_introspection(self.get_clock(), SERVICES, self._introspection)

    def service_client(self, kind: type[ServiceType[RequestT, ResponseT]], name: str) -> Client[RequestT, ResponseT]:
        """A client of a service, for calls from this node's callbacks."""
        client: Client[RequestT, ResponseT] = self.create_client(
            kind, name, qos_profile=SERVICES, callback_group=self.concurrent
        )
        return client

    def serve(
        self,
        kind: type[ServiceType[RequestT, ResponseT]],
        name: str,
        handler: Callable[[RequestT, ResponseT], Coroutine[Any, Any, None]],
        fail: Callable[[ResponseT, RobotCellError], None] | None = None,
    ) -> None:
        """Offer a service. The handler fills the response; an exception becomes the error of the response.

        fail: writes an error into the response; without it, into its error report. A non-finite number in the response
        is also an error, unless its interface documents it.
        """

        async def answer(request: RequestT, response: ResponseT) -> ResponseT:
            try:
                self.requests.check()
                await self.requests.serve(handler(request, response))
                report = getattr(response, "error", None)
                return to_wire(response, finite=report is None or report.code == ErrorReport.NONE)
            except StaleStateError as error:
                # The normal reply to requests that wait for a newer state.
                self.get_logger().debug(f"{name}: {error}")
                failure: RobotCellError = error
            except RobotCellError as error:
                self.get_logger().info(f"{name}: {error}")
                failure = error
            except Exception as error:
                # An internal error must not terminate the node; it is logged with its traceback.
                failure = self.named(name, error)
            return self.failed(response, failure, fail or report_error)

        self.create_service(kind, name, answer, qos_profile=SERVICES, callback_group=self.concurrent)

    def named(self, name: str, error: Exception) -> RobotCellError:
        """Return an unexpected exception as an error that can be sent; internal errors are logged."""
        found = unexpected(error, name)
        if isinstance(found, InternalError):
            self.faults.report(name, error)
        else:
            self.get_logger().info(f"{name}: {found}")
        return found

    def failed(self, message: M, failure: RobotCellError, fill: Callable[[M, RobotCellError], object]) -> M:
        """Return a response or result with an error, set by `fill`, and its other fields as far as they can be sent.

        The error loses its traceback, with which it would keep the request in memory.
        """
        drop_tracebacks(failure)
        fill(message, failure)
        try:
            return to_wire(message, finite=False)
        except Exception as error:
            self.faults.report(type(message).__name__, error)
            empty = type(message)()
            fill(empty, failure)
            return to_wire(empty, finite=False)

    def fail(self, error: RobotCellError) -> None:
        """Terminate the node from one of its callbacks, with one line on the standard error stream."""
        raise NodeEndsError(error)

    def start(self) -> None:
        """Start the node; called once, when there is an executor.

        Raises:
            RobotCellError: The node cannot start.
        """

    def resolve(self, future: Future[M], value: M) -> None:
        """Resolve a future from any thread, and wake the executor."""
        if self.executor is not None:
            self.executor.create_task(lambda: None if future.done() else future.set_result(value))

    def soon(self, work: Callable[[], object]) -> None:
        """Call a function after the running callback has ended and its reply or result, if any, has been sent: after
        the tasks that are ready, which send results of goals."""
        if self.executor is None:
            work()
        else:
            call_later(self, 0.0, work)

    def on_release(self, work: Callable[[], object]) -> None:
        """Register a clean-up function, called when the node releases its resources or terminates, in reverse order of
        registration."""
        self._cleanups.callback(work)

    def release(self) -> None:
        """Call the registered clean-up functions."""
        self._cleanups.close()


def _print_error(name: str, error: RobotCellError) -> None:
    """Print one line on the standard error stream, with what to do."""
    remedy = f". {error.remedy}" if error.remedy else ""
    print(f"{name}: {error}{remedy}".replace("\n", " "), file=sys.stderr, flush=True)


def end(status: int) -> NoReturn:
    """End the process as `sys.exit` does, but without finalizing the interpreter: garbage collection and unloading of
    some thousand modules would take seconds on a busy computer. Nothing needs them after `run`.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the stream is closed
            stream.flush()
    os._exit(status)


def run(kind: Callable[[], CellNode], name: str, arguments: list[str] | None = None) -> int:
    """Run a node until it is stopped (`ending_signals`, shutdown of the context). Files that it creates are private to
    the user, and it is not reachable from other computers unless the environment allows it (`dds_profile`).

    Returns:
        Exit status: 0, or one of `exit_status` if the node could not start or has failed, after one line on the
        standard error stream, or a traceback for an internal error. A process that does not release the resources of
        the node in time, or whose middleware does not close in time afterwards, ends by SIGALRM.
    """
    os.umask(PRIVATE_UMASK)
    set_dds_profile()
    interrupt_on_signals()
    node, status = None, COULD_NOT_START
    try:
        start_context(arguments)
        node = kind()
        executor = GuardedExecutor(node.faults)
        executor.add_node(node)
        node.start()
        status = FAILED_WHILE_RUNNING
        gc.freeze()  # exclude imported modules from garbage collection
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except (RobotCellError, NodeEndsError) as error:
        _print_error(name, error.error if isinstance(error, NodeEndsError) else error)
        return status
    except Exception as error:
        interrupted = isinstance(error.__cause__, KeyboardInterrupt)  # while C converted a message
        if not (interrupted or (isinstance(error, RuntimeError) and context_ends())):
            traceback.print_exc()
            return status
    finally:
        # A signal that shut the context down may still interrupt this thread.
        ignore_signals()
        gc.unfreeze()  # frozen objects would outlive the libraries that they belong to
        if node is not None:
            with end_process_after(RELEASE_TIME):
                node.release()
        with end_process_after(CLOSING_TIME):
            if node is not None:
                node.destroy_node()
            rclpy.try_shutdown()
            rclpy.get_default_context().destroy()  # also announces the end of the DDS participant
    return 0
