"""The motions of the Pilz Industrial Motion Planner: PTP, LIN and CIRC."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from geometry_msgs.msg import Point
from moveit_msgs.msg import Constraints, MotionPlanRequest, MoveItErrorCodes
from numpy.typing import NDArray

from robot_cell_planner import action, msg, srv

from ...errors import InvalidRequestError, InverseKinematicsError, NotSupportedError
from ...kinematics.transforms import WorldTransforms
from ...model.cell import RobotCell
from ...model.mechanism import JointKind
from ...model.value import WORLD
from ...scene.scene import Scene
from ..common.cancellation import CancellationToken
from ..conversions.basic import duration_to_message, path_to_message, pose_to_message
from ..conversions.trajectories import error_of_report
from .error_codes import refused_as
from .goals import goals_to_spec
from .helper_frames import HelperFrames
from .motion_requests import Start, check_group, check_request, constraints_of, planning_time, scaling, speed_limit
from .path_checks import check_path
from .planners import CIRC, MOTIONS, PILZ, PTP
from .suite import Suite

Rows = NDArray[np.float64]
MIN_SINE = 1e-6  # below it, three points lie on a line
CENTER, INTERIM = "center", "interim"


class PilzMotions:
    """Plans single motions: PTP is straight in joint space, LIN and CIRC on a line and arc of a link.

    reserve: returns the time that is added to allowed_planning_time [s].
    """

    def __init__(self, suite: Suite, reserve: Callable[[], float] = lambda: 0.0) -> None:
        self._suite, self._reserve = suite, reserve

    async def plan(self, message: MotionPlanRequest, start: Start, token: CancellationToken) -> msg.MotionPlan:
        """Return the plan of a motion.

        Raises:
            RobotCellError: The request cannot be served, or the motion is not possible; a PTP motion is never led
                around obstacles.
        """
        kind, warnings = motion_of(message), check_request(message, PILZ)
        frames = HelperFrames(start.scene)
        constraints = constraints_of(message, start, frames)
        if kind == PTP:
            plan = await self._point_to_point(message, start, token)
        else:
            plan = await self.cartesian(linear_goal(message, start), [message], token)
        await check_path(self._suite, plan.path, constraints, start, frames, token)
        plan.record.warnings = [*warnings, *plan.record.warnings]
        return plan

    async def cartesian(
        self, goal: action.PlanCartesian.Goal, messages: Sequence[MotionPlanRequest], token: CancellationToken
    ) -> msg.MotionPlan:
        """Return the plan of the LIN and CIRC motions of requests, within the sum of their time limits.

        Raises:
            RobotCellError: The motion is not possible.
        """
        seconds = sum(message.allowed_planning_time for message in messages)
        goal.options.time_limit = duration_to_message(planning_time(seconds, self._reserve()))
        return whole_plan(await self._suite.plan_cartesian(goal, token))

    async def _point_to_point(
        self, message: MotionPlanRequest, start: Start, token: CancellationToken
    ) -> msg.MotionPlan:
        group = check_group(start.scene.cell, message.group_name)
        end = await self.goal_configuration(message, start, token)
        names = start.scene.cell.group(group).variables
        before = [start.scene.state.configuration[name] for name in names]
        rows = np.array([before, [end.get(name, value) for name, value in zip(names, before, strict=True)]])
        plan = await self.timed(path_to_message(names, rows), start, timing(message, start.scene, group), token)
        plan.record.warnings = [*plan.record.warnings, *long_turns(start.scene.cell, names, *rows)]
        return plan

    async def timed(
        self, path: msg.JointPath, start: Start, options: msg.TimingOptions, token: CancellationToken
    ) -> msg.MotionPlan:
        """Return the plan of a path, timed and validated.

        Raises:
            RobotCellError: The motion violates a limit or collides.
        """
        request = srv.TimeParameterize.Request(state=start.reference, path=path, options=options)
        reply = await self._suite.time_parameterize(request, token)
        problem = error_of_report(reply.report)
        if problem is not None:
            raise problem
        plan = msg.MotionPlan(path=path, trajectory=reply.trajectory)
        plan.record.state, plan.record.warnings = reply.state, reply.report.warnings
        return plan

    async def goal_configuration(
        self, message: MotionPlanRequest, start: Start, token: CancellationToken
    ) -> dict[str, float]:
        """Return the joint values of a goal: those given, or the nearest solution for a pose.

        Raises:
            RefusedError: There is not one goal, or it has no solution.
        """
        group, frames = check_group(start.scene.cell, message.group_name), HelperFrames(start.scene)
        goal = single_goal(message)
        spec = goals_to_spec(start.scene, group, [goal], frames)
        require_pose(message, goal)
        if spec.joint_goals:
            found = spec.joint_goals[0]
            return dict(zip(found.joint_names, found.positions, strict=True))
        targets = [*spec.targets, *(region.center for region in spec.regions)]
        request = srv.InverseKinematics.Request(state=start.with_frames(frames), group=group)
        request.options.avoid_collisions = True
        request.options.timeout = duration_to_message(planning_time(message.allowed_planning_time))
        with refused_as(MoveItErrorCodes.NO_IK_SOLUTION):
            return await self._first_solution(request, targets, token)

    async def _first_solution(
        self, request: srv.InverseKinematics.Request, targets: Sequence[msg.Target], token: CancellationToken
    ) -> dict[str, float]:
        """Return the joint values of the first target that has a solution; each solid of a goal is one.

        Raises:
            InverseKinematicsError: None of them has one; the error is that of the first.
        """
        errors: list[InverseKinematicsError] = []
        for target in targets:
            request.targets = [target]
            try:
                reply = await self._suite.inverse_kinematics(request, token)
                return dict(zip(reply.joint_names, reply.results[0].solutions[0].positions, strict=True))
            except InverseKinematicsError as error:
                errors.append(error)
        raise errors[0]


def long_turns(cell: RobotCell, names: Sequence[str], first: Rows, last: Rows) -> list[str]:
    """Return warnings about continuous joints that turn by more than half a turn between two configurations (dof,)."""
    warnings = []
    for name, turn, end in zip(names, (last - first).tolist(), last.tolist(), strict=True):
        if cell.variables[name].kind is JointKind.CONTINUOUS and abs(turn) > math.pi:
            short = math.remainder(turn, math.tau)
            warnings.append(
                f"{name} turns by {turn:.4g} rad, as its goal {end:.4g} is taken literally; "
                f"with the goal {end - turn + short:.4g} it turns by {short:.4g} rad to the same orientation"
            )
    return warnings


def motion_of(message: MotionPlanRequest) -> str:
    """Return PTP, LIN or CIRC.

    Raises:
        InvalidRequestError: planner_id is another one.
    """
    if message.planner_id not in MOTIONS:
        text = f"planner_id is {message.planner_id!r}, expected PTP, LIN or CIRC with the Pilz pipeline"
        raise InvalidRequestError(text, stage="request", subjects=("planner_id",))
    return message.planner_id


def single_goal(message: MotionPlanRequest) -> Constraints:
    """Return the goal of a motion.

    Raises:
        RefusedError: There is not exactly one.
    """
    with refused_as(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS):
        if len(message.goal_constraints) != 1:
            text = f"{message.planner_id} has {len(message.goal_constraints)} goals, expected one"
            raise InvalidRequestError(text, stage="request", subjects=("goal_constraints",))
    return message.goal_constraints[0]


def require_pose(message: MotionPlanRequest, goal: Constraints) -> None:
    """Check that a goal that has no joint values is a whole pose, as Pilz does.

    Raises:
        RefusedError: The position or the orientation is missing.
    """
    if goal.joint_constraints or (goal.position_constraints and goal.orientation_constraints):
        return
    text = f"{message.planner_id} needs a position and an orientation as its goal"
    with refused_as(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS):
        raise NotSupportedError(text, stage="request", subjects=("goal_constraints",))


def timing(message: MotionPlanRequest, scene: Scene, group: str) -> msg.TimingOptions:
    """Return the timing of a motion."""
    return msg.TimingOptions(
        method=msg.TimingOptions.STOP_AT_WAYPOINTS,
        velocity_scale=scaling(message.max_velocity_scaling_factor, "max_velocity_scaling_factor"),
        acceleration_scale=scaling(message.max_acceleration_scaling_factor, "max_acceleration_scaling_factor"),
        tool_speed=speed_limit(message.max_cartesian_speed, message.cartesian_speed_limited_link, scene, group),
    )


def linear_goal(message: MotionPlanRequest, start: Start) -> action.PlanCartesian.Goal:
    """Return the goal of a LIN or CIRC motion for the planning node.

    Raises:
        RefusedError: The goal or the arc is not given as Pilz does, or cannot be served.
    """
    group, frames = check_group(start.scene.cell, message.group_name), HelperFrames(start.scene)
    goal = action.PlanCartesian.Goal(group=group, waypoints=[waypoint(message, start, frames)])
    goal.start = start.with_frames(frames)
    goal.timing = timing(message, start.scene, group)
    goal.timing.method = msg.TimingOptions.FOLLOW_SAMPLES
    return goal


def waypoint(
    message: MotionPlanRequest, start: Start, frames: HelperFrames, before: msg.Target | None = None
) -> msg.CartesianWaypoint:
    """Return the waypoint of a LIN or CIRC motion. before: waypoint that it begins at, if not the start state."""
    target = goal_target(message, start.scene, frames)
    found = msg.CartesianWaypoint(target=target)
    if motion_of(message) == CIRC:
        found.motion, found.via = msg.CartesianWaypoint.ARC, via_point(message, start.scene, target, before)
    return found


def goal_target(message: MotionPlanRequest, scene: Scene, frames: HelperFrames) -> msg.Target:
    """Return the target of a LIN or CIRC motion, in the world for a goal in joint values."""
    group, given = check_group(scene.cell, message.group_name), single_goal(message)
    spec = goals_to_spec(scene, group, [given], frames)
    require_pose(message, given)
    if spec.joint_goals:
        goal = spec.joint_goals[0]
        values = dict(zip(goal.joint_names, goal.positions, strict=True))
        tip = scene.cell.tip_link(group)
        pose = WorldTransforms(scene.cell, scene.state.with_configuration(values)).pose(tip)
        return msg.Target(mode=msg.Target.FRAME, frame=tip, pose=pose_to_message(pose))
    targets = [*spec.targets, *(region.center for region in spec.regions)]
    if len(targets) > 1:
        text = f"{message.planner_id} has {len(targets)} solids in the region of its goal, expected one"
        with refused_as(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS):
            raise NotSupportedError(text, stage="request", subjects=("goal_constraints",))
    target = targets[0]
    # Waypoints are met exactly; tolerances of a goal do not apply to them.
    return msg.Target(
        mode=target.mode,
        frame=target.frame,
        reference_frame=target.reference_frame,
        stamp=target.stamp,
        pose=target.pose,
    )


def via_point(message: MotionPlanRequest, scene: Scene, target: msg.Target, before: msg.Target | None) -> Point:
    """Return a point on the arc, in the frame of the target. before: waypoint that the arc begins at.

    Source: the Pilz planner takes the point or the centre from the position constraint of path_constraints, whose name
    says which; with a centre the arc is the shorter one.

    Raises:
        RefusedError: Neither is given, or the centre does not define an arc.
    """
    constraints, field = message.path_constraints, "path_constraints"
    with refused_as(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS):
        if constraints.name not in (CENTER, INTERIM) or len(constraints.position_constraints) != 1:
            text = f"CIRC needs {field} named 'interim' or 'center' with one position constraint"
            raise InvalidRequestError(text, stage="request", subjects=(field,))
        given = constraints.position_constraints[0]
        poses = given.constraint_region.primitive_poses
        if len(poses) != 1 or given.header.frame_id != target.reference_frame:
            text = f"CIRC needs one primitive_pose in {field}, in the frame of the goal ({target.reference_frame!r})"
            raise InvalidRequestError(text, stage="request", subjects=(field,))
        if constraints.name == INTERIM:
            return poses[0].position
        begin = _begin(message, scene, target) if before is None else before.pose.position
        return midpoint_of_arc(_array(begin), _array(target.pose.position), _array(poses[0].position))


def _begin(message: MotionPlanRequest, scene: Scene, target: msg.Target) -> Point:
    """Return the position of the target's frame in the start state."""
    frame = target.frame or scene.cell.tip_link(message.group_name)
    pose = WorldTransforms(scene.cell, scene.state).pose(frame, target.reference_frame or WORLD)
    return pose_to_message(pose).position


def _array(point: Point) -> NDArray[np.float64]:
    return np.array((point.x, point.y, point.z))


def midpoint_of_arc(begin: NDArray[np.float64], end: NDArray[np.float64], center: NDArray[np.float64]) -> Point:
    """Return the middle of the shorter arc around a centre.

    Raises:
        InvalidRequestError: The points are not at the same distance of the centre, or on a line with it.
    """
    first, second = begin - center, end - center
    radii = float(np.linalg.norm(first)), float(np.linalg.norm(second))
    if min(radii) <= 0.0 or not abs(radii[0] - radii[1]) <= 1e-3 * max(radii):
        text = f"the centre of CIRC is {radii[0]:g} m from the start and {radii[1]:g} m from the goal, expected equal"
        raise InvalidRequestError(f"{text} distances", stage="request", subjects=("path_constraints",))
    if math.hypot(*np.cross(first, second)) <= MIN_SINE * radii[0] * radii[1]:
        text = "start, goal and centre of CIRC lie on a line, which leaves the plane of the arc open; use 'interim'"
        raise InvalidRequestError(text, stage="request", subjects=("path_constraints",))
    bisector = first / radii[0] + second / radii[1]
    x, y, z = (float(value) for value in center + radii[0] * bisector / np.linalg.norm(bisector))
    return Point(x=x, y=y, z=z)


def whole_plan(result: action.PlanCartesian.Result) -> msg.MotionPlan:
    """Return the plan of a Cartesian motion with its start as the first waypoint."""
    plan, begin = result.plan, result.start_configuration
    values = dict(zip(begin.joint_names, begin.positions, strict=True))
    plan.path.positions = [*(values[name] for name in plan.path.joint_names), *plan.path.positions]
    return plan
