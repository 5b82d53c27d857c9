"""The actions of this package that execute trajectories: given ones, or planned first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trajectory_msgs.msg import JointTrajectory

from robot_cell_planner import srv
from robot_cell_planner.action import ExecuteTrajectory, Move, PlanMotion
from robot_cell_planner.msg import ExecutionOptions, MotionPlan, MotionRequest, StateRef, TimingOptions

from ...errors import CollisionAheadError, NotSupportedError, RobotCellError, TrajectoryLimitError
from ..common.action_server import GoalServer
from ..common.cancellation import CancellationToken
from ..common.exclusive_access import Claim, ExclusiveAccess
from ..common.node import CellNode, report_error
from ..conversions.basic import configuration_to_message
from ..motion.changed_limits import STAGE as AHEAD
from ..motion.independent_robots import IndependentRobots
from ..motion.joint_feedback import JointFeedback, robot_names
from ..motion.motion import Motion
from ..motion.permission import MotionPermission
from ..motion.planning_calls import PlanningCalls
from ..motion.reports import feedback_message
from ..motion.runner import MotionRunner, OnProgress
from ..motion.trajectory_goals import checked_options, goal_of_trajectory
from .parameters import tolerance_defaults


class TrajectoryActions:
    """Offers `execution/execute_trajectory` and `execution/move`; until its end, the client of a goal has exclusive
    access to the robots that it moves."""

    def __init__(
        self,
        node: CellNode,
        runner: MotionRunner,
        feedback: JointFeedback,
        permission: MotionPermission,
        planning: PlanningCalls,
        access: ExclusiveAccess,
        robots: IndependentRobots,
    ) -> None:
        self._node = node
        self._parameters = node.parameters
        self._runner = runner
        self._feedback = feedback
        self._permission = permission
        self._planning = planning
        self._access = access
        self._robots = robots
        GoalServer(node, ExecuteTrajectory, "execution/execute_trajectory", self._execute_trajectory, report_error)
        GoalServer(node, Move, "execution/move", self._move, report_error)

    async def _execute_trajectory(
        self,
        goal: ExecuteTrajectory.Goal,
        send: Callable[[ExecuteTrajectory.Feedback], None],
        token: CancellationToken,
        result: ExecuteTrajectory.Result,
    ) -> None:
        def on_progress(motion: Motion) -> None:
            send(ExecuteTrajectory.Feedback(progress=feedback_message(motion)))

        options = goal.options
        if options.replan:
            text = "options.replan needs a goal: use the action execution/move"
            raise NotSupportedError(text, subjects=("options.replan",))
        robots = self._robots.of_joints(goal.trajectory.joint_names)
        with self._access.acquired_by(options.owner or "anonymous", token, robots) as claim:
            await self._execute(goal.trajectory, options, claim, on_progress, result)

    async def _execute(
        self,
        trajectory: JointTrajectory,
        options: ExecutionOptions,
        claim: Claim,
        on_progress: OnProgress,
        result: ExecuteTrajectory.Result | Move.Result,
    ) -> None:
        """Execute a trajectory; fills `validation` and `record` of the result."""
        token = claim.token
        joints = await self._runner.ready(token)
        defaults, max_points = tolerance_defaults(self._parameters), self._parameters["max_points"]
        goal = goal_of_trajectory(trajectory, options, joints, defaults, max_points)
        self._access.widen(claim, self._robots.of_joints(goal.joints))
        state = options.state if self._parameters["validate"] else None
        try:
            outcome = await self._runner.run(goal, token, on_progress, state)
        except RobotCellError as error:
            if isinstance(error.partial, srv.ValidateTrajectory.Response):
                result.validation = error.partial.report
            raise
        if outcome.reply is not None:
            result.validation = outcome.reply.report
        result.record = outcome.record
        outcome.check()

    async def _move(
        self, goal: Move.Goal, send: Callable[[Move.Feedback], None], token: CancellationToken, result: Move.Result
    ) -> None:
        def on_progress(motion: Motion) -> None:
            send(Move.Feedback(execution=feedback_message(motion)))

        request, options = goal.request, checked_options(goal.options)
        if request.moving:
            text = (
                "request.moving needs motions that begin together: plan with planning/plan_motion, merge the "
                "trajectories, and execute them with execution/execute_trajectory"
            )
            raise NotSupportedError(text, subjects=("request.moving",))
        if request.timing.method == TimingOptions.NONE:
            request.timing.method = TimingOptions.SMOOTH
        replans = 0
        robots = self._robots.of_group(request.group)
        with self._access.acquired_by(options.owner or "anonymous", token, robots) as claim:
            while True:
                request.start = self._runner.up_to_date(request.start)
                plan = await self._plan(request, send, token, result)
                options.state.min_revision = max(options.state.min_revision, plan.record.state.revision)
                try:
                    await self._execute(plan.trajectory, options, claim, on_progress, result)
                    return
                except (CollisionAheadError, TrajectoryLimitError) as error:
                    if error.stage != AHEAD or not options.replan or replans >= self._parameters["max_replans"]:
                        raise
                    self._node.get_logger().info(f"planning again from where the robot stops: {error}")
                    request.start = self._stopped_at(request.start, plan.trajectory.joint_names, error)
                finally:
                    result.record.replans = replans
                replans += 1

    async def _plan(
        self,
        request: MotionRequest,
        send: Callable[[Move.Feedback], None],
        token: CancellationToken,
        result: Move.Result,
    ) -> MotionPlan:
        """Plan; fills `plan` and `failure` of the result."""
        self._permission.check()
        try:
            found = await self._planning.plan(request, lambda progress: send(Move.Feedback(planning=progress)), token)
        except RobotCellError as error:
            if isinstance(error.partial, PlanMotion.Result):
                result.plan, result.failure = error.partial.plan, error.partial.failure
            raise
        result.plan = found.plan
        return found.plan

    def _stopped_at(self, start: StateRef, names: Sequence[str], error: RobotCellError) -> StateRef:
        """Return the state to plan from after the monitor has stopped a motion: the end of the commands, in the scene
        that caused the stop."""
        positions = self._runner.start_positions(robot_names(names, self._feedback.names, "trajectory"))
        revision = max(int(value.value) for value in error.values if value.name == "revision")
        values = dict(zip(names, positions.values(), strict=True))
        return StateRef(
            min_revision=revision,
            timeout=start.timeout,
            configuration=configuration_to_message(values),
            changes=start.changes,
        )
