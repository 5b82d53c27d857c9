"""Motions that a controller of ros2_control carries out: this node hands trajectories over and gives no commands."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from rclpy.action.client import ActionClient, ClientGoalHandle
from rclpy.task import Future

from ...errors import (
    ExecutionError,
    NotSupportedError,
    RobotCellError,
    ServiceUnavailableError,
    StoppedError,
    TrackingError,
)
from ...trajectory.sampler import TrajectorySample
from ...trajectory.trajectory import Trajectory
from ..common.cancellation import CancellationToken, available
from ..common.node import CellNode
from ..conversions.basic import duration_to_message
from ..conversions.trajectories import trajectory_to_message
from .joint_feedback import lost
from .motion import AT_GOAL, ON_PATH, Array, Motion, Sent
from .trajectory_goals import MotionGoal

if TYPE_CHECKING:
    from rclpy.type_support import GetResultServiceResponse

Goal = FollowJointTrajectory.Goal
Result = FollowJointTrajectory.Result
FeedbackMessage = FollowJointTrajectory.Impl.FeedbackMessage
Controller: TypeAlias = "ActionClient[Goal, Result, FeedbackMessage]"
Handle: TypeAlias = "ClientGoalHandle[Goal, Result, FeedbackMessage]"


class ControllerMotion(Motion):
    """A goal that a controller carries out. Its stop is the controller's own; it can be neither paused nor slowed down.

    on_end: called when the controller has answered.
    """

    def __init__(self, client: Controller, on_end: Callable[[], None], *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._client = client
        self._on_end = on_end
        self._handle: Handle | None = None
        self._answer: RobotCellError | None = None
        self._answered = False
        self._sent = Sent()
        first = self.goal.trajectory.positions[0]
        self._last = TrajectorySample(0.0, first, np.zeros_like(first), np.zeros_like(first))

    @property
    def sent(self) -> Sent:
        return self._sent

    @property
    def last(self) -> TrajectorySample:
        return self._last

    @property
    def _ended(self) -> bool:
        return self._answered

    def send(self) -> None:
        """Hand the trajectory over, with velocities and accelerations, so that the controller joins its points by the
        very curve that was validated."""
        trajectory = slowed(self.goal.trajectory.completed(), self.scale)
        goal = Goal(trajectory=trajectory_to_message(trajectory))
        tolerances = self.goal.tolerances
        goal.path_tolerance = _tolerances(self.goal, tolerances.path, tolerances.path_velocity)
        goal.goal_tolerance = _tolerances(self.goal, tolerances.goal, tolerances.goal_velocity)
        goal.goal_time_tolerance = duration_to_message(tolerances.goal_time)
        self._sent.first = self._sent.last = time.monotonic()
        self._client.send_goal_async(goal, feedback_callback=self._on_feedback).add_done_callback(self._on_accepted)

    def _on_accepted(self, future: Future[Handle]) -> None:
        self._handle = future.result()
        if self._handle is None or not self._handle.accepted:
            self._end(ExecutionError("the controller does not take the goal", stage="controller"))
            return
        if self.error is not None:
            self._handle.cancel_goal_async()
        self._handle.get_result_async().add_done_callback(self._on_result)

    def _on_feedback(self, message: FeedbackMessage) -> None:
        feedback = message.feedback
        columns = {name: index for index, name in enumerate(feedback.joint_names)}
        if not set(self.goal.joints) <= set(columns):
            return
        order = [columns[name] for name in self.goal.joints]
        place = min((time.monotonic() - self._sent.first) * self.scale, self.goal.trajectory.duration)
        rows = [getattr(feedback.desired, kind) for kind in ("positions", "velocities", "accelerations")]
        found = [np.array(row)[order] if len(row) == len(columns) else np.zeros(len(order)) for row in rows]
        self._sent.last = time.monotonic()
        self._last = TrajectorySample(place, *found)

    def _on_result(self, future: Future[GetResultServiceResponse[Result]]) -> None:
        found = future.result()
        assert found is not None
        status, result = found.status, found.result
        if status == GoalStatus.STATUS_SUCCEEDED:
            end = self.goal.trajectory.positions[-1]
            self._last = TrajectorySample(self.goal.trajectory.duration, end, np.zeros_like(end), np.zeros_like(end))
            self._end(None)
        elif status == GoalStatus.STATUS_CANCELED:
            self._end(StoppedError("the controller's goal was cancelled", stage="controller"))
        else:
            self._end(_error_of(result))

    def _end(self, error: RobotCellError | None) -> None:
        self._sent.last = time.monotonic()
        self._answer, self._answered = error, True
        self._on_end()

    def poll(self) -> None:
        if self._done:
            return
        if self._answered:
            self.error = self.error or self._answer
            tracking = self.tracking()
            if tracking is not None and self.error is None:
                self.account.goal_error = float(tracking.error.max())
            self._finish()
            return
        if not self._client.server_is_ready():
            self.error = ServiceUnavailableError("the controller is gone", stage="controller")
            self._finish()
            return
        tracking, age = self.tracking(), self._feedback.age(self.goal.joints, time.monotonic())
        if tracking is not None:
            self._account(tracking)
        if self.error is None and age > self._timeouts.silence:
            self.stop(lost(age, self._timeouts.silence))

    def set_global_scale(self, global_scale: float) -> None:
        """The trajectory was handed over with its speed; the node's applies to later ones."""

    def pause(self) -> None:
        raise NotSupportedError("a controller's motion cannot be paused; it can be stopped", stage="control motion")

    def resume(self) -> None:
        raise NotSupportedError("a controller's motion cannot be paused or resumed", stage="control motion")

    def _stop(self) -> None:
        if self._handle is not None and self._handle.accepted:
            self._handle.cancel_goal_async()

    def _drop(self) -> None:
        if not self._answered:
            self._stop()


class ControllerDrive:
    """Moves the robot through the FollowJointTrajectory action of a controller that runs already."""

    def __init__(self, node: CellNode, action: str) -> None:
        self._node = node
        self._action = action
        self._client: Controller = ActionClient(node, FollowJointTrajectory, action, callback_group=node.concurrent)

    @property
    def commanded(self) -> dict[str, float]:
        """What a controller commands is not known here; motions start where the robot is measured."""
        return {}

    def now(self) -> float:
        """The clock that motions run on [s]."""
        return time.monotonic()

    async def ready(self, token: CancellationToken) -> None:
        """Wait until the controller is there."""
        within = self._node.parameters["appear_timeout"]
        await available(self._node, self._client.server_is_ready, token, within, f"action {self._action}")

    def check(self) -> None:
        """A controller says itself what forbids a motion."""

    def start(self, make: Any, on_end: Callable[[], None], *arguments: Any, **keywords: Any) -> ControllerMotion:
        """Begin a motion."""
        motion = (make or ControllerMotion)(self._client, on_end, *arguments, **keywords)
        motion.send()
        return motion


def slowed(trajectory: Trajectory, scale: float) -> Trajectory:
    """The trajectory at a share of its speed, above 0 to 1.

    Raises:
        NotSupportedError: the speed scale is 0.
    """
    if scale == 1.0:
        return trajectory
    if not scale > 0.0:
        text = "the speed scale is 0, and the motion of a controller cannot begin paused"
        raise NotSupportedError(text, stage="controller")
    velocities, accelerations = trajectory.velocities, trajectory.accelerations
    return Trajectory(
        trajectory.variables,
        trajectory.times / scale,
        trajectory.positions,
        None if velocities is None else velocities * scale,
        None if accelerations is None else accelerations * scale**2,
    )


def _tolerances(goal: MotionGoal, positions: Array, velocities: Array) -> list[JointTolerance]:
    """As the controller has them: -1 for no limit."""
    return [
        JointTolerance(name=name, position=_or_none(position), velocity=_or_none(velocity))
        for name, position, velocity in zip(goal.joints, positions.tolist(), velocities.tolist(), strict=True)
    ]


def _or_none(limit: float) -> float:
    return limit if np.isfinite(limit) else -1.0


def _error_of(result: Result) -> RobotCellError:
    text = f"the controller gave up: {result.error_string or f'error code {result.error_code}'}"
    if result.error_code == Result.PATH_TOLERANCE_VIOLATED:
        return TrackingError(text, stage=ON_PATH)
    if result.error_code == Result.GOAL_TOLERANCE_VIOLATED:
        return TrackingError(text, stage=AT_GOAL)
    return ExecutionError(text, stage="controller")
