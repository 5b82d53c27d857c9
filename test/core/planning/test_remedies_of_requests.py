"""Errors about requests whose cause is known have a remedy of their own, also where another error reports them."""

import numpy as np
import pytest
from loaded_cells import loaded

from robot_cell_planner.errors import (
    MPNoIKSolutionError,
    OutOfReachError,
    PathInvalidError,
    TrajectoryError,
    UnknownNameError,
)
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints
from robot_cell_planner.planning.cartesian.planner import CartesianRequest, plan_cartesian
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.simplification import concatenate
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions

CELL, STATE = loaded("demo")
JOINTS = CELL.group().variables
HOME = Goals(named_states=("home",))


def target(*position):
    return FrameTarget(Pose.from_rpy(position, (3.14159, 0.0, 0.0)), mode=TargetMode.TOOL)


def test_a_target_in_millimetres_is_distinguished_from_one_out_of_reach():
    far, metres = target(450.0, -200.0, 200.0), target(3.0, 0.0, 0.5)
    for plan in (
        lambda there: inverse_kinematics(CELL, STATE, there),
        lambda there: plan_motion(CELL, STATE, MotionRequest(Goals(targets=(there,)))),
        lambda there: plan_cartesian(
            CELL, STATE, CartesianRequest(FrameWaypoints((there.pose,), mode=TargetMode.TOOL))
        ),
    ):
        with pytest.raises((OutOfReachError, MPNoIKSolutionError)) as caught:
            plan(far)
        assert "if these are in mm, divide them by 1000" in caught.value.remedy
        with pytest.raises((OutOfReachError, MPNoIKSolutionError)) as caught:
            plan(metres)
        assert "mm" not in caught.value.remedy


def test_a_misspelt_planner_parameter_leads_to_the_list_of_planners():
    options = PlanningOptions(planner="RRTConnect", planner_parameters={"rang": "0.5"})
    with pytest.raises(UnknownNameError, match="nearest: range") as caught:
        plan_motion(CELL, STATE, MotionRequest(HOME, options=options))
    assert "planning/list_planners" in caught.value.remedy


def test_a_joint_of_a_tool_is_no_goal_of_the_arm():
    with pytest.raises(
        UnknownNameError, match="joint 'gripper/finger_joint' of joint goal 0 is of tool gripper"
    ) as caught:
        plan_motion(CELL, STATE, MotionRequest(Goals(joint_goals=({"gripper/finger_joint": 0.02},))))
    assert "grippers have motions of their own" in caught.value.remedy


def test_a_start_velocity_above_the_limit_has_the_units():
    timing = TimingOptions(method=TimingMethod.SMOOTH, start_velocity={"elbow_joint": 50.0})
    goals = Goals(joint_goals=({"elbow_joint": STATE.configuration["elbow_joint"] + 0.3},))
    with pytest.raises(TrajectoryError, match="start velocity of elbow_joint") as caught:
        plan_motion(CELL, STATE, MotionRequest(goals, timing=timing))
    assert "rad/s" in caught.value.remedy


def test_paths_in_the_wrong_order_are_reported_as_such():
    start = np.array([STATE.configuration[joint] for joint in JOINTS])
    path = np.array([start, start + 0.1])
    with pytest.raises(PathInvalidError, match="path 1 does not begin at the end of path 0") as caught:
        concatenate([path, path], tuple(CELL.variables[joint] for joint in JOINTS), 1e-9)
    assert "in their order" in caught.value.remedy
