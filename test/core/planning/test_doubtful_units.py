"""Options that are valid, but probably in millimetres or degrees, are warnings of the plan with the value to write."""

import math
import re
from dataclasses import replace

import pytest
from loaded_cells import loaded

from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.cartesian.path.options import CartesianOptions
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints
from robot_cell_planner.planning.cartesian.planner import CartesianRequest, plan_cartesian
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.constraints import FrameConstraint, FrameRule, JointCombination, upright
from robot_cell_planner.planning.problem.request import GoalRegion, Goals, MotionRequest
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions

CELL, STATE = loaded("ur10")
HERE = forward_kinematics(CELL, STATE)
LOWER = FrameWaypoints((Pose((HERE.position[0], HERE.position[1], HERE.position[2] - 0.02), HERE.quaternion),))
NEAR = Goals(joint_goals=({name: value + 0.05 for name, value in STATE.configuration.items()},))
SLOW = TimingOptions(method=TimingMethod.SMOOTH, tool_speed=250.0)
FAST = "a tool speed of 250 m/s is probably too large; if it is in mm/s, write 0.25"

VALID = {
    "tool speed": MotionRequest(NEAR, timing=TimingOptions(tool_speed=10.0)),
    "blend": MotionRequest(NEAR, timing=TimingOptions(blend_tolerance=3.0)),
    "no timing": MotionRequest(NEAR, timing=None),
    "cone": MotionRequest(NEAR, constraints=(upright(0.5),)),
    "free cone": MotionRequest(NEAR, constraints=(upright(math.pi),)),
    "box": MotionRequest(NEAR, constraints=(FrameConstraint(FrameRule.POSITION_IN_BOX, extent=(5.0, math.inf, 0.0)),)),
    "combination": MotionRequest(NEAR, constraints=(JointCombination({"elbow_joint": 1.0}),)),
    "region": MotionRequest(Goals(regions=(GoalRegion(FrameTarget(HERE), (0.1, math.inf, 3.0)),))),
}
DOUBTFUL = {
    "write 0.25": MotionRequest(NEAR, timing=SLOW),
    "write 0.17453": MotionRequest(NEAR, timing=TimingOptions(blend_tolerance=10.0)),
    "write 0.087266, else 3.14": MotionRequest(NEAR, constraints=(upright(5.0),)),
    "write 0.005": MotionRequest(NEAR, constraints=(FrameConstraint(FrameRule.POSITION_ON_LINE, tolerance=5.0),)),
    "write 0.5": MotionRequest(NEAR, constraints=(FrameConstraint(FrameRule.POSITION_IN_BOX, extent=(500.0,) * 3),)),
    "write 0.02": MotionRequest(Goals(regions=(GoalRegion(FrameTarget(HERE), (20.0, 20.0, 0.0)),))),
    "else 3.14": MotionRequest(Goals(regions=(GoalRegion(FrameTarget(HERE, tolerance_angle=5.0)),))),
}


@pytest.mark.parametrize("case", VALID)
def test_usual_values_have_no_warning(case):
    assert VALID[case].warnings == ()


@pytest.mark.parametrize("words", DOUBTFUL)
def test_a_doubtful_value_has_one_warning_with_the_value_to_write(words):
    (text,) = DOUBTFUL[words].warnings
    assert text.endswith(words)


def test_a_motion_in_joint_space_warns_of_a_speed_in_millimetres():
    assert FAST in plan_motion(CELL, STATE, MotionRequest(NEAR, timing=SLOW)).warnings
    assert FAST not in plan_motion(CELL, STATE, MotionRequest(NEAR, timing=replace(SLOW, tool_speed=0.25))).warnings


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (CartesianOptions(max_step_distance=10.0), "a max_step_distance of 10 m .* write 0.01"),
        (CartesianOptions(max_step_angle=5.0), "a max_step_angle of 5 rad .* write 0.087266"),
        (CartesianOptions(max_jump_revolute=90.0), "a max_jump_revolute of 90 rad .* write 1.5708"),
    ],
)
def test_a_line_warns_of_steps_in_other_units(options, words):
    found = plan_cartesian(CELL, STATE, CartesianRequest(LOWER, options=options)).warnings
    assert any(re.fullmatch(words, text) for text in found), found
    assert CartesianOptions().warnings == ()


def test_a_line_warns_of_a_speed_in_millimetres():
    assert FAST in plan_cartesian(CELL, STATE, CartesianRequest(LOWER, timing=replace(SLOW))).warnings
