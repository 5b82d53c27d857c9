"""The FollowJointTrajectory action, as ros2_control's joint_trajectory_controller offers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from control_msgs.action import FollowJointTrajectory

from robot_cell_planner.msg import StateRef

from ..errors import (
    CancelledError,
    FeedbackLostError,
    InvalidRequestError,
    RobotCellError,
    TrackingError,
    UnknownNameError,
    Value,
)
from .action_server import GoalServer
from .execution_parameters import tolerance_defaults
from .interrupts import Interrupt
from .motion import AT_GOAL, Motion
from .motion_reports import follow_feedback
from .motion_runner import MotionRunner, Ownership
from .node import CellNode
from .trajectory_goals import from_follow

Result = FollowJointTrajectory.Result
OLD_STAMP = "stamp of the trajectory"


class FollowJointTrajectoryServer:
    """Takes goals as joint_trajectory_controller does, and like it tells reasons by its error codes; `error_string`
    says in words what was wrong.

    expected: joints that a goal has to move, unless parameter allow_partial_joints_goal is true.
    """

    def __init__(
        self,
        node: CellNode,
        name: str,
        runner: MotionRunner,
        ownership: Ownership,
        expected: Sequence[str],
    ) -> None:
        self._node = node
        self._runner = runner
        self._ownership = ownership
        self._expected = tuple(expected)
        GoalServer(node, FollowJointTrajectory, name, self._follow, _fail)

    async def _follow(self, goal: Any, send: Callable[[Any], None], interrupt: Interrupt, result: Any) -> None:
        parameters = self._node.parameters
        asked = from_follow(
            goal,
            await self._runner.ready(interrupt),
            tolerance_defaults(parameters),
            parameters["most_points"],
            partial=parameters["allow_partial_joints_goal"],
            expected=self._expected,
        )
        self._check_stamp(asked.begin, asked.trajectory.duration)

        def tell(motion: Motion) -> None:
            send(follow_feedback(motion, self._node.get_clock().now().nanoseconds))

        with self._ownership.taken_by(asked.owner, interrupt):
            state = StateRef() if parameters["validate"] else None
            outcome = await self._runner.run(asked, interrupt, tell, state)
        outcome.check()
        result.error_code = Result.SUCCESSFUL

    def _check_stamp(self, begin: int, duration: float) -> None:
        if not begin:
            return
        past = (self._node.get_clock().now().nanoseconds - begin) * 1e-9 - duration
        if past > 0.0:
            text, values = "the trajectory should have ended already", (Value("ended ago", past, unit="s"),)
            raise InvalidRequestError(text, stage=OLD_STAMP, values=values)


def _fail(result: Any, error: RobotCellError) -> None:
    result.error_string = f"{error.name}: {error}"
    if isinstance(error, CancelledError):
        result.error_code = Result.SUCCESSFUL
    elif error.stage == OLD_STAMP:
        result.error_code = Result.OLD_HEADER_TIMESTAMP
    elif isinstance(error, UnknownNameError):
        result.error_code = Result.INVALID_JOINTS
    elif isinstance(error, TrackingError):
        result.error_code = Result.GOAL_TOLERANCE_VIOLATED if error.stage == AT_GOAL else Result.PATH_TOLERANCE_VIOLATED
    elif isinstance(error, FeedbackLostError):
        result.error_code = Result.PATH_TOLERANCE_VIOLATED
    else:
        result.error_code = Result.INVALID_GOAL
