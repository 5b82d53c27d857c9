"""What all nodes share: declared parameters, services that always answer, and a start that fails in one line."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
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
from rclpy.task import Future

from robot_cell_planner.msg import ErrorReport

from ...errors import (
    InternalError,
    InvalidRequestError,
    LimitExceededError,
    NotSupportedError,
    RobotCellError,
    StaleStateError,
)
from ...security.environment import ENABLE, has_security
from ...system.private_files import PRIVATE_UMASK
from ..conversions.basic import error_to_message, unexpected
from ..conversions.wire_types import to_wire
from .callback_guard import Faults, GuardedExecutor, NodeEndsError, context_ends
from .dds_profile import set_dds_profile
from .parameters import Parameter, Parameters, refuse_parameters
from .presence import NameTakenError, Presence
from .requests import Requests

if TYPE_CHECKING:
    from interface_types import Service as ServiceType


class Reporting(Protocol):
    """A response or result with an error report."""

    error: ErrorReport


M = TypeVar("M")
RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")
ReportingT = TypeVar("ReportingT", bound=Reporting)

LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# Deep enough for many clients that call at once. With rmw_fastrtps every client hears all replies of a service, and
# passes over those of others: in a shallow queue these push out its own.
SERVICES = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)


def reliable(depth: int, *, latched: bool = False) -> QoSProfile:
    """Reliable, keep the last `depth`; latched: late subscribers get those too."""
    durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
    return QoSProfile(
        depth=depth, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.RELIABLE, durability=durability
    )


def sensor(depth: int) -> QoSProfile:
    """Best effort, keep the last `depth`: hears reliable and best-effort publishers alike."""
    return QoSProfile(depth=depth, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.BEST_EFFORT)


class WirePublisher(Publisher):  # type: ignore[type-arg]  # not generic in rclpy of Jazzy
    """Publishes messages whose fields are converted to what their interface declares (`to_wire`)."""

    faults: Faults | None = None
    is_open: Callable[[], bool] = staticmethod(lambda: True)  # whether messages are sent, or dropped

    def publish(self, msg: Any) -> None:
        """As rclpy's. A message with a number that does not fit its field is not sent, but reported."""
        if not self.is_open():
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
    """A node of the suite. `declared` lists its parameters; services are registered with `serve`.

    sole: whether it must be the only node of its name in its domain, on this machine; it then shows that it lives
    (`presence`).

    Callbacks are coroutines in one thread: one that waits for the scene or a worker holds up no other. What they raise
    is reported (`faults`) and ends nothing, except by `fail`.
    """

    declared: ClassVar[Sequence[Parameter]] = ()

    def __init__(self, name: str, namespace: str = "", *, sole: bool = True) -> None:
        self.faults = Faults(self)
        self.presence: Presence | None = None
        self.requests = Requests()
        self._held = ExitStack()
        try:
            super().__init__(name, namespace=namespace or None)
        except RuntimeError as error:  # an RCLError, which has no public name
            if not has_security(os.environ):
                raise
            text = f"{name} cannot take part in a domain with security ({ENABLE}=true): {error}"
            raise NotSupportedError(text, stage="start", subjects=(name,)) from error
        if sole:
            self.presence = self._shown()
        self.parameters = Parameters(self, self.declared)
        self.concurrent = ReentrantCallbackGroup()

    def _shown(self) -> Presence:
        """What shows that this node lives.

        Raises:
            InvalidRequestError: a node of this name runs already.
        """
        name, domain = self.get_fully_qualified_name(), self.context.get_domain_id()
        try:
            return Presence(domain, name)
        except NameTakenError as error:
            text = f"{name} runs already in domain {domain}: end it, or set another ROS_DOMAIN_ID or namespace (__ns)"
            raise InvalidRequestError(text, stage="start", subjects=(name,)) from error

    def destroy_node(self) -> None:
        """As rclpy's; gives the name back, and destroys its parts of actions, which rclpy leaves to their owners."""
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
        """As rclpy's, for messages of any number types, and without the events that warn of a subscription with another
        quality of service, which warns of that itself: the executor would look at each of them every time that it
        waits."""
        keywords.setdefault("event_callbacks", PublisherEventCallbacks(use_default_callbacks=False))
        publisher = super().create_publisher(msg_type, topic, qos_profile, publisher_class=WirePublisher, **keywords)
        assert isinstance(publisher, WirePublisher)
        publisher.faults = self.faults
        return publisher

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[[Any, Any], Any], **keywords: Any
    ) -> Service[Any, Any]:
        """As rclpy's, but that a callback which raises leaves nobody without a reply."""

        async def answer(request: Any, response: Any) -> Any:
            try:
                return await await_or_execute(callback, request, response)
            except Exception as error:
                self.faults.report(f"service {srv_name}", error)
                refuse_parameters(request, response, error)
                return response

        return super().create_service(srv_type, srv_name, answer, **keywords)

    def service_client(self, kind: type[ServiceType[RequestT, ResponseT]], name: str) -> Client[RequestT, ResponseT]:
        """A client of a service, for calls from this node's callbacks."""
        client: Client[RequestT, ResponseT] = self.create_client(kind, name, callback_group=self.concurrent)
        return client

    def serve(
        self,
        kind: type[ServiceType[RequestT, ReportingT]],
        name: str,
        handler: Callable[[RequestT, ReportingT], Coroutine[Any, Any, None]],
    ) -> None:
        """Offer a service. The handler fills the response; what it raises becomes the response's error report.

        So does a number in the response that is not finite where its interface documents none.
        """

        async def answer(request: RequestT, response: ReportingT) -> ReportingT:
            try:
                self.requests.check()
                await self.requests.serve(handler(request, response))
                return to_wire(response, finite=response.error.code == ErrorReport.NONE)
            except StaleStateError as error:
                # Those who wait for news get this every time that there is none.
                self.get_logger().debug(f"{name}: {error}")
                report = error_to_message(error)
            except RobotCellError as error:
                self.get_logger().info(f"{name}: {error}")
                report = error_to_message(error)
            except Exception as error:
                # The last fence: a fault of ours must not take the node down; it is reported whole in the log.
                report = error_to_message(self.named(name, error))
            return self.failed(response, lambda message: setattr(message, "error", report))

        self.create_service(kind, name, answer, qos_profile=SERVICES, callback_group=self.concurrent)

    def named(self, name: str, error: Exception) -> RobotCellError:
        """An error that a handler did not name, as one that can be sent; a fault of ours is reported."""
        found = unexpected(error, name)
        if isinstance(found, InternalError):
            self.faults.report(name, error)
        else:
            self.get_logger().info(f"{name}: {found}")
        return found

    def failed(self, message: M, fill: Callable[[M], object]) -> M:
        """A response or result with what `fill` says of its error, and whatever else it holds that can be sent."""
        fill(message)
        try:
            return to_wire(message, finite=False)
        except Exception as error:
            self.faults.report(type(message).__name__, error)
            empty = type(message)()
            fill(empty)
            return to_wire(empty, finite=False)

    def fail(self, error: RobotCellError) -> None:
        """End the node, from one of its callbacks, with one line on the standard error stream."""
        raise NodeEndsError(error)

    def start(self) -> None:
        """Begin to work; called once, when there is an executor.

        Raises:
            RobotCellError: the node cannot start.
        """

    def resolve(self, future: Future[M], value: M) -> None:
        """Give a future its value from any thread, and wake the executor that awaits it."""
        if self.executor is not None:
            self.executor.create_task(lambda: None if future.done() else future.set_result(value))

    def soon(self, work: Callable[[], object]) -> None:
        """Do some work when the callback that is running has ended and its reply, if it has one, is out."""
        if self.executor is None:
            work()
        else:
            self.executor.create_task(work)

    def on_release(self, work: Callable[[], object]) -> None:
        """Do some work, which lets go of something that the node holds, when the node gives its resources back or ends;
        what was registered last is done first."""
        self._held.callback(work)

    def release(self) -> None:
        """Let go of what the node holds."""
        self._held.close()


def _print_error(name: str, error: RobotCellError) -> int:
    """One line on the standard error stream; returns the exit status."""
    print(f"{name}: {error}".replace("\n", " "), file=sys.stderr, flush=True)
    return 1


def end(status: int) -> NoReturn:
    """End the process as `sys.exit` does, but without taking the interpreter apart: a collection of all garbage, and
    the end of some thousand modules, would take seconds on a busy computer. Nothing is left that needs it after `run`.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads it any more
            stream.flush()
    os._exit(status)


def run(kind: Callable[[], CellNode], name: str, arguments: list[str] | None = None) -> int:
    """Run a node until it is told to stop (SIGINT, SIGTERM, shutdown of the context). Files are its user's alone, and
    other computers do not reach it unless the environment asks for it, see `localhost`.

    Returns:
        Exit status: 0, or 1 after one line on the standard error stream if the node could not start.
    """
    os.umask(PRIVATE_UMASK)
    set_dds_profile()
    rclpy.init(args=arguments)
    node = None
    try:
        node = kind()
        executor = GuardedExecutor(node.faults)
        executor.add_node(node)
        node.start()
        gc.freeze()  # what was imported and loaded is not looked through again and again
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except RuntimeError:
        if not context_ends():
            raise
    except RobotCellError as error:
        return _print_error(name, error)
    except NodeEndsError as stop:
        return _print_error(name, stop.error)
    finally:
        # A Ctrl-C that ended the context may still be about to interrupt this thread.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        gc.unfreeze()  # what is frozen would outlive the libraries that it belongs to
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
        rclpy.get_default_context().destroy()  # with its participant of DDS, of which others are told by that
    return 0
