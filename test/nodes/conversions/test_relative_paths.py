"""Requests and plans of several robots: concurrent steps, paths on a workpiece that moves, plans to execute as one."""

import re

import numpy as np
import pytest
from timed_motions import limits_of, motions
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_cell_planner import action
from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.io.common.resources import NO_ROOTS
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.msg import CartesianWaypoint, MotionPlan, MotionStep, RelativePath, Target
from robot_cell_planner.nodes.client.client import make_goal, make_pose_target, merge_plans
from robot_cell_planner.nodes.conversions.basic import duration_to_message
from robot_cell_planner.nodes.conversions.cartesian import cartesian_request_from_message
from robot_cell_planner.nodes.conversions.models import ModelReader
from robot_cell_planner.nodes.conversions.path_requests import multistep_request_from_message
from robot_cell_planner.nodes.conversions.trajectories import trajectory_from_message, trajectory_to_message
from robot_cell_planner.planning.problem.request import PlanningOptions
from robot_cell_planner.trajectory.timing import TimingOptions
from robot_cell_planner.trajectory.validation import validate

LEFT, RIGHT = "left/manipulator", "right/manipulator"
DEFAULTS = PlanningOptions(), TimingOptions()


def waypoints_at(*heights, frame="bar", **fields):
    targets = [make_pose_target(frame, Pose((0.0, 0.0, height))) for height in heights]
    return [CartesianWaypoint(target=target, **fields) for target in targets]


def cartesian(*paths):
    message = action.PlanCartesian.Goal(
        group="both", waypoints=waypoints_at(0.1, 0.2, frame="table"), relative_paths=list(paths)
    )
    return cartesian_request_from_message(message, *DEFAULTS)


def test_a_relative_path_is_that_of_its_group():
    request = cartesian(RelativePath(group=RIGHT, waypoints=waypoints_at(0.3, 0.4)))
    assert list(request.relative_paths) == [RIGHT]
    path = request.relative_paths[RIGHT]
    assert path.reference_frame == "bar"
    assert [pose.position[2] for pose in path.poses] == [0.3, 0.4]
    assert not cartesian().relative_paths


def test_a_relative_path_may_leave_the_rotation_about_an_axis_free():
    axes = waypoints_at(0.3, 0.4)
    for waypoint in axes:
        waypoint.target.type = Target.POINT_AXIS
        waypoint.target.axis.z = 1.0
    path = cartesian(RelativePath(group=RIGHT, waypoints=axes)).relative_paths[RIGHT]
    assert path.axes().tolist() == [[0.0, 0.0, 1.0]] * 2


def test_an_invalid_relative_path_is_refused_with_its_field():
    path = RelativePath(group=RIGHT, waypoints=waypoints_at(0.3, 0.4))
    for text, paths in (
        ("relative_paths[0].waypoints is empty", [RelativePath(group=RIGHT)]),
        (f"relative_paths[1]: {RIGHT} has two relative paths", [path, path]),
        ("expected 2", [RelativePath(group=RIGHT, waypoints=waypoints_at(0.3))]),
    ):
        with pytest.raises(InvalidRequestError, match=re.escape(text)):
            cartesian(*paths)


def test_concurrent_steps():
    steps = [MotionStep(group=group, goal=make_goal("home"), concurrent=group == RIGHT) for group in (LEFT, RIGHT)]
    message = action.PlanMultistep.Goal(steps=steps)
    message.timing.method = message.timing.STOP_AT_WAYPOINTS
    request = multistep_request_from_message(message, ModelReader(NO_ROOTS), *DEFAULTS, 100)
    assert [step.concurrent for step in request.steps] == [False, True]


def plan(joint, duration, end):
    trajectory = JointTrajectory(joint_names=[joint])
    for time, position in ((0.0, 0.0), (duration, end)):
        point = JointTrajectoryPoint(time_from_start=duration_to_message(time), positions=[position])
        point.velocities = point.accelerations = [0.0]
        trajectory.points.append(point)
    return MotionPlan(trajectory=trajectory)


def test_plans_that_begin_together_are_one_trajectory():
    plans = [plan("left/elbow", 1.0, 0.5), plan("right/elbow", 2.0, -0.3)]
    merged = trajectory_from_message(merge_plans(plans), "merged")
    assert merged.variables == ("left/elbow", "right/elbow")
    assert merged.duration == pytest.approx(2.0)
    for column, one in enumerate(plans):
        own = trajectory_from_message(one.trajectory, "own")
        times = np.linspace(0.0, own.duration, 40)
        np.testing.assert_allclose(merged.at(times)[:, column], own.at(times)[:, 0], atol=1e-9)
    assert merged.positions[-1] == pytest.approx([0.5, -0.3])
    with pytest.raises(InvalidRequestError, match="left/elbow is in two trajectories"):
        merge_plans([plans[0], plans[0]])


def test_merged_plans_keep_the_limits_that_each_keeps():
    """Also where jerk steps of both robots are closer than samples may be."""
    for seed in range(12):
        plans = [MotionPlan(trajectory=trajectory_to_message(one)) for one in motions(seed, 2)]
        validate(trajectory_from_message(merge_plans(plans), "merged"), limits_of(range(2))).check()
