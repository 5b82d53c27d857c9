"""What all nodes share: declared parameters, services that always answer, and a start that fails in one line."""

from __future__ import annotations

import gc
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

import rclpy
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.task import Future

from ..errors import CancelledError, RobotCellError, StaleStateError
from .conversions.basic import error_to_message, unexpected
from .parameters import Parameter, Parameters

Handler = Callable[[Any, Any], Awaitable[None]]
ActionHandler = Callable[[Any, Any], Awaitable[None]]

LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)

ENDING = 1.0  # [s] that a context may take to end

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


class CellNode(Node):
    """A node of the suite. `declared` lists its parameters; services are registered with `serve`.

    Callbacks are coroutines in one thread: one that waits for the scene or a worker holds up no other.
    """

    declared: ClassVar[Sequence[Parameter]] = ()

    def __init__(self, name: str, namespace: str = "") -> None:
        super().__init__(name, namespace=namespace or None)
        self.parameters = Parameters(self, self.declared)
        self.concurrent = ReentrantCallbackGroup()
        self._action_servers: list[ActionServer] = []

    def create_publisher(self, *arguments: Any, **keywords: Any) -> Publisher:
        """As rclpy's, without the events that warn of a subscription with another quality of service, which warns
        of that itself: the executor would look at each of them every time that it waits."""
        keywords.setdefault("event_callbacks", PublisherEventCallbacks(use_default_callbacks=False))
        return super().create_publisher(*arguments, **keywords)

    def serve(self, kind: type, name: str, handler: Handler) -> None:
        """Offer a service. The handler fills the response; what it raises becomes the response's error report."""

        async def answer(request: Any, response: Any) -> Any:
            try:
                await handler(request, response)
            except StaleStateError as error:
                # Those who wait for news get this every time that there is none.
                response.error = error_to_message(error)
                self.get_logger().debug(f"{name}: {error}")
            except RobotCellError as error:
                response.error = error_to_message(error)
                self.get_logger().info(f"{name}: {error}")
            except Exception as error:
                # The last fence: a fault of ours must not take the node down; it is reported whole in the log.
                response.error = error_to_message(unexpected(error, name))
                self.get_logger().error(f"{name}: {traceback.format_exc()}")
            return response

        self.create_service(kind, name, answer, qos_profile=SERVICES, callback_group=self.concurrent)

    def serve_action(self, kind: type, name: str, handler: ActionHandler, on_cancel: Callable[[Any], None]) -> None:
        """Offer an action. The handler fills the result of a goal; what it raises becomes the result's error report.

        on_cancel: told of a goal that its client wants to end; the handler then is to raise a CancelledError soon.
        """

        async def execute(goal: Any) -> Any:
            result = kind.Result()
            try:
                await handler(goal, result)
                goal.succeed()
            except CancelledError as error:
                result.error = error_to_message(error)
                (goal.canceled if goal.is_cancel_requested else goal.abort)()
            except RobotCellError as error:
                result.error = error_to_message(error)
                goal.abort()
                self.get_logger().info(f"{name}: {error}")
            except Exception as error:
                # The last fence, as in `serve`.
                result.error = error_to_message(unexpected(error, name))
                goal.abort()
                self.get_logger().error(f"{name}: {traceback.format_exc()}")
            return result

        def cancel(goal: Any) -> CancelResponse:
            on_cancel(goal)
            return CancelResponse.ACCEPT

        server = ActionServer(self, kind, name, execute, cancel_callback=cancel, callback_group=self.concurrent)
        self._action_servers.append(server)

    def resolve(self, future: Future, value: Any) -> None:
        """Give a future its value from any thread, and wake the executor that awaits it."""
        if self.executor is not None:
            self.executor.create_task(lambda: None if future.done() else future.set_result(value))

    def soon(self, work: Callable[[], None]) -> None:
        """Do some work when the callback that is running has ended and its reply, if it has one, is out."""
        if self.executor is None:
            work()
        else:
            self.executor.create_task(work)

    def close(self) -> None:
        """Let go of what the node holds; called once when it ends."""


def _ends() -> bool:
    """Whether the context has ended, or is just about to."""
    until = time.monotonic() + ENDING
    while rclpy.ok() and time.monotonic() < until:
        time.sleep(0.01)
    return not rclpy.ok()


def run(kind: Callable[[], CellNode], name: str, arguments: list[str] | None = None) -> int:
    """Run a node until it is told to stop (SIGINT, SIGTERM, shutdown of the context).

    Returns:
        Exit status: 0, or 1 after one line on the standard error stream if the node could not start.
    """
    rclpy.init(args=arguments)
    node = None
    try:
        node = kind()
        gc.freeze()  # what was imported and loaded is not looked through again and again
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except RuntimeError:
        # A callback that is still at work when the context ends finds it invalid, as an RCLError or, where rclpy
        # cannot convert that, another RuntimeError; that is no fault. What the context is made of ends before itself.
        if not _ends():
            raise
    except RobotCellError as error:
        print(f"{name}: {error}".replace("\n", " "), file=sys.stderr, flush=True)
        return 1
    finally:
        gc.unfreeze()  # what is frozen would outlive the libraries that it belongs to
        if node is not None:
            node.close()
            node.destroy_node()
        rclpy.try_shutdown()
    return 0
