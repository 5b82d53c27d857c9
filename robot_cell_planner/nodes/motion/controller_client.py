"""Client of a trajectory controller of ros2_control: its action, and its published state."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTrajectoryControllerState
from rclpy.action.client import ClientGoalHandle
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectoryPoint
from unique_identifier_msgs.msg import UUID

from ...errors import ExecutionError, GoalToleranceError, RobotCellError, StoppedError, TrackingError
from ..common.goal_requests import RepeatableActionClient
from ..common.node import CellNode, sensor
from ..common.polled_subscription import MAX_SIZE, PolledSubscription
from ..conversions.basic import time_from_message
from .left_goals import GoalIds, LeftGoals
from .motion import Array

if TYPE_CHECKING:
    from rclpy.type_support import GetResultServiceResponse

Goal = FollowJointTrajectory.Goal
Result = FollowJointTrajectory.Result
FeedbackMessage = FollowJointTrajectory.Impl.FeedbackMessage
Handle: TypeAlias = "ClientGoalHandle[Goal, Result, FeedbackMessage]"
STAGE = "controller"  # stage of errors of a controller
SILENCE = 0.5  # [s] age at which a state counts as old; controllers publish it in every cycle
MAX_JOINTS = 1000
MAX_OPEN = 20  # goals without a result whose responses are awaited: those of a controller that has ended never arrive


@dataclass(frozen=True, eq=False)
class ControllerState:
    """Published state of a controller: joints, reference and measured positions and velocities (dof,), NaN if missing;
    the stamp [ns], and its speed scaling factor."""

    joints: tuple[str, ...]
    reference: Array
    reference_velocities: Array
    feedback: Array
    feedback_velocities: Array
    stamp: int
    speed_scaling: float


class ControllerClient:
    """A controller. action: name of its FollowJointTrajectory action; `controller_state` is in the same namespace.

    Goals that a killed process of this node left are cancelled.
    """

    def __init__(self, node: CellNode, action: str) -> None:
        self.action = action
        self.name = action.rpartition("/")[0] or action
        self.client = RepeatableActionClient(
            node, FollowJointTrajectory, action, callback_group=node.concurrent, follows_status=False
        )
        topic = f"{self.name}/controller_state"
        self._states = PolledSubscription(node, JointTrajectoryControllerState, topic, sensor(1), max_size=MAX_SIZE)
        self._state: ControllerState | None = None
        self._heard_at = -np.inf
        self._ids = GoalIds(node.get_fully_qualified_name())
        self._open: deque[UUID] = deque()
        LeftGoals(node, self.client, action, self._ids)

    @property
    def is_ready(self) -> bool:
        """Return whether its action is available."""
        return bool(self.client.server_is_ready())

    @property
    def last_state(self) -> ControllerState | None:
        """Return its last state of any age; None without one."""
        for message in self._states.take():
            state = _state_from_message(message)
            if state is not None:
                self._state, self._heard_at = state, time.monotonic()
        return self._state

    @property
    def state(self) -> ControllerState | None:
        """Return its last state; None if that is old, as for an inactive controller."""
        state = self.last_state
        return state if time.monotonic() - self._heard_at <= SILENCE else None

    def send(self, goal: Goal, on_change: Callable[[], None]) -> ControllerGoal:
        """Send a goal. on_change is called when it was rejected or has ended."""
        identity = self._ids.new()
        sent = ControllerGoal(self, identity, self.client.send_goal_async(goal, goal_uuid=identity), on_change)
        self._open.append(identity)
        if len(self._open) > MAX_OPEN:
            self.client.forget(self._open.popleft())
        return sent

    def forget(self, goal: UUID) -> None:
        """Await no further responses about a goal, which has ended."""
        if goal in self._open:
            self._open.remove(goal)
        self.client.forget(goal)

    def refused(self, joints: tuple[str, ...]) -> RobotCellError:
        """Return the error for a rejected goal, with a probable reason, which the action does not contain."""
        state, before = self.state, self.last_state
        foreign = [] if before is None else [joint for joint in joints if joint not in before.joints]
        if foreign:
            why = f"it does not move {', '.join(foreign)}"
        elif before is not None and state is None:
            why = f"it no longer publishes {self.name}/controller_state, so it is not active"
        else:
            why = "see its log; an inactive controller rejects all goals"
        return ExecutionError(f"{self.name} rejected the trajectory: {why}", stage=STAGE, subjects=(self.name,))


class ControllerGoal:
    """A goal sent to a controller. ended: whether it was rejected or has a result; error: why it did not succeed."""

    def __init__(
        self, controller: ControllerClient, identity: UUID, accepted: Future[Handle], on_change: Callable[[], None]
    ) -> None:
        self.error: RobotCellError | None = None
        self.ended = False
        self.refused = False
        self.sent_at = time.monotonic()
        self.accepted = False
        self._controller = controller
        self._identity = identity
        self._on_change = on_change
        self._cancelled = False
        accepted.add_done_callback(self._on_accepted)

    def cancel(self) -> None:
        """Cancel it: the controller holds the position at once, or as configured."""
        self._cancelled = True
        if self.accepted and not self.ended:
            self._controller.client.cancel(self._identity)

    def _on_accepted(self, future: Future[Handle]) -> None:
        if future.cancelled():
            return  # it was forgotten
        handle = future.result()
        if handle is None or not handle.accepted:
            self.refused = self.ended = True
            self._controller.forget(self._identity)
            self._on_change()
            return
        self.accepted = True
        if self._cancelled:
            self._controller.client.cancel(self._identity)
        self._controller.client.request_result(self._identity).add_done_callback(self._on_result)

    def _on_result(self, future: Future[GetResultServiceResponse[Result]]) -> None:
        if future.cancelled():
            return  # it was forgotten
        self._controller.forget(self._identity)
        found = future.result()
        assert found is not None
        name = self._controller.name
        if found.status == GoalStatus.STATUS_CANCELED:
            self.error = StoppedError(f"the goal of {name} was cancelled", stage=STAGE, subjects=(name,))
        elif found.status != GoalStatus.STATUS_SUCCEEDED:
            self.error = _error_of(name, found.result)
        self.ended = True
        self._on_change()


def _error_of(name: str, result: Result) -> RobotCellError:
    text = f"{name} aborted the goal: {result.error_string or f'error code {result.error_code}'}"
    if result.error_code == Result.PATH_TOLERANCE_VIOLATED:
        return TrackingError(text, subjects=(name,))
    if result.error_code == Result.GOAL_TOLERANCE_VIOLATED:
        return GoalToleranceError(text, subjects=(name,))
    return ExecutionError(text, stage=STAGE, subjects=(name,))


def _state_from_message(message: JointTrajectoryControllerState) -> ControllerState | None:
    """Return the state; None for an inconsistent message."""
    joints = tuple(message.joint_names)
    if not 0 < len(joints) <= MAX_JOINTS or len(set(joints)) != len(joints):
        return None
    count, reference, feedback = len(joints), message.reference, message.feedback
    state = ControllerState(
        joints,
        _row(reference, "positions", count),
        _row(reference, "velocities", count),
        _row(feedback, "positions", count),
        _row(feedback, "velocities", count),
        time_from_message(message.header.stamp),
        message.speed_scaling_factor,
    )
    return state if np.isfinite(state.reference).all() and np.isfinite(state.feedback).all() else None


def _row(point: JointTrajectoryPoint, kind: str, count: int) -> Array:
    values = getattr(point, kind)
    return np.array(values, dtype=np.float64) if len(values) == count else np.full(count, np.nan)
