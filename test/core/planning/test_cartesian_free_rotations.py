"""Cartesian paths with free rotations: of arms with four and five joints, and of arms with six."""

import math

import numpy as np
import pytest
from cartesian_paths import axes, axis_of, distances_to_line, follow, frames, moved, tool_pose, tool_poses
from frozendict import frozendict
from loaded_cells import loaded
from scipy.spatial.transform import Rotation, Slerp

from robot_cell_planner import (
    FrameTarget,
    Goals,
    MotionStep,
    MultistepRequest,
    PlanningGroup,
    Robot,
    RobotCell,
    TimingOptions,
    inverse_kinematics,
    plan_multistep,
)
from robot_cell_planner.errors import MPNoIKSolutionError
from robot_cell_planner.io.robot_description.limits import with_default_limits
from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.kinematics.forward import forward_batch, forward_kinematics
from robot_cell_planner.kinematics.targets import TargetMode
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.cartesian.path.curves import deviations
from robot_cell_planner.planning.cartesian.path.options import CartesianStrategy

ROBOT = {"mode": TargetMode.ROBOT}
DIRECTIONS = [sign * row for row in np.eye(3) for sign in (1.0, -1.0)]
FREE, EXACT = math.pi, 1e-6


def joint(number, parent, child, origin, axis):
    return (
        f'<joint name="j{number}" type="revolute"><origin xyz="{origin}"/><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="{axis}"/><limit lower="-2.6" upper="2.6" velocity="2" effort="9"/></joint>'
    )


def elbow_arm(roll=False):
    """An arm that turns about the vertical and bends three times in its plane, of 0.65 m from its shoulder to the tip,
    x forwards; with a joint that rolls the tip. It is bent forwards, with a level tip."""
    links = ["base", "turret", "upper", "fore", "hand"]
    joints = [
        joint(1, "base", "turret", "0 0 0.1", "0 0 1"),
        joint(2, "turret", "upper", "0 0 0.1", "0 1 0"),
        joint(3, "upper", "fore", "0 0 0.25", "0 1 0"),
        joint(4, "fore", "hand", "0 0 0.25", "0 1 0"),
    ]
    q = [0.2, 0.3, 1.2, math.pi / 2.0 - 1.5]
    if roll:
        links.append("flange")
        joints.append(joint(5, "hand", "flange", "0 0 0.05", "0 0 1"))
        q.append(0.4)
    tip = '<joint name="tip_fixed" type="fixed"><origin xyz="0 0 0.1" rpy="0 -1.5707963267948966 0"/>'
    tip += f'<parent link="{links[-1]}"/><child link="tip"/></joint>'
    text = "".join(f'<link name="{name}"/>' for name in (*links, "tip")) + "".join(joints) + tip
    names = tuple(f"j{number}" for number in range(1, len(q) + 1))
    group = PlanningGroup("arm", names, (*links[1:], "tip"), "base", "tip")
    mechanism = with_default_limits(read_urdf(f'<robot name="elbow">{text}</robot>'))
    robot = Robot("elbow", mechanism, frozendict({"arm": group}))
    cell = RobotCell(robots=frozendict({"elbow": robot}))
    return cell, cell.default_state().with_configuration(dict(zip(names, q, strict=True)))


def shifted(pose, offset):
    return moved(pose, *offset.tolist())


def turned_motion(seed, angle=0.3, length=0.08):
    """The demo arm, the pose of its tool, and another pose at about an angle [rad] and a length [m] from it."""
    cell, state = loaded()
    rng, pose = np.random.default_rng(seed), tool_pose(cell, state)
    turn, offset = rng.normal(size=3), rng.normal(size=3)
    turn *= angle / np.linalg.norm(turn)
    offset *= length / np.linalg.norm(offset)
    rotation = Rotation.from_rotvec(turn).as_quat()
    return cell, state, pose, shifted(pose, offset) @ Pose((0.0, 0.0, 0.0), tuple(rotation.tolist()))


def twist(reference, rotations, axis):
    """Angles (n,) [rad] of rotations (n, 3, 3) about an axis of reference rotations (n, 3, 3), without the swing."""
    relative = Rotation.from_matrix(np.swapaxes(reference, 1, 2) @ rotations).as_quat()
    return 2.0 * np.arctan2(np.abs(relative[:, axis]), np.linalg.norm(np.delete(relative, axis, axis=1), axis=1))


@pytest.mark.parametrize("strategy", CartesianStrategy)
@pytest.mark.parametrize("roll", [False, True])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_arms_with_few_joints_follow_positions_in_all_directions(direction, roll, strategy):
    cell, state = elbow_arm(roll)
    start = forward_kinematics(cell, state)
    end = shifted(start, 0.08 * direction)
    plan = follow(cell, state, frames(end, tolerance_angle=FREE, **ROBOT), strategy=strategy, max_deviation=1e-4)
    poses = forward_batch(cell, state, "tip", plan.variables, plan.path)
    assert plan.cartesian.fraction == 1.0
    assert distances_to_line(poses[:, :3, 3], start, end).max() < 1e-7
    np.testing.assert_allclose(poses[-1, :3, 3], end.position, atol=1e-7)
    assert plan.cartesian.max_deviation < 1e-4
    assert plan.cartesian.max_deviation_angle == 0.0
    point_only = axes(end, tolerance_angle=FREE, **ROBOT)
    np.testing.assert_array_equal(
        follow(cell, state, point_only, strategy=strategy, max_deviation=1e-4).path, plan.path
    )


@pytest.mark.parametrize("strategy", CartesianStrategy)
@pytest.mark.parametrize("side", [-0.1, 0.1])
def test_a_level_tool_of_four_joints_turns_about_the_vertical_on_its_way(side, strategy):
    cell, state = elbow_arm()
    start = forward_kinematics(cell, state)
    end = moved(start, y=side)
    waypoints = frames(end, tolerance_angles=(EXACT, EXACT, FREE), **ROBOT)
    plan = follow(cell, state, waypoints, strategy=strategy)
    poses = forward_batch(cell, state, "tip", plan.variables, plan.path)
    np.testing.assert_allclose(poses[:, :3, 2], np.tile((0.0, 0.0, 1.0), (len(poses), 1)), atol=1e-6)
    assert distances_to_line(poses[:, :3, 3], start, end).max() < 1e-7
    headings = np.arctan2(poses[:, 1, 3], poses[:, 0, 3])
    np.testing.assert_allclose(np.arctan2(poses[:, 1, 0], poses[:, 0, 0]), headings, atol=1e-6)
    with pytest.raises(MPNoIKSolutionError, match=r"constrains 6 directions, .* tolerance_angles 3\.14"):
        follow(cell, state, frames(end, **ROBOT), strategy=strategy)


@pytest.mark.parametrize("strategy", CartesianStrategy)
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("seed", range(3))
def test_the_rotation_about_the_axis_that_is_not_free_follows_slerp(seed, axis, strategy):
    cell, state, pose, end = turned_motion(seed)
    tolerances = tuple(EXACT if index == axis else FREE for index in range(3))
    plan = follow(cell, state, frames(end, tolerance_angles=tolerances), strategy=strategy, check_collision=False)
    poses = tool_poses(cell, state, plan.variables, plan.path)
    assert distances_to_line(poses[:, :3, 3], pose, end).max() < 1e-7
    slerp = Slerp([0.0, 1.0], Rotation.from_quat([pose.quaternion, end.quaternion]))
    reference = slerp([0.0, *plan.cartesian.parameter_of_point]).as_matrix()
    np.testing.assert_allclose(twist(reference, poses[:, :3, :3], axis), 0.0, atol=1e-6)
    target = FrameTarget(pose=end, tolerance_angles=tolerances, mode=TargetMode.TOOL)
    reached = state.with_configuration(dict(zip(plan.variables, plan.path[-1].tolist(), strict=True)))
    np.testing.assert_allclose(inverse_kinematics(cell, reached, target).best, plan.path[-1], atol=1e-6)


@pytest.mark.parametrize("strategy", CartesianStrategy)
@pytest.mark.parametrize("axis", range(3))
def test_one_free_axis_is_tilted_along_the_shortest_arc(axis, strategy):
    cell, state, pose, end = turned_motion(4)
    tolerances = tuple(FREE if index == axis else EXACT for index in range(3))
    plan = follow(cell, state, frames(end, tolerance_angles=tolerances), strategy=strategy, check_collision=False)
    along = tool_poses(cell, state, plan.variables, plan.path)[:, :3, axis]
    first, last = pose.matrix[:3, axis], end.matrix[:3, axis]
    normal = np.cross(first, last)
    np.testing.assert_allclose(along @ normal / np.linalg.norm(normal), 0.0, atol=1e-6)
    np.testing.assert_allclose(along[-1], last, atol=1e-6)
    angle = math.acos(float(first @ last))
    angles = np.array([0.0, *plan.cartesian.parameter_of_point]) * angle
    np.testing.assert_allclose(along @ first, np.cos(angles), atol=1e-6)


@pytest.mark.parametrize("strategy", CartesianStrategy)
@pytest.mark.parametrize("seed", range(3))
def test_poses_with_a_free_rotation_about_z_are_points_with_axes(seed, strategy):
    cell, state, _, end = turned_motion(seed)
    turned = end @ Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    options = {"strategy": strategy, "check_collision": False}
    plan = follow(cell, state, frames(end, turned, tolerance_angles=(EXACT, EXACT, FREE)), **options)
    same = follow(cell, state, axes(end, end), **options)
    assert axis_of(turned) == pytest.approx(axis_of(end), abs=1e-9)
    np.testing.assert_allclose(plan.path, same.path, atol=1e-6)


def test_unequal_tolerances_are_kept_at_all_points():
    cell, state = elbow_arm()
    start = forward_kinematics(cell, state)
    end = moved(start, y=0.05)
    # The arm turns with its tip, by 0.1 rad or so, and cannot but turn.
    plan = follow(cell, state, frames(end, tolerance_angles=(EXACT, EXACT, 0.3), **ROBOT))
    poses = forward_batch(cell, state, "tip", plan.variables, plan.path)
    assert distances_to_line(poses[:, :3, 3], start, end).max() < 1e-5
    turns = Rotation.from_matrix(start.matrix[:3, :3].T @ poses[:, :3, :3]).as_rotvec()
    assert np.abs(turns[:, :2]).max() < 1e-6
    assert 0.05 < np.abs(turns[:, 2]).max() < 0.3
    with pytest.raises(MPNoIKSolutionError):
        follow(cell, state, frames(end, tolerance_angles=(EXACT, EXACT, 0.01), **ROBOT))


def test_the_speed_of_a_path_of_positions_is_that_of_its_tip():
    cell, state = elbow_arm()
    start = forward_kinematics(cell, state)
    way = frames(moved(start, y=0.1), moved(start, y=0.1, z=0.1), tolerance_angle=FREE, **ROBOT)
    plan = follow(cell, state, way, timing=TimingOptions(path_speed=0.02))
    sampled = plan.trajectory
    positions = forward_batch(cell, state, "tip", plan.variables, sampled.positions)[:, :3, 3]
    speeds = np.linalg.norm(np.diff(positions, axis=0), axis=1) / np.diff(sampled.times)
    assert speeds.max() < 0.0201
    assert np.median(speeds) == pytest.approx(0.02, rel=2e-3)


def test_a_straight_step_leads_to_a_position():
    cell, state = elbow_arm(roll=True)
    end = moved(forward_kinematics(cell, state), x=-0.05, y=0.08)
    goals = Goals(targets=(FrameTarget(pose=end, tolerance_angle=FREE),))
    plan = plan_multistep(cell, state, MultistepRequest((MotionStep(goals, "line", straight=True),)))[0]
    poses = forward_batch(cell, state, "tip", plan.variables, plan.path)
    assert distances_to_line(poses[:, :3, 3], forward_kinematics(cell, state), end).max() < 1e-7


@pytest.mark.parametrize("free", [(0,), (1, 2), (0, 1, 2)])
def test_deviations_leave_out_free_rotations(free):
    vectors = np.zeros((1, 3))
    vectors[0, list(free)] = (0.4, 0.3, 0.2)[: len(free)]
    poses = np.eye(4)[None].copy()
    poses[0, :3, :3] = Rotation.from_rotvec(vectors).as_matrix()[0]
    reference, direction = np.eye(4)[None], np.zeros((1, 3))
    assert deviations(reference, direction, poses, free)[1][0] == pytest.approx(0.0, abs=1e-9)
    assert deviations(reference, direction, poses)[1][0] == pytest.approx(np.linalg.norm(vectors), abs=1e-12)
