"""Cartesian plans stay on their line, obey the requested spacing and jump limits, and report why a path ends."""

import math
from dataclasses import replace

import numpy as np
import pytest
from cartesian_paths import tool_poses
from planning_cells import gantry, wall_with_gap

from robot_cell_planner.errors import (
    CancelledError,
    InvalidRequestError,
    MPInterpolationInCollisionError,
    MPMaxJumpError,
    MPNoIKSolutionError,
    MPStartStateInCollisionError,
    MPTargetInCollisionError,
    TargetModeMismatchError,
)
from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.targets import TargetMode
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.cartesian.path.curves import Line, deviations, tangents
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints
from robot_cell_planner.planning.cartesian.planner import CartesianOptions, CartesianRequest, plan_cartesian
from robot_cell_planner.planning.problem.plan_file import plan_to_json
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.timing import TimingOptions
from robot_cell_planner.trajectory.validation import validate


def moved(pose, x=0.0, y=0.0, z=0.0):
    return Pose((pose.position[0] + x, pose.position[1] + y, pose.position[2] + z), pose.quaternion)


def lines(*poses, **changes):
    options = CartesianOptions(**changes)
    return CartesianRequest(FrameWaypoints(poses, mode=TargetMode.TOOL), options=options)


def test_the_tool_moves_straight_down(above):
    cell, state, pose = above
    plan = plan_cartesian(cell, state, lines(moved(pose, z=-0.18)))
    report = plan.cartesian
    assert report.fraction == 1.0
    assert report.parameter_of_point[-1] == 1.0
    assert plan.path[0].tolist() == [state.configuration[name] for name in plan.variables]
    end = state.with_configuration(plan.end_configuration())
    distance, angle = forward_kinematics(cell, end, mode=TargetMode.TOOL).distance_to(moved(pose, z=-0.18))
    assert distance < 1e-6
    assert angle < 1e-6
    # Along the timed motion, at ten times its sampling, the tool stays on the line and keeps its orientation.
    times = np.linspace(0.0, plan.duration, 10 * len(plan.trajectory))
    poses = tool_poses(cell, state, plan.variables, plan.trajectory.at(times))
    off = poses[:, :2, 3] - np.array(pose.position[:2])
    assert np.linalg.norm(off, axis=1).max() < 1e-5
    assert np.abs(poses[:, :3, :3] - pose.matrix[:3, :3]).max() < 1e-5


def test_the_trajectory_obeys_limits_and_rests_at_waypoints(above):
    cell, state, pose = above
    corner = moved(pose, z=-0.1)
    plan = plan_cartesian(cell, state, lines(corner, moved(corner, y=-0.1)))
    limits = MotionLimits.of([cell.variables[name] for name in plan.variables])
    assert validate(plan.trajectory, limits, start=state.configuration, start_tolerance=0.0).valid
    index = plan.cartesian.parameter_of_point.index(1.0) + 1
    row = np.flatnonzero((plan.trajectory.positions == plan.path[index]).all(axis=1))
    assert len(row) == 1
    assert not plan.trajectory.velocities[row].any()


def test_position_and_orientation_change_together(above):
    cell, state, pose = above
    turned = moved(pose, x=-0.05, z=0.05) @ Pose.from_rpy((0.0, 0.0, 0.0), (0.1, -0.2, 0.4))
    plan = plan_cartesian(cell, state, lines(turned))
    line = Line.between(pose.matrix, turned.matrix)
    poses = tool_poses(cell, state, plan.variables, plan.path)
    shares = np.array([0.0, *plan.cartesian.parameter_of_point])
    distances, angles = deviations(line.poses(shares), tangents(line, shares), poses)
    assert distances.max() < 1e-6
    assert angles.max() < 1e-6
    travelled = np.linalg.norm(poses[:, :3, 3] - np.array(pose.position), axis=1)
    assert np.allclose(travelled, shares * line.length, atol=2e-6)


@pytest.mark.parametrize(("step", "points"), [(0.01, 10), (0.003, 34), (0.2, 1)])
def test_spacing_by_distance(above, step, points):
    cell, state, pose = above
    request = lines(moved(pose, z=-0.1), max_step_distance=step, min_step_distance=1e-4)
    plan = plan_cartesian(cell, state, request)
    assert len(plan.path) == points + 1
    assert plan.cartesian.waypoint_of_point == (0,) * points


@pytest.mark.parametrize(("step", "points"), [(0.1, 6), (0.02, 30)])
def test_spacing_by_angle(above, step, points):
    cell, state, pose = above
    turned = pose @ Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, 0.6))
    plan = plan_cartesian(cell, state, lines(turned, max_step_angle=step))
    assert len(plan.path) == points + 1
    assert plan.tool_path_length < 1e-3


def test_finer_spacing_reduces_the_deviation(above):
    cell, state, pose = above
    deviations = [
        plan_cartesian(cell, state, lines(moved(pose, z=0.2), max_step_distance=step)).cartesian.max_deviation
        for step in (0.04, 0.02, 0.01)
    ]
    # The deviation between points grows with the square of their distance.
    assert deviations[0] / deviations[1] == pytest.approx(4.0, rel=0.2)
    assert deviations[1] / deviations[2] == pytest.approx(4.0, rel=0.2)


def test_a_jump_limit_halves_the_steps(above):
    cell, state, pose = above
    wide = lines(moved(pose, z=-0.1), max_step_distance=0.05)
    plain = plan_cartesian(cell, state, wide)
    largest = np.abs(np.diff(plain.path, axis=0)).max()
    limit = 0.6 * largest
    finer = plan_cartesian(cell, state, lines(moved(pose, z=-0.1), max_step_distance=0.05, max_jump_revolute=limit))
    assert len(finer.path) > len(plain.path)
    assert np.abs(np.diff(finer.path, axis=0)).max() <= limit
    free = plan_cartesian(cell, state, lines(moved(pose, z=-0.1), max_step_distance=0.05, max_jump_revolute=0.0))
    assert np.array_equal(free.path, plain.path)


def test_a_jump_that_no_spacing_avoids_is_an_error(above):
    cell, state, pose = above
    request = lines(
        moved(pose, z=-0.1), max_step_distance=0.05, min_step_distance=0.04, min_step_angle=0.1, max_jump_revolute=0.01
    )
    with pytest.raises(MPMaxJumpError) as caught:
        plan_cartesian(cell, state, request)
    error = caught.value
    assert error.subjects[0] in cell.group().variables
    jump = error.values[1]
    assert jump.value > jump.limit == 0.01
    assert error.partial.cartesian.fraction == 0.0
    assert len(error.partial.path) == 1


def test_a_path_into_the_table_ends_with_its_partial_plan(above):
    cell, state, pose = above
    request = lines(moved(pose, z=-0.3), skip_preplanning_collision_check=True)
    with pytest.raises(MPInterpolationInCollisionError) as caught:
        plan_cartesian(cell, state, request)
    error = caught.value
    assert "table" in error.subjects
    partial = error.partial
    report = partial.cartesian
    # The fingers touch the table 0.189 m below.
    assert 0.18 / 0.3 - 0.034 <= report.fraction <= 0.189 / 0.3
    assert report.pairs[0].pair_type.name == "TOOL_BODY"
    assert report.failed_waypoint == 0
    reached = tool_poses(cell, state, partial.variables, partial.path[-1:])[0, 2, 3]
    assert pose.position[2] - reached == pytest.approx(0.3 * report.fraction, abs=1e-6)
    assert report.failed_frame.position[2] < reached
    assert partial.trajectory is None


def test_without_collision_checks_it_passes_the_table(above):
    cell, state, pose = above
    plan = plan_cartesian(cell, state, lines(moved(pose, z=-0.3), check_collision=False))
    assert plan.cartesian.fraction == 1.0
    assert plan.states_checked == 0
    assert plan.clearance is None


def test_waypoints_are_checked_first(above):
    cell, state, pose = above
    with pytest.raises(MPTargetInCollisionError, match="waypoint 1 cannot be reached") as caught:
        plan_cartesian(cell, state, lines(moved(pose, z=-0.1), moved(pose, z=-0.3)))
    assert caught.value.partial.cartesian.fraction == 0.0
    with pytest.raises(MPNoIKSolutionError, match="out of reach"):
        plan_cartesian(cell, state, lines(moved(pose, x=3.0)))


def test_a_path_out_of_reach_ends_at_the_border(above):
    cell, state, pose = above
    request = lines(moved(pose, z=1.5), skip_preplanning_collision_check=True)
    with pytest.raises((MPNoIKSolutionError, MPMaxJumpError)) as caught:
        plan_cartesian(cell, state, request)
    assert 0.2 < caught.value.partial.cartesian.fraction < 0.8


def test_starts_in_collision_are_refused():
    cell, state = wall_with_gap()
    request = CartesianRequest(FrameWaypoints((Pose((-0.5, 0.0, 0.0)),)))
    with pytest.raises(MPStartStateInCollisionError):
        plan_cartesian(cell, state.with_configuration({"x": 0.0}), request)


def test_a_thin_wall_between_points_is_found():
    cell, state = gantry((("sheet", (0.0, 0.0), (0.002, 0.5)),))
    state = state.with_configuration({"x": -0.8})
    options = CartesianOptions(max_step_distance=2.0, max_jump_prismatic=0.0)
    over = CartesianRequest(FrameWaypoints((Pose((0.8, 0.0, 0.0)),)), options=options)
    with pytest.raises(MPInterpolationInCollisionError) as caught:
        plan_cartesian(cell, state, over)
    assert set(caught.value.subjects) == {"cube", "sheet"}


def test_waypoints_at_the_current_pose_add_no_points(above):
    cell, state, _ = above
    plan = plan_cartesian(cell, state, lines(forward_kinematics(cell, state, mode=TargetMode.TOOL)))
    assert len(plan.path) == 1
    assert plan.cartesian.fraction == 1.0
    assert plan.duration == 0.0


def test_poses_in_another_frame_and_unit(above):
    cell, state, pose = above
    goal = moved(pose, z=-0.1)
    in_table = world_pose(cell, state, "table").inverse() @ goal
    scaled = Pose(tuple(1000.0 * value for value in in_table.position), in_table.quaternion)
    waypoints = FrameWaypoints((scaled,), mode=TargetMode.TOOL, reference_frame="table", native_scale=0.001)
    other = plan_cartesian(cell, state, CartesianRequest(waypoints))
    plain = plan_cartesian(cell, state, lines(goal))
    assert np.allclose(other.path, plain.path, atol=1e-8)


def test_the_tool_speed_is_limited(above):
    cell, state, pose = above
    request = replace(lines(moved(pose, z=-0.15)), timing=TimingOptions(path_speed=0.05))
    plan = plan_cartesian(cell, state, request)
    heights = tool_poses(cell, state, plan.variables, plan.trajectory.positions)[:, 2, 3]
    speeds = np.abs(np.diff(heights) / np.diff(plan.trajectory.times))
    assert speeds.max() <= 0.05 * (1 + 1e-4)
    assert speeds.max() > 0.0499


def test_same_request_same_bytes(above):
    cell, state, pose = above
    request = lines(moved(pose, z=-0.1), moved(pose, z=-0.1, x=-0.1))
    first, second = (plan_to_json(plan_cartesian(cell, state, request), repeatable=True) for _ in range(2))
    assert first == second


def test_requests_that_do_not_fit_are_refused(above):
    cell, state, pose = above
    with pytest.raises(InvalidRequestError, match="no waypoint"):
        FrameWaypoints(())
    with pytest.raises(InvalidRequestError, match="max_step_distance"):
        CartesianOptions(max_step_distance=math.nan)
    with pytest.raises(InvalidRequestError, match="native_scale"):
        FrameWaypoints((pose,), native_scale=0.0)
    with pytest.raises(TargetModeMismatchError):
        plan_cartesian(cell, state, CartesianRequest(FrameWaypoints((pose,), mode=TargetMode.WORKPIECE)))


def test_cancelling_ends_it(above):
    cell, state, pose = above
    with pytest.raises(CancelledError):
        plan_cartesian(cell, state, lines(moved(pose, z=-0.1)), cancelled=lambda: True)


def test_the_certified_fraction_is_reported(above):
    cell, state, pose = above
    free, unchecked = lines(moved(pose, z=-0.1)), lines(moved(pose, z=-0.1), check_collision=False)
    assert plan_cartesian(cell, state, free).certified_fraction == 1.0
    assert math.isnan(plan_cartesian(cell, state, unchecked).certified_fraction)
    bullet = replace(free, options=replace(free.options, engine="bullet"))
    assert plan_cartesian(cell, state, bullet).certified_fraction == 1.0
