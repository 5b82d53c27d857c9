"""Results of planning requests for viewers: the latest one is published for anyone, besides the reply to its client."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from std_msgs.msg import Header

from robot_cell_planner import action, msg

from ...errors import CancelledError, RobotCellError
from ..common.cancellation import CancellationToken
from ..common.node import LATCHED, CellNode
from ..conversions.basic import error_to_message, time_to_message, unexpected
from ..conversions.wire_types import to_wire

ResultT = TypeVar("ResultT", action.PlanMotion.Result, action.PlanCartesian.Result, action.PlanMultistep.Result)
Handler = Callable[[Any, Callable[[Any], None], CancellationToken, ResultT], Coroutine[Any, Any, None]]


class Outcomes:
    """Publishes the result of each request on `planning/outcome`, except of those that are cancelled."""

    def __init__(self, node: CellNode) -> None:
        self._node = node
        self._publisher = node.create_publisher(msg.PlanningOutcome, "planning/outcome", LATCHED)

    def published(self, name: str, handler: Handler[ResultT]) -> Handler[ResultT]:
        """Return a handler of goals of an action whose results are published after they were sent."""

        async def handle(goal: Any, send: Callable[[Any], None], token: CancellationToken, result: ResultT) -> None:
            outcome = msg.PlanningOutcome(action=name)
            try:
                await handler(goal, send, token, result)
                to_wire(result, "result")  # a result that cannot be sent is an error of its request
                outcome.plans = [*result.plans] if isinstance(result, action.PlanMultistep.Result) else [result.plan]
            except CancelledError:
                raise
            except Exception as error:
                found = error if isinstance(error, RobotCellError) else unexpected(error, name)
                outcome.error = error_to_message(found)
                if isinstance(result, action.PlanMotion.Result):
                    outcome.failure = result.failure
                self._node.soon(partial(self._publish, outcome))
                raise
            self._node.soon(partial(self._publish, outcome))

        return handle

    def _publish(self, outcome: msg.PlanningOutcome) -> None:
        outcome.header = Header(stamp=time_to_message(self._node.get_clock().now().nanoseconds))
        self._publisher.publish(outcome)
