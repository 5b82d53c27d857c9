"""Requests of compute_cartesian_path as Cartesian motions, and their results."""

from __future__ import annotations

import math

import numpy as np
from moveit_msgs.srv import GetCartesianPath
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_cell_planner import action, msg

from ...errors import InvalidRequestError, MPMaxJumpError, Value
from ..conversions.basic import check_count
from .helper_frames import HelperFrames
from .motion_requests import Start, check_group, robot_trajectory, scaling, speed_limit

MAX_WAYPOINTS = 10_000


def link_target(frames: HelperFrames, link: str) -> msg.Target:
    """Return a target of a link, or of the tip of the group without a name.

    Raises:
        RefusedError: The link does not exist.
    """
    if not link:
        return msg.Target(mode=msg.Target.ROBOT)
    return msg.Target(mode=msg.Target.FRAME, frame=frames.at(link))


def cartesian_goal(request: GetCartesianPath.Request, start: Start) -> action.PlanCartesian.Goal:
    """Return the goal for the planning node.

    Raises:
        RobotCellError: The request is malformed, or cannot be served.
    """
    group, frames = check_group(start.scene.cell, request.group_name), HelperFrames(start.scene)
    check_count(len(request.waypoints), MAX_WAYPOINTS, "waypoints", "waypoints")
    if not request.waypoints:
        raise InvalidRequestError("waypoints is empty", stage="request", subjects=("waypoints",))
    goal = action.PlanCartesian.Goal(start=start.reference, group=group)
    for pose in request.waypoints:
        target = link_target(frames, request.link_name)
        target.reference_frame, target.stamp, target.pose = request.header.frame_id, request.header.stamp, pose
        goal.waypoints.append(msg.CartesianWaypoint(target=target))
    if request.cartesian_speed_limited_link in ("", request.link_name):
        speed = speed_limit(request.max_cartesian_speed, "", start.scene, group)
        for waypoint in goal.waypoints:
            waypoint.speed = speed
    else:
        limited = request.cartesian_speed_limited_link
        goal.timing.tool_speed = speed_limit(request.max_cartesian_speed, limited, start.scene, group)
    _set_steps(goal.options, request)
    goal.timing.method = msg.TimingOptions.FOLLOW_SAMPLES
    goal.timing.velocity_scale = scaling(request.max_velocity_scaling_factor, "max_velocity_scaling_factor")
    goal.timing.acceleration_scale = scaling(request.max_acceleration_scaling_factor, "max_acceleration_scaling_factor")
    return goal


def _set_steps(options: msg.CartesianOptions, request: GetCartesianPath.Request) -> None:
    """Set spacing and largest steps. Thresholds of 0 leave this package's own in force: a path never jumps."""
    thresholds = ("jump_threshold", "prismatic_jump_threshold", "revolute_jump_threshold")
    for field in ("max_step", *thresholds):
        value = getattr(request, field)
        if not 0.0 <= value < math.inf or (field == "max_step" and value == 0.0):
            text = f"{field} is {value:g}, expected a finite number {'above' if field == 'max_step' else 'from'} 0"
            raise InvalidRequestError(text, stage="request", subjects=(field,))
    options.max_step_distance = request.max_step
    options.min_step_distance = min(options.min_step_distance, request.max_step)
    options.check_collision = request.avoid_collisions
    options.skip_preplanning_collision_check = True  # what can be reached is part of the answer
    options.max_jump_prismatic = request.prismatic_jump_threshold or options.max_jump_prismatic
    options.max_jump_revolute = request.revolute_jump_threshold or options.max_jump_revolute


def add_solution(
    response: GetCartesianPath.Response, result: action.PlanCartesian.Result, request: GetCartesianPath.Request
) -> None:
    """Fill the path that was found and its fraction.

    Raises:
        MPMaxJumpError: A step is longer than `jump_threshold` times the mean step.
    """
    trajectory = result.plan.trajectory
    response.solution = robot_trajectory(trajectory if trajectory.points else _untimed(result))
    response.fraction = result.report.fraction
    if request.jump_threshold > 0.0:
        _check_jumps(result, request.jump_threshold)


def _untimed(result: action.PlanCartesian.Result) -> JointTrajectory:
    """Return the path that was reached, from its start, without times."""
    names = result.plan.path.joint_names
    if not names:
        return JointTrajectory()
    rows = np.reshape(result.plan.path.positions, (-1, len(names))).tolist()
    start = dict(zip(result.start_configuration.joint_names, result.start_configuration.positions, strict=True))
    first = [[start[name] for name in names]] if set(names) <= set(start) else []
    points = [JointTrajectoryPoint(positions=row) for row in (*first, *rows)]
    return JointTrajectory(joint_names=names, points=points)


def _check_jumps(result: action.PlanCartesian.Result, factor: float) -> None:
    path = _untimed(result)
    if len(path.points) < 2:
        return
    rows = np.array([point.positions for point in path.points])
    steps = np.abs(np.diff(rows, axis=0)).sum(axis=1)
    if steps.max() > factor * steps.mean():
        index = int(steps.argmax())
        numbers = (Value("step", float(steps[index]), float(factor * steps.mean()), "rad or m"),)
        text = f"the joints move by more than jump_threshold {factor:g} times the mean step, before point {index + 1}"
        raise MPMaxJumpError(text, stage="plan", subjects=("jump_threshold",), values=numbers)
