"""A tolerance of rotations that is probably in degrees frees the orientation, with a warning of the plan."""

import math

import pytest
from loaded_cells import loaded

from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, PointAxisTarget
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints
from robot_cell_planner.planning.cartesian.planner import CartesianRequest, plan_cartesian
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, SimultaneousGoal

CELL, STATE = loaded("ur10")
HERE = forward_kinematics(CELL, STATE)
FIVE_DEGREES = "an angular tolerance of 5 rad allows every rotation; if it is in degrees, write 0.087266, else 3.14"


def about(plan):
    return [text for text in plan.warnings if "angular tolerance" in text]


@pytest.mark.parametrize("angle", [1e-6, 1.0, 3.0, 3.14, math.pi, 3.2, 6.28, 2.0 * math.pi, 180.0, 360.0, 1e6])
def test_tolerances_in_radians_and_those_that_free_rotations_in_any_unit_have_no_doubt(angle):
    assert FrameTarget(pose=HERE, tolerance_angle=angle).doubt == ""
    assert FrameTarget(pose=HERE, tolerance_angles=(angle, 0.1, 0.1)).doubt == ""


@pytest.mark.parametrize("angle", [4.0, 5.0, 10.0, 45.0, 90.0])
def test_tolerances_that_are_probably_in_degrees_have_the_radians(angle):
    for target in (
        FrameTarget(pose=HERE, tolerance_angle=angle),
        FrameTarget(pose=HERE, tolerance_angles=(0.1, 0.1, angle)),
        PointAxisTarget(point=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0), tolerance_angle=angle),
    ):
        assert f"{angle:g} rad allows every rotation" in target.doubt
        assert f"write {math.radians(angle):.5g}" in target.doubt


def test_a_plan_to_such_a_target_has_a_warning():
    targets = (FrameTarget(pose=HERE, tolerance_angle=5.0),) * 2
    assert about(plan_motion(CELL, STATE, MotionRequest(Goals(targets=targets)))) == [FIVE_DEGREES]
    exact = Goals(targets=(FrameTarget(pose=HERE, tolerance_angle=0.1),))
    assert about(plan_motion(CELL, STATE, MotionRequest(exact))) == []


def test_simultaneous_goals_are_searched_for_such_tolerances():
    parts = {"left": FrameTarget(pose=HERE, tolerance_angle=5.0), "right": "home", "rail": {"slide": 5.0}}
    assert Goals(simultaneous=(SimultaneousGoal(parts),)).warnings == (FIVE_DEGREES,)


def test_a_line_with_such_a_tolerance_has_a_warning():
    lower = Pose((HERE.position[0], HERE.position[1], HERE.position[2] - 0.02), HERE.quaternion)
    doubtful = FrameWaypoints((lower,), tolerance_angle=5.0)
    assert about(plan_cartesian(CELL, STATE, CartesianRequest(doubtful))) == [FIVE_DEGREES]
    assert about(plan_cartesian(CELL, STATE, CartesianRequest(FrameWaypoints((lower,))))) == []
