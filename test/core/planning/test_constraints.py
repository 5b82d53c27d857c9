"""Constraints hold along whole paths; starts and goals that violate them are refused with numbers."""

import math

import numpy as np
import pytest
from planning_cells import spinner, wall_with_gap

from robot_cell_planner.errors import ConstraintMismatchError, InvalidRequestError, NotSupportedError, UnknownNameError
from robot_cell_planner.kinematics.forward import forward_batch
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.simplification import densify
from robot_cell_planner.planning.problem.constraints import FrameConstraint, FrameRule, JointCombination, upright
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions

# The demo's arm left and right of the post, the tool straight down.
LEFT = {
    "shoulder_pan_joint": -0.6,
    "shoulder_lift_joint": -1.2,
    "elbow_joint": 1.9,
    "wrist_1_joint": -0.7 - math.pi / 2,
    "wrist_2_joint": -math.pi / 2,
    "wrist_3_joint": 0.0,
}
RIGHT = {**LEFT, "shoulder_pan_joint": 0.9}
DOWN = (0.0, 0.0, -1.0)


def plan(demo, *constraints, goal=RIGHT, **options):
    cell, state = demo
    start = state.with_configuration(LEFT)
    request = MotionRequest(
        Goals(joint_goals=(goal,)),
        options=PlanningOptions(**{"seed": 3, **options}),
        constraints=constraints,
        timing=None,
    )
    return plan_motion(cell, start, request)


def tools(demo, found):
    """Transforms of the tool every 1/1000 rad."""
    cell, state = demo
    return forward_batch(cell, state, "gripper/tcp", found.variables, densify(found.path, 0.001)[0])


def test_combinations_stay_constant(demo):
    found = plan(
        demo,
        JointCombination({"shoulder_lift_joint": 1.0, "elbow_joint": 1.0, "wrist_1_joint": 1.0}),
        JointCombination({"wrist_2_joint": 1.0}),
    )
    points = densify(found.path, 0.001)[0]
    assert len(found.path) > 2
    assert np.ptp(points[:, 1:4].sum(axis=1)) <= 1e-6
    assert np.ptp(points[:, 4]) <= 1e-6
    # For this arm, the combination keeps the tool upright.
    assert np.arccos(np.clip(tools(demo, found)[:, :3, 2] @ DOWN, -1.0, 1.0)).max() < 1e-3
    assert found.path[-1].tolist() == pytest.approx(list(RIGHT.values()), abs=1e-12)


@pytest.mark.parametrize("planner", ["RRTstar", "BITstar", "PRM", "KPIECE1"])
def test_every_planner_keeps_combinations(planner):
    cell, state = wall_with_gap()
    state = state.with_configuration({"x": -0.8, "y": 0.65})
    request = MotionRequest(
        Goals(joint_goals=({"x": 0.8, "y": 0.65},)),
        options=PlanningOptions(planner=planner),
        constraints=(JointCombination({"y": 2.0}),),
    )
    found = plan_motion(cell, state, request)
    assert np.ptp(found.path[:, 1]) <= 1e-6


@pytest.mark.parametrize("angle", [0.01, 0.1, 0.5])
def test_a_cup_stays_within_its_cone(demo, angle):
    found = plan(demo, FrameConstraint(FrameRule.AXIS_IN_CONE, axis=DOWN, tolerance=angle))
    tilt = np.arccos(np.clip(tools(demo, found)[:, :3, 2] @ DOWN, -1.0, 1.0))
    assert tilt.max() <= angle
    assert found.path[0].tolist() == list(LEFT.values())
    assert found.path[-1].tolist() == list(RIGHT.values())


def test_the_tool_stays_on_its_plane_and_in_its_box(demo):
    cell, state = demo
    start = forward_batch(cell, state, "gripper/tcp", tuple(LEFT), np.array([list(LEFT.values())]))[0]
    height = float(start[2, 3])
    box = FrameConstraint(
        FrameRule.POSITION_IN_BOX, pose=Pose((0.4, 0.0, height)), extent=(math.inf, 1.5, 0.3), tolerance=1e-3
    )
    low = tools(demo, plan(demo, box))
    assert np.abs(low[:, 2, 3] - height).max() <= 0.301
    level = FrameConstraint(FrameRule.POSITION_ON_PLANE, pose=Pose((0.0, 0.0, height)), axis=(0.0, 0.0, 2.0))
    flat = tools(demo, plan(demo, level))
    assert np.abs(flat[:, 2, 3] - height).max() <= 1e-3


def test_a_line_and_an_orientation_are_kept_together(demo):
    cell, state = demo
    start = forward_batch(cell, state, "gripper/tcp", tuple(LEFT), np.array([list(LEFT.values())]))[0]
    pose = Pose.from_matrix(start)
    lifted = Pose((pose.position[0], pose.position[1], pose.position[2] + 0.1), pose.quaternion)
    from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode

    constraints = (
        FrameConstraint(FrameRule.POSITION_ON_LINE, pose=pose, axis=(0.0, 0.0, 1.0)),
        FrameConstraint(FrameRule.ORIENTATION, pose=pose),
    )
    request = MotionRequest(
        Goals(targets=(FrameTarget(pose=lifted, mode=TargetMode.TOOL),)),
        options=PlanningOptions(seed=1),
        constraints=constraints,
        timing=None,
    )
    found = tools(demo, plan_motion(cell, state.with_configuration(LEFT), request))
    assert np.linalg.norm(found[:, :2, 3] - start[:2, 3], axis=1).max() <= 1e-3
    turned = np.einsum("ij,kij->k", start[:3, :3], found[:, :3, :3])
    assert np.arccos(np.clip(0.5 * (turned - 1.0), -1.0, 1.0)).max() <= 1e-3 + 1e-7
    assert found[-1, 2, 3] == pytest.approx(start[2, 3] + 0.1, abs=1e-5)


def test_goals_that_violate_constraints_are_reported_with_their_values(demo):
    with pytest.raises(ConstraintMismatchError, match=r"1 elbow_joint is 1\.9 at the start and 1\.5 there") as caught:
        plan(demo, JointCombination({"elbow_joint": 1.0}), goal={**RIGHT, "elbow_joint": 1.5})
    assert caught.value.values[1].value == pytest.approx(-0.4)
    assert caught.value.subjects == ("elbow_joint",)
    with pytest.raises(ConstraintMismatchError, match="axis in cone") as caught:
        plan(demo, FrameConstraint(FrameRule.AXIS_IN_CONE, axis=DOWN), goal={**RIGHT, "wrist_2_joint": -1.4})
    assert caught.value.values[0].limit == 1e-3
    with pytest.raises(ConstraintMismatchError, match="start state"):
        plan(demo, upright())


def test_goals_that_differ_by_whole_turns_are_named():
    cell, state = spinner()
    request = MotionRequest(
        Goals(joint_goals=({"wide": 2.0 * math.pi},)), constraints=(JointCombination({"wide": 1.0}),)
    )
    with pytest.raises(ConstraintMismatchError, match="multiple of 2 pi"):
        plan_motion(cell, state, request)


def test_goals_within_the_tolerance_are_met_exactly(demo):
    goal = {**RIGHT, "elbow_joint": 1.9 + 5e-7}
    found = plan(demo, JointCombination({"elbow_joint": 1.0}), goal=goal)
    assert found.path[-1].tolist() == list(goal.values())
    assert np.ptp(densify(found.path, 0.001)[0][:, 2]) <= 1e-6


def test_unsupported_constraints_are_refused(demo):
    with pytest.raises(NotSupportedError, match="FMT does not support constraints on frames"):
        plan(demo, FrameConstraint(FrameRule.AXIS_IN_CONE, axis=DOWN), planner="FMT")
    with pytest.raises(UnknownNameError):
        plan(demo, JointCombination({"elbow": 1.0}))
    everything = [JointCombination({joint: 1.0}) for joint in LEFT]
    with pytest.raises(ConstraintMismatchError, match="fix all 6 joints"):
        plan(demo, *everything, goal=LEFT)


@pytest.mark.parametrize(
    "make",
    [
        lambda: JointCombination({}),
        lambda: JointCombination({"a": 0.0}),
        lambda: JointCombination({"a": math.nan}),
        lambda: JointCombination({"a": 1.0}, tolerance=0.0),
        lambda: FrameConstraint(FrameRule.AXIS_IN_CONE, axis=(0.0, 0.0, 0.0)),
        lambda: FrameConstraint(FrameRule.POSITION_IN_BOX, extent=(-1.0, 0.0, 0.0)),
        lambda: FrameConstraint(FrameRule.ORIENTATION, tolerance=math.nan),
    ],
)
def test_malformed_constraints_are_refused(make):
    with pytest.raises(InvalidRequestError):
        make()


def test_repeated_combinations_count_once(demo):
    combination = JointCombination({"elbow_joint": 1.0, "wrist_1_joint": 1.0})
    twice = JointCombination({"elbow_joint": 2.0, "wrist_1_joint": 2.0})
    found = plan(demo, combination, twice)
    assert np.ptp(found.path[:, 2] + found.path[:, 3]) <= 1e-6
