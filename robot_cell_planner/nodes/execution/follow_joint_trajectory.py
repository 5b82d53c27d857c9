"""The FollowJointTrajectory action, as ros2_control's joint_trajectory_controller offers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from control_msgs.action import FollowJointTrajectory

from robot_cell_planner.msg import StateRef

from ...errors import CancelledError, FeedbackLostError, RobotCellError, StoppedError, TrackingError, UnknownNameError
from ...trajectory.splicing import STAGE as PASSED
from ..common.action_server import GoalServer
from ..common.cancellation import CancellationToken, pause
from ..common.node import CellNode
from ..motion.channels import REPLACED
from ..motion.motion import AT_GOAL, Motion
from ..motion.reports import follow_feedback
from ..motion.runner import ExclusiveAccess, MotionRunner, OnProgress, Outcome
from ..motion.trajectory_goals import MotionGoal, check_begin, from_follow
from .parameters import tolerance_defaults

Result = FollowJointTrajectory.Result
AHEAD = 0.5  # [s] before its start at which the replacement of a goal is prepared


class FollowJointTrajectoryServer:
    """Accepts goals as joint_trajectory_controller does, with its error codes; `error_string` contains the reason.

    expected: joints that a goal must contain, unless parameter allow_partial_joints_goal is true.
    """

    def __init__(
        self,
        node: CellNode,
        name: str,
        runner: MotionRunner,
        access: ExclusiveAccess,
        expected: Sequence[str],
    ) -> None:
        self._node = node
        self._runner = runner
        self._access = access
        self._expected = tuple(expected)
        self._newest = CancellationToken()
        GoalServer(node, FollowJointTrajectory, name, self._follow, _fail)

    async def _follow(
        self,
        goal: FollowJointTrajectory.Goal,
        send: Callable[[FollowJointTrajectory.Feedback], None],
        token: CancellationToken,
        result: FollowJointTrajectory.Result,
    ) -> None:
        parameters = self._node.parameters
        arrived, now = self._runner.now(), self._node.get_clock().now().nanoseconds
        asked = from_follow(
            goal,
            await self._runner.ready(token),
            tolerance_defaults(parameters),
            parameters["max_points"],
            partial=parameters["allow_partial_joints_goal"],
            expected=self._expected,
        )
        check_begin(asked.begin, now)
        late = (now - asked.begin) * 1e-9 if asked.begin else 0.0
        asked.after(late)  # some of it must lie in the future

        def on_progress(motion: Motion) -> None:
            send(follow_feedback(motion, self._node.get_clock().now().nanoseconds))

        state = StateRef() if parameters["validate"] else None
        outcome = await self._replace(asked, arrived - late, token, on_progress, state)
        if outcome is None:
            with self._access.acquired_by(asked.owner, token):
                outcome = await self._runner.run(asked.after(late), token, on_progress, state)
        outcome.check()
        result.error_code = Result.SUCCESSFUL

    async def _replace(
        self,
        asked: MotionGoal,
        begins: float,
        token: CancellationToken,
        on_progress: OnProgress,
        state: StateRef | None,
    ) -> Outcome | None:
        """Replace the running goal by a new one after its validation; None if no goal of this action is running.

        begins: start of the goal's time [s], on the clock of motions. A goal that is still being prepared when a newer
        one arrives is replaced by it.
        """
        if self._access.owner != asked.owner:
            return None
        self._newest.set(StoppedError("replaced by a newer goal", stage=REPLACED))
        newest = self._newest = CancellationToken()
        token.on_set(newest.set)
        wait = begins - self._runner.now() - AHEAD
        if wait > 0.0:
            await pause(self._node, wait, newest)
        running = self._runner.streamed(asked.owner)
        if running is None:
            if self._access.token is not None:  # one that has not begun yet
                self._access.token.set(StoppedError("replaced by a newer goal", stage=REPLACED))
            await self._access.released(self._node, newest)
            return None
        found = await self._runner.replacement(running, asked, begins, newest, state)
        if found is None:
            await self._access.released(self._node, newest)
            return None
        with self._access.handed_over_to(asked.owner, token):
            return await self._runner.follow(found, token, on_progress, state)


def _fail(result: FollowJointTrajectory.Result, error: RobotCellError) -> None:
    result.error_string = f"{error.name}: {error}"
    if isinstance(error, CancelledError):
        result.error_code = Result.SUCCESSFUL
    elif error.stage == PASSED:
        result.error_code = Result.OLD_HEADER_TIMESTAMP
    elif isinstance(error, UnknownNameError):
        result.error_code = Result.INVALID_JOINTS
    elif isinstance(error, TrackingError):
        result.error_code = Result.GOAL_TOLERANCE_VIOLATED if error.stage == AT_GOAL else Result.PATH_TOLERANCE_VIOLATED
    elif isinstance(error, FeedbackLostError):
        result.error_code = Result.PATH_TOLERANCE_VIOLATED
    else:
        result.error_code = Result.INVALID_GOAL
