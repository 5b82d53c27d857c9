"""Action servers whose goals are carried out by coroutines: all accepted, all answered, cancelled by an interrupt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from rclpy.action.server import ServerGoalHandle

from ...errors import CancelledError, RobotCellError
from ..conversions.wire_types import to_wire
from .cancellation import CancellationToken
from .node import CellNode

# Goal, function that sends feedback, what calls it off, and the result to fill.
GoalHandler = Callable[[Any, Callable[[Any], None], CancellationToken, Any], Awaitable[None]]
Failure = Callable[[Any, RobotCellError], None]


class GoalServer:
    """Offers an action.

    A goal is always accepted: a rejection could carry no reason. One that cannot be met is aborted, and `fail(result,
    error)` writes the reason into the result. Cancelling sets the goal's interrupt; the goal ends when the handler has.
    """

    def __init__(self, node: CellNode, kind: Any, name: str, handler: GoalHandler, fail: Failure) -> None:
        self._node = node
        self._kind = kind
        self._name = name
        self._handler = handler
        self._fail = fail
        self._interrupts: dict[bytes, CancellationToken] = {}
        self._server = node.create_action_server(kind, name, self._execute, self._cancel)

    def _interrupt(self, handle: ServerGoalHandle) -> CancellationToken:
        return self._interrupts.setdefault(bytes(handle.goal_id.uuid), CancellationToken())

    def _cancel(self, handle: ServerGoalHandle) -> None:
        self._interrupt(handle).set(CancelledError("the client cancelled the goal"))

    async def _execute(self, handle: ServerGoalHandle) -> Any:
        result = self._kind.Result()

        def tell(feedback: Any) -> None:
            self._node.send_feedback(handle, feedback)

        interrupt = self._interrupt(handle)
        try:
            interrupt.check()
            await self._handler(handle.request, tell, interrupt, result)
            to_wire(result, "result")
        except RobotCellError as error:
            self._node.get_logger().info(f"{self._name}: {error}")
            return self._ended_early(handle, result, error)
        except Exception as error:
            # The last fence: a fault of ours must not leave a client waiting; it is reported whole in the log.
            return self._ended_early(handle, result, self._node.named(self._name, error))
        else:
            self._node.end_goal(handle, handle.succeed)
        finally:
            del self._interrupts[bytes(handle.goal_id.uuid)]
        return result

    def _ended_early(self, handle: ServerGoalHandle, result: Any, error: RobotCellError) -> Any:
        """The result of a goal that was not met."""
        result = self._node.failed(result, lambda message: self._fail(message, error))
        was_cancelled = handle.is_cancel_requested and isinstance(error, CancelledError)
        self._node.end_goal(handle, handle.canceled if was_cancelled else handle.abort)
        return result
