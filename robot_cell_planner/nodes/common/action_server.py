"""Action servers whose goals are handled by coroutines: every goal is accepted and gets a result."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rclpy.action.server import CancelResponse, ServerGoalHandle

from ...errors import CancelledError, LimitExceededError, RobotCellError, StopRequestedError
from ..conversions.wire_types import to_wire
from .cancellation import CancellationToken
from .goal_requests import RepeatableActionServer
from .node import CellNode

if TYPE_CHECKING:
    from interface_types import Action

GoalT = TypeVar("GoalT")
ResultT = TypeVar("ResultT")
FeedbackT = TypeVar("FeedbackT")

# Arguments: goal, function that sends feedback, token that is set on cancellation, result to fill.
GoalHandler = Callable[[GoalT, Callable[[FeedbackT], None], CancellationToken, ResultT], Coroutine[Any, Any, None]]


class GoalServer(Generic[GoalT, ResultT, FeedbackT]):
    """Offers an action.

    Every goal is accepted, since a rejection cannot contain a reason. A goal is aborted if its handler raises, and
    `fail(result, error)` writes the error into the result. Cancelling a goal sets its token; the goal ends when the
    handler does. begins_early: see `RepeatableActionServer`. on_end(result, error): called with the result of each
    goal, as it will be sent, and the error that ended the goal, if any.
    """

    def __init__(
        self,
        node: CellNode,
        kind: type[Action[GoalT, ResultT, FeedbackT]],
        name: str,
        handler: GoalHandler[GoalT, FeedbackT, ResultT],
        fail: Callable[[ResultT, RobotCellError], None],
        begins_early: bool = False,
        on_end: Callable[[ResultT, RobotCellError | None], None] = lambda result, error: None,
    ) -> None:
        self._node = node
        self._kind: Any = kind
        self._name = name
        self._handler = handler
        self._fail = fail
        self._on_end = on_end
        self._tokens: dict[bytes, CancellationToken] = {}
        self.server = RepeatableActionServer(
            node,
            kind,
            name,
            self._execute,
            begins_early=begins_early,
            withdraw=self._withdraw,
            cancel_callback=self._cancel,
            callback_group=node.concurrent,
        )
        node.introspect(self.server)

    def _token(self, handle: ServerGoalHandle[GoalT, ResultT, FeedbackT]) -> CancellationToken:
        return self._tokens.setdefault(bytes(handle.goal_id.uuid), CancellationToken())

    def _cancel(self, handle: ServerGoalHandle[GoalT, ResultT, FeedbackT]) -> CancelResponse:
        """Cancel a goal; if that raises, the cancellation is rejected and the goal continues."""
        try:
            self._token(handle).set(CancelledError("the client cancelled the goal"))
        except Exception as error:
            self._node.faults.report(f"cancelling {self._name}", error)
            return CancelResponse.REJECT
        return CancelResponse.ACCEPT

    def _withdraw(self, handle: ServerGoalHandle[GoalT, ResultT, FeedbackT]) -> None:
        """Let a goal end before its handler is called."""
        text = "the response to the goal could not be sent, and the client did not send the goal again"
        self._token(handle).set(StopRequestedError(text, stage="goal response"))

    async def _execute(self, handle: ServerGoalHandle[GoalT, ResultT, FeedbackT]) -> ResultT:
        result: ResultT = self._kind.Result()
        token = self._token(handle)
        try:
            self._node.requests.check()
            token.check()
            work = self._handler(handle.request, lambda feedback: self._send(handle, feedback), token, result)
            await self._node.requests.pursue(work, token)
            to_wire(result, "result")
        except RobotCellError as error:
            self._node.get_logger().info(f"{self._name}: {error}")
            return self._failed(handle, result, error)
        except Exception as error:
            # An internal error also ends the goal; the log contains its traceback.
            return self._failed(handle, result, self._node.named(self._name, error))
        else:
            self._on_end(result, None)
            self._end(handle.succeed)
        finally:
            del self._tokens[bytes(handle.goal_id.uuid)]
        return result

    def _failed(
        self, handle: ServerGoalHandle[GoalT, ResultT, FeedbackT], result: ResultT, error: RobotCellError
    ) -> ResultT:
        """Return the result of a goal that ended with an error."""
        result = self._node.failed(result, error, self._fail)
        self._on_end(result, error)
        cancelled = handle.is_cancel_requested and isinstance(error, CancelledError)
        self._end(handle.canceled if cancelled else handle.abort)
        return result

    def _end(self, end: Callable[[], None]) -> None:
        """Set the final state of a goal; an error, such as on shutdown of the node, is reported."""
        try:
            end()
        except RuntimeError as error:  # an RCLError
            self._node.faults.report("the end of a goal", error)

    def _send(self, handle: ServerGoalHandle[GoalT, ResultT, FeedbackT], feedback: FeedbackT) -> None:
        """Send feedback of an active goal; an error is reported."""
        publish: Callable[[Any], None] = handle.publish_feedback  # rclpy declares a different type than it accepts
        try:
            if handle.is_active:
                publish(to_wire(feedback, "feedback"))
        except (RuntimeError, TypeError, LimitExceededError) as error:
            self._node.faults.report("feedback", error)
