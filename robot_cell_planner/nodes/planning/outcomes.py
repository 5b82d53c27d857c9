"""Results of planning requests for viewers: the latest one is published for anyone, besides the reply to its client."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from std_msgs.msg import Header

from robot_cell_planner import action, msg

from ...errors import CancelledError, RobotCellError
from ..common.node import LATCHED, CellNode
from ..conversions.basic import time_to_message

ResultT = TypeVar("ResultT", action.PlanMotion.Result, action.PlanCartesian.Result, action.PlanMultistep.Result)


class Outcomes:
    """Publishes the result of each request on `planning/outcome`, except of those that are cancelled."""

    def __init__(self, node: CellNode) -> None:
        self._node = node
        self._publisher = node.create_publisher(msg.PlanningOutcome, "planning/outcome", LATCHED)

    def of(self, name: str) -> Callable[[ResultT, RobotCellError | None], None]:
        """Return a function that publishes a result of an action, or the error of its goal, after it was sent."""

        def publish(result: ResultT, error: RobotCellError | None) -> None:
            if isinstance(error, CancelledError):
                return
            outcome = msg.PlanningOutcome(action=name)
            if error is None:
                outcome.plans = [*result.plans] if isinstance(result, action.PlanMultistep.Result) else [result.plan]
            else:
                outcome.error = result.error
                if isinstance(result, action.PlanMotion.Result):
                    outcome.failure = result.failure
            self._node.soon(partial(self._publish, outcome))

        return publish

    def _publish(self, outcome: msg.PlanningOutcome) -> None:
        outcome.header = Header(stamp=time_to_message(self._node.get_clock().now().nanoseconds))
        self._publisher.publish(outcome)
