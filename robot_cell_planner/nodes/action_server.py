"""Action servers whose goals are carried out by coroutines: all accepted, all answered, cancelled by an interrupt."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle

from ..errors import CancelledError, RobotCellError
from .conversions.basic import unexpected
from .interrupts import Interrupt
from .node import CellNode

# Goal, function that sends feedback, what calls it off, and the result to fill.
GoalHandler = Callable[[Any, Callable[[Any], None], Interrupt, Any], Awaitable[None]]
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
        self._interrupts: dict[bytes, Interrupt] = {}
        self._server = ActionServer(
            node,
            kind,
            name,
            self._execute,
            goal_callback=lambda _: GoalResponse.ACCEPT,
            cancel_callback=self._cancel,
            callback_group=node.concurrent,
        )

    def _interrupt(self, handle: ServerGoalHandle) -> Interrupt:
        return self._interrupts.setdefault(bytes(handle.goal_id.uuid), Interrupt())

    def _cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        self._interrupt(handle).set(CancelledError("the client cancelled the goal"))
        return CancelResponse.ACCEPT

    async def _execute(self, handle: ServerGoalHandle) -> Any:
        result = self._kind.Result()
        interrupt = self._interrupt(handle)
        try:
            interrupt.check()
            await self._handler(handle.request, handle.publish_feedback, interrupt, result)
        except RobotCellError as error:
            self._node.get_logger().info(f"{self._name}: {error}")
            self._end_early(handle, result, error)
        except Exception as error:
            # The last fence: a fault of ours must not leave a client waiting; it is reported whole in the log.
            self._node.get_logger().error(f"{self._name}: {traceback.format_exc()}")
            self._end_early(handle, result, unexpected(error, self._name))
        else:
            handle.succeed()
        finally:
            del self._interrupts[bytes(handle.goal_id.uuid)]
        return result

    def _end_early(self, handle: ServerGoalHandle, result: Any, error: RobotCellError) -> None:
        self._fail(result, error)
        if handle.is_cancel_requested and isinstance(error, CancelledError):
            handle.canceled()
        else:
            handle.abort()
