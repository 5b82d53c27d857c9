"""Goals of controllers that a killed process of this node left: they are recognized, and cancelled."""

from __future__ import annotations

import hashlib
import os
from functools import partial
from typing import Any

from action_msgs.msg import GoalStatusArray
from rclpy.task import Future
from rclpy.timer import Timer
from unique_identifier_msgs.msg import UUID

from ..common.goal_requests import RepeatableActionClient
from ..common.goal_status_messages import running_goals
from ..common.node import LATCHED, CellNode
from ..common.waiting import steady_timer

MAX_GOALS = 1000  # of a status message that are read
CANCEL_PERIOD = 0.2  # [s] between requests to cancel a left goal


class GoalIds:
    """Identifiers of goals that contain which node has sent them: 6 bytes of a hash of its name, 4 bytes that are
    random in each process, and 6 random bytes."""

    def __init__(self, node_name: str) -> None:
        self._node = hashlib.sha256(node_name.encode()).digest()[:6]
        self._process = os.urandom(4)

    def new(self) -> UUID:
        """Return the identifier of another goal."""
        return UUID(uuid=list(self._node + self._process + os.urandom(6)))

    def is_of_predecessor(self, goal: bytes) -> bool:
        """Return whether a goal was sent by an earlier process of this node."""
        return goal[:6] == self._node and goal[6:10] != self._process


class LeftGoals:
    """Cancels the goals of a controller that a process of this node left when it was killed: no node monitors them."""

    def __init__(self, node: CellNode, client: RepeatableActionClient, action: str, ids: GoalIds) -> None:
        self._node = node
        self._client = client
        self._action = action
        self._ids = ids
        self._left: set[bytes] = set()
        self._timer: Timer | None = None
        topic = f"{action}/_action/status"
        group = node.concurrent
        node.create_subscription(GoalStatusArray, topic, self._on_status, LATCHED, callback_group=group, raw=True)

    def _on_status(self, message: Any) -> None:  # bytes: rclpy declares no callbacks of raw messages
        left = {goal for goal in running_goals(message, MAX_GOALS) if self._ids.is_of_predecessor(goal)}
        if left - self._left:
            text = "is executing a goal that this node left when it was killed; it is cancelled"
            self._node.get_logger().warning(f"{self._action} {text}")
        for goal in self._left - left:
            self._client.forget(_identity(goal))
        self._left = left
        if left and self._timer is None:
            self._timer = steady_timer(self._node, CANCEL_PERIOD, self._cancel)
            self._cancel()

    def _cancel(self) -> None:
        """Request the cancellation of all left goals, until they have ended: requests may come too early."""
        if not self._left and self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None
        if self._client.server_is_ready():
            for goal in list(self._left):
                self._client.cancel(_identity(goal)).add_done_callback(partial(self._answered, goal))

    def _answered(self, goal: bytes, answer: Future[Any]) -> None:
        if not answer.cancelled():  # it is not requested again
            self._left.discard(goal)
            self._client.forget(_identity(goal))


def _identity(goal: bytes) -> UUID:
    return UUID(uuid=list(goal))
