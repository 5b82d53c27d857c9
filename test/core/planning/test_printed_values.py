"""Cells, states, plans and trajectories are printed as one line that says what matters."""

import math
from dataclasses import replace

import pytest
from kinematic_cells import demo

from robot_cell_planner.model.state import BodyState
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.request import Goals, MotionRequest
from robot_cell_planner.trajectory.timing import TimingOptions


@pytest.fixture(scope="module")
def plan():
    cell, state = demo()
    joints = cell.group().variables
    goal = {**{joint: state.configuration[joint] for joint in joints}, joints[0]: state.configuration[joints[0]] + 0.3}
    return plan_motion(cell, state, MotionRequest(Goals(joint_goals=(goal,)), timing=TimingOptions()))


def test_a_cell_lists_what_it_contains():
    cell, _ = demo()
    text = str(cell)
    assert "\n" not in text
    assert all(name in text for name in (cell.name, *cell.robots, *cell.tools, *cell.bodies))


def test_a_state_has_the_values_of_joints_and_what_is_attached():
    cell, state = demo()
    joint = cell.group().variables[0]
    text = str(state.with_configuration({joint: 0.25}).with_body("workpiece", BodyState(attached_to="gripper")))
    assert "\n" not in text
    assert f"{joint} 0.25" in text
    assert "workpiece attached to gripper" in text


def test_a_plan_has_its_duration_what_is_proven_and_the_closest_pair(plan):
    text = str(plan)
    closest = plan.clearance.closest
    assert "\n" not in text
    assert f"{plan.duration:.3f} s" in text
    assert "100 % proven" in text
    assert "99 % proven" in str(replace(plan, certified_fraction=0.9999))
    assert f"{1e3 * closest.distance:.1f} mm between {closest.first} and {closest.second}" in text


def test_a_plan_without_trajectory_and_certificates_says_so(plan):
    bare = replace(plan, certified_fraction=math.nan, trajectory=None, clearance=None, warnings=("look out",))
    assert "nothing proven" in str(bare)
    assert " s," not in str(bare)
    assert str(bare).endswith("warning: look out")


def test_a_trajectory_has_its_joints_samples_and_duration(plan):
    text = str(plan.trajectory)
    assert "\n" not in text
    assert f"{len(plan.trajectory)} samples in {plan.duration:.3f} s" in text
    assert all(joint in text for joint in plan.trajectory.variables)
