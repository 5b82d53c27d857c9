"""move_action, execute_trajectory, sequence_move_group, and the topic that stops motions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from moveit_msgs.action import ExecuteTrajectory, MoveGroup, MoveGroupSequence
from moveit_msgs.msg import MoveItErrorCodes, PlanningOptions, PlanningScene, RobotTrajectory
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from robot_cell_planner import action, msg, srv

from ...errors import NotSupportedError, RobotCellError
from ..common.action_server import GoalServer
from ..common.cancellation import CancellationToken
from ..common.node import CellNode, reliable
from .error_codes import error_code, success
from .motion_requests import Start, robot_trajectory
from .planners import OMPL, PILZ, PIPELINES, pipeline_named
from .planning_services import Planned, PlanningServices
from .scene_access import SceneAccess
from .scene_messages import SceneWriter
from .sequences import MotionSequences, fill_sequence
from .suite import Suite

OWNER = "moveit_adapter"
PLANNING, MONITOR, IDLE = "PLANNING", "MONITOR", "IDLE"
STOP = "stop"


class _Reporting(Protocol):
    error_code: MoveItErrorCodes


def _fail(result: _Reporting, error: RobotCellError) -> None:
    result.error_code = error_code(error)


class MotionActions:
    """Actions that plan and execute. The execution node validates every trajectory before the robot moves."""

    def __init__(
        self,
        node: CellNode,
        suite: Suite,
        access: SceneAccess,
        planning: PlanningServices,
        sequences: MotionSequences,
        show: Callable[[Planned], None],
    ) -> None:
        self._node, self._suite, self._access = node, suite, access
        self._planning, self._sequences, self._show = planning, sequences, show
        GoalServer(node, MoveGroup, "move_action", self._move, _fail)
        GoalServer(node, ExecuteTrajectory, "execute_trajectory", self._execute, _fail)
        GoalServer(node, MoveGroupSequence, "sequence_move_group", self._sequence, _fail_sequence)
        node.create_subscription(String, "trajectory_execution_event", self._on_event, reliable(10))

    async def _move(
        self,
        goal: MoveGroup.Goal,
        send: Callable[[MoveGroup.Feedback], None],
        token: CancellationToken,
        result: MoveGroup.Result,
    ) -> None:
        """Plan, and execute unless plan_only."""
        difference, pipeline = _difference(goal.planning_options), pipeline_named(goal.request.pipeline_id)
        send(MoveGroup.Feedback(state=PLANNING))
        if goal.planning_options.plan_only or pipeline != OMPL:
            planned = await self._planning.plan(goal.request, token, difference)
            _fill(result, planned)
            if not goal.planning_options.plan_only:
                send(MoveGroup.Feedback(state=MONITOR))
                await self._run(planned.plan.trajectory, planned.plan.record.state.revision, token)
                result.executed_trajectory = result.planned_trajectory
        else:
            planned = await self._plan_and_execute(goal, difference, send, token, result)
        result.error_code = success(*planned.warnings, *option_warnings(goal.planning_options, pipeline))
        send(MoveGroup.Feedback(state=IDLE))
        self._node.soon(partial(self._show, planned))

    async def _plan_and_execute(
        self,
        goal: MoveGroup.Goal,
        difference: PlanningScene | None,
        send: Callable[[MoveGroup.Feedback], None],
        token: CancellationToken,
        result: MoveGroup.Result,
    ) -> Planned:
        """Plan and execute as one goal of the execution node, which keeps other motions away meanwhile."""
        start, converted = await self._planning.converted(goal.request, difference)
        moving: list[bool] = []

        def on_feedback(feedback: action.Move.Feedback) -> None:
            if feedback.execution.stage and not moving:
                moving.append(True)
                send(MoveGroup.Feedback(state=MONITOR))

        options = msg.ExecutionOptions(owner=OWNER, replan=goal.planning_options.replan)
        move = action.Move.Goal(request=converted.request, options=options)
        try:
            done = await self._suite.move(move, token, on_feedback, rest=True)
        except RobotCellError as error:
            if isinstance(error.partial, action.Move.Result):
                _fill(result, _planned(start, error.partial, converted.warnings))
            raise
        planned = _planned(start, done, converted.warnings)
        _fill(result, planned)
        result.executed_trajectory = result.planned_trajectory
        return planned

    async def _run(self, trajectory: JointTrajectory, revision: int, token: CancellationToken) -> None:
        """Execute a trajectory, validated in a scene that is not older than a revision."""
        options = msg.ExecutionOptions(owner=OWNER)
        options.state.min_revision = revision
        goal = action.ExecuteTrajectory.Goal(trajectory=trajectory, options=options)
        await self._suite.execute_trajectory(goal, token, rest=True)

    async def _execute(
        self,
        goal: ExecuteTrajectory.Goal,
        send: Callable[[ExecuteTrajectory.Feedback], None],
        token: CancellationToken,
        result: ExecuteTrajectory.Result,
    ) -> None:
        trajectory = single_trajectory(goal.trajectory)
        present = await self._access.current()
        send(ExecuteTrajectory.Feedback(state=MONITOR))
        await self._run(trajectory, present.revision, token)
        result.error_code = success(*_controller_warnings(goal.controller_names))
        send(ExecuteTrajectory.Feedback(state=IDLE))

    async def _sequence(
        self,
        goal: MoveGroupSequence.Goal,
        send: Callable[[MoveGroupSequence.Feedback], None],
        token: CancellationToken,
        result: MoveGroupSequence.Result,
    ) -> None:
        """Plan a sequence, and execute its trajectories one after the other unless plan_only."""
        send(MoveGroupSequence.Feedback(state=PLANNING))
        planned = await self._sequences.plan(goal.request, token, _difference(goal.planning_options))
        fill_sequence(result.response, planned, *option_warnings(goal.planning_options, PILZ))
        if not goal.planning_options.plan_only:
            send(MoveGroupSequence.Feedback(state=MONITOR))
            for trajectory in planned.trajectories:
                await self._run(trajectory, planned.revision, token)
        send(MoveGroupSequence.Feedback(state=IDLE))

    def _on_event(self, message: String) -> None:
        """Stop the running motion; MoveIt has no other event."""
        if message.data != STOP:
            self._node.get_logger().warning(f"trajectory_execution_event {message.data[:40]!r}, expected {STOP!r}")
            return
        self._node.soon(self._stop)

    async def _stop(self) -> None:
        try:
            await self._suite.control_motion(srv.ControlMotion.Request(command=srv.ControlMotion.Request.STOP))
        except RobotCellError as error:
            self._node.get_logger().info(f"trajectory_execution_event: {error}")


def single_trajectory(message: RobotTrajectory) -> JointTrajectory:
    """Return the trajectory of the joints.

    Raises:
        NotSupportedError: Planar or floating joints are also to move.
    """
    if message.multi_dof_joint_trajectory.points:
        text = "multi_dof_joint_trajectory is not supported; give planar and floating joints as joint/x, joint/y, ..."
        raise NotSupportedError(text, stage="request", subjects=("multi_dof_joint_trajectory",))
    return message.joint_trajectory


def _difference(options: PlanningOptions) -> PlanningScene | None:
    """Return the change of the scene for this request; None without one."""
    difference = options.planning_scene_diff
    empty = PlanningScene(is_diff=difference.is_diff)
    empty.robot_state.is_diff = difference.robot_state.is_diff
    if difference == empty:
        return None
    difference.is_diff = True
    return difference


def option_warnings(options: PlanningOptions, pipeline: str) -> tuple[str, ...]:
    """Return warnings with the options of a motion that were left out."""
    found: list[str] = []
    if options.look_around:
        found.append("look_around is not supported")
    if options.replan and not options.plan_only:
        if pipeline != OMPL:
            found.append(f"replan is not supported with {PIPELINES[pipeline]}: before an obstacle the robot stops")
        elif options.replan_attempts or options.replan_delay:
            text = "replan_attempts and replan_delay are not used; the parameter max_replans of the execution node"
            found.append(f"{text} limits how often a motion is planned again, which happens at once")
    return tuple(found)


def _controller_warnings(names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return ()
    return (f"controller_names ({', '.join(names)}) are not used; the execution node chooses the controllers",)


def _planned(start: Start, done: action.Move.Result, warnings: tuple[str, ...]) -> Planned:
    plan = done.plan
    seconds = sum(stage.seconds for stage in plan.record.times)
    return Planned(start, plan, seconds, (*warnings, *plan.record.warnings))


def _fill(result: MoveGroup.Result, planned: Planned) -> None:
    """Fill the plan of a result."""
    result.trajectory_start = SceneWriter(planned.start.scene).robot_state()
    result.planned_trajectory = robot_trajectory(planned.plan.trajectory)
    result.planning_time = planned.seconds


def _fail_sequence(result: MoveGroupSequence.Result, error: RobotCellError) -> None:
    result.response.error_code = error_code(error)
