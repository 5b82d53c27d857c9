"""Straight steps of sequences, and steps with paired goals, such as a grasp and its approach."""

import math
import re

import numpy as np
import pytest
from planning_cells import gantry
from test_barriers import carriage

from robot_cell_planner.errors import (
    InvalidRequestError,
    NotConnectedError,
    PlanningError,
    UnknownNameError,
)
from robot_cell_planner.errors.remedies import BARRIER
from robot_cell_planner.kinematics.targets import FrameTarget, PointAxisTarget, TargetMode
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.mechanism import JointLimits
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.problem.constraints import upright
from robot_cell_planner.planning.problem.request import Goals, PlanningOptions
from robot_cell_planner.planning.problem.steps import MotionStep, MultistepFailure, MultistepRequest
from robot_cell_planner.planning.sequence import plan_multistep
from robot_cell_planner.trajectory.timing import TimingOptions

UNTIMED = {"timing": None}


def grasp(cell, state, yaw, height, depth=0.0):
    """Target over the workpiece, turned about the vertical; height [m] over the grasp."""
    pose = world_pose(cell, state, "pick") @ Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, yaw))
    x, y, z = pose.position
    return FrameTarget(pose=Pose((x, y, z + height - depth), pose.quaternion), mode=TargetMode.TOOL)


def steps_of(cell, state, yaws, depths, **fields):
    above = tuple(grasp(cell, state, yaw, 0.12) for yaw in yaws)
    down = tuple(grasp(cell, state, yaw, 0.0, depth) for yaw, depth in zip(yaws, depths, strict=True))
    return (
        MotionStep(Goals(targets=above), "above"),
        MotionStep(Goals(targets=down), "down", paired_with="above", straight=True, **fields),
        MotionStep(Goals(targets=above), "up", paired_with="0", straight=True),
    )


def frames(cell, state, plan):
    """Poses of the tool along a path, by other functions than those of the planner."""
    rows = (dict(zip(plan.variables, row, strict=True)) for row in plan.path.tolist())
    return [world_pose(cell, state.with_configuration(row), "gripper/tcp") for row in rows]


def test_the_error_of_a_step_has_the_remedy_of_its_cause():
    step = MotionStep(Goals(({"rail": 0.9, "turn": 0.3},)), "across", group="g")
    with pytest.raises(NotConnectedError, match=r"step across: no path exists") as caught:
        plan_multistep(*carriage(0.0), MultistepRequest((step,), PlanningOptions(state_limit=5_000), **UNTIMED))
    assert caught.value.remedy == BARRIER
    assert caught.value.subjects[0] == "across"
    assert isinstance(caught.value.partial, MultistepFailure)


@pytest.mark.parametrize("seed", range(3))
def test_paired_goals_are_reached_together_and_the_tool_moves_straight(demo, seed):
    cell, state = demo
    yaws = [0.0, math.pi / 2, math.pi, -math.pi / 2]
    request = MultistepRequest(steps_of(cell, state, yaws, [0.0] * 4), PlanningOptions(seed=seed), **UNTIMED)
    plans = plan_multistep(cell, state, request)
    assert len({plan.goal for plan in plans}) == 1
    for plan in plans[1:]:
        poses = frames(cell, state, plan)
        positions = np.array([pose.position for pose in poses])
        np.testing.assert_allclose(positions[:, :2], np.broadcast_to(positions[0, :2], (len(poses), 2)), atol=2e-4)
        assert abs(positions[-1, 2] - positions[0, 2]) == pytest.approx(0.12, abs=1e-5)
        first = np.array(poses[0].quaternion)
        assert all(abs(abs(first @ np.array(pose.quaternion)) - 1.0) < 1e-6 for pose in poses)
    np.testing.assert_array_equal(plans[0].path[-1], plans[1].path[0])
    np.testing.assert_array_equal(plans[1].path[-1], plans[2].path[0])


def twelve_near_and_one_far(cell, state):
    """Rotations of grasps about the vertical: more near ones than the number of sequences, and one that is farther."""
    around = np.linspace(0.0, 2.0 * math.pi, 16, endpoint=False).tolist()
    alone = MotionStep(Goals(targets=tuple(grasp(cell, state, yaw, 0.12) for yaw in around)))
    (first,) = plan_multistep(cell, state, MultistepRequest((alone,), **UNTIMED))
    nearest = around[first.goal]
    return [*np.linspace(nearest - 0.1, nearest + 0.1, 12).tolist(), nearest + math.pi / 2]


def test_an_approach_without_its_grasp_is_not_taken(demo):
    """The grasps of all near approaches are in the table, and are more than the number of sequences."""
    cell, state = demo
    yaws = twelve_near_and_one_far(cell, state)
    depths = [*[0.05] * 12, 0.0]
    plans = plan_multistep(cell, state, MultistepRequest(steps_of(cell, state, yaws, depths), **UNTIMED))
    assert [plan.goal for plan in plans] == [12, 12, 12]


def test_an_approach_whose_grasp_is_beyond_limits_of_the_request_is_not_taken(demo):
    """The grasps of all near approaches need more of the shoulder than the request allows, and are more than the number
    of sequences."""
    cell, state = demo
    yaws = twelve_near_and_one_far(cell, state)
    joint = "shoulder_lift_joint"
    column = cell.group().variables.index(joint)
    low, high = (
        plan_multistep(cell, state, MultistepRequest(steps_of(cell, state, [yaws[-1]], [depth])))[1].path[:, column]
        for depth in (0.0, -0.06)
    )
    border = 0.5 * (low[-1] + high[-1])
    assert high.max() < border < low.max()
    timing = TimingOptions(limits={joint: JointLimits(upper=border)})
    steps = steps_of(cell, state, yaws, [*[0.0] * 12, -0.06])
    plans = plan_multistep(cell, state, MultistepRequest(steps, timing=timing))
    assert [plan.goal for plan in plans] == [12, 12, 12]
    assert max(plan.path[:, column].max() for plan in plans) <= border


def test_equal_goals_of_a_step_are_distinguished_by_the_goals_that_are_paired_with_them():
    around = (("n", (0.4, 0.2), (0.44, 0.04)), ("s", (0.4, -0.2), (0.44, 0.04)))
    around += (("w", (0.2, 0.0), (0.04, 0.44)), ("e", (0.6, 0.0), (0.04, 0.44)))
    cell, state = gantry(around)
    before, enclosed, beside = {"x": -0.5, "y": 0.0}, {"x": 0.4, "y": 0.0}, {"x": 0.9, "y": 0.9}
    steps = (
        MotionStep(Goals(joint_goals=(before, before)), "before"),
        MotionStep(Goals(joint_goals=(enclosed, beside)), paired_with="before"),
    )
    request = MultistepRequest(steps, PlanningOptions(state_limit=2000))
    assert [plan.goal for plan in plan_multistep(cell, state, request)] == [1, 1]


def test_straight_steps_are_timed_like_the_others(demo):
    cell, state = demo
    plans = plan_multistep(cell, state, MultistepRequest(steps_of(cell, state, [0.0], [0.0])))
    for plan in plans:
        trajectory = plan.trajectory
        np.testing.assert_allclose(trajectory.positions[[0, -1]], plan.path[[0, -1]], atol=1e-9)
        assert not trajectory.velocities[[0, -1]].any()


def test_the_direction_of_an_axis_is_a_goal_of_a_straight_step(demo):
    cell, state = demo
    above, down = (grasp(cell, state, 0.0, height) for height in (0.12, 0.03))
    axis = PointAxisTarget(point=down.pose.position, axis=(0.0, 0.0, -1.0), mode=TargetMode.TOOL)
    steps = (MotionStep(Goals(targets=(above,))), MotionStep(Goals(targets=(axis,)), straight=True))
    plans = plan_multistep(cell, state, MultistepRequest(steps, **UNTIMED))
    end = frames(cell, state, plans[1])[-1]
    np.testing.assert_allclose(end.position, down.pose.position, atol=2e-6)
    np.testing.assert_allclose(end.matrix[:3, 2], [0.0, 0.0, -1.0], atol=2e-6)


def test_the_reasons_of_all_goals_are_reported_if_no_line_is_free(demo):
    cell, state = demo
    request = MultistepRequest(steps_of(cell, state, [0.0, 0.3], [0.05, 0.06]), **UNTIMED)
    with pytest.raises(PlanningError, match="step down: ") as caught:
        plan_multistep(cell, state, request)
    assert isinstance(caught.value.partial, MultistepFailure)
    assert caught.value.partial.failed_step == 1


def test_unsupported_paired_and_straight_steps_are_refused(demo):
    cell, state = demo
    goal = Goals(targets=(grasp(cell, state, 0.0, 0.1),))
    two = Goals(targets=goal.targets * 2)
    joints = Goals(joint_goals=({},))

    def refused(kind, text, *steps, **options):
        with pytest.raises(kind, match=re.escape(text)):
            MultistepRequest(steps, PlanningOptions(**options))

    refused(UnknownNameError, "'aproach'", MotionStep(goal, "approach"), MotionStep(goal, paired_with="aproach"))
    refused(UnknownNameError, "'itself'", MotionStep(goal, "itself", paired_with="itself"))
    refused(
        InvalidRequestError,
        "step 1 has 1 goals, and step a has 2",
        MotionStep(two, "a"),
        MotionStep(goal, paired_with="a"),
    )
    ambiguous = "step 2 is paired with '1', which is the name or index of steps 0 and 1; give them other names"
    refused(InvalidRequestError, ambiguous, MotionStep(goal, "1"), MotionStep(goal), MotionStep(goal, paired_with="1"))
    twice = "step c is paired with 'a', which is the name or index of steps 0 and 1"
    refused(InvalidRequestError, twice, *(MotionStep(goal, "a") for _ in "01"), MotionStep(goal, "c", paired_with="a"))
    own = MotionStep(goal, "0"), MotionStep(goal, paired_with="0")
    assert MultistepRequest(own).partner(1) == 0
    refused(InvalidRequestError, "takes no start correction", MotionStep(goal, straight=True), max_start_correction=0.1)
    with pytest.raises(InvalidRequestError, match="must be targets"):
        MotionStep(joints, straight=True)
    with pytest.raises(InvalidRequestError, match="neither constraints"):
        MotionStep(goal, straight=True, constraints=(upright(0.1),))
    with pytest.raises(InvalidRequestError, match="neither constraints"):
        MotionStep(goal, straight=True, waypoint_suggestions=({},))
