"""Errors and warnings about motions name the unit of the joint that they are about."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from planning_cells import gantry, scissors, spinner

from robot_cell_planner.errors import MPStartStateInCollisionError, PathInvalidError, TrajectoryStartError
from robot_cell_planner.io.robot_description.limits import with_default_limits
from robot_cell_planner.model.units import common_unit
from robot_cell_planner.planning.cartesian.timing import steep_warnings
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.plan_check import verify_plan
from robot_cell_planner.planning.path.processing import PathRequest, PathTool, process_path
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.space_time.moving_robots import MovingRobots
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.trajectory import Trajectory

LIFT_AND_TURN = ("lift", "turn")


def lift_and_turn():
    """A cell with a sliding and a turning joint that have all limits, and its state."""
    cell, state = scissors(plate=False)
    robot = cell.robots["scissors"]
    robot = msgspec.structs.replace(robot, mechanism=with_default_limits(robot.mechanism))
    return msgspec.structs.replace(cell, robots=frozendict(scissors=robot)), state


@pytest.mark.parametrize(
    ("units", "expected"),
    [(("rad", "rad"), "rad"), (("m",), "m"), (("m", "rad"), "rad or m"), ((), "rad or m")],
)
def test_joints_have_a_common_unit_if_their_units_are_equal(units, expected):
    assert common_unit(units) == expected


@pytest.mark.parametrize(("column", "text"), [(0, "gap of lift = 0.05 m"), (1, "gap of turn = 0.05 rad")])
def test_a_gap_between_paths_names_the_joint_and_its_unit(column, text):
    first = np.array([[0.3, 1.0], [0.3, 1.1]])
    second = first[::-1] + 0.0
    second[:, column] += 0.05
    with pytest.raises(PathInvalidError, match=text) as caught:
        process_path(*scissors(), PathRequest(PathTool.CONCATENATE, LIFT_AND_TURN, (first, second)))
    assert caught.value.subjects == (LIFT_AND_TURN[column],)


@pytest.mark.parametrize(("joint", "unit"), [("lift", "m"), ("turn", "rad")])
def test_a_plan_away_from_its_state_names_the_joint_and_its_unit(joint, unit):
    cell, state = lift_and_turn()
    plan = plan_motion(cell, state, MotionRequest(Goals(joint_goals=({"lift": 0.2, "turn": -0.9},))))
    other = state.with_configuration({joint: state.configuration[joint] + 0.01})
    (found,) = [error for error in verify_plan(cell, other, plan).violations if isinstance(error, PathInvalidError)]
    assert [(value.name, value.unit) for value in found.values] == [(f"distance of {joint}", unit)]


@pytest.mark.parametrize(("column", "unit"), [(0, "m"), (1, "rad")])
def test_a_trajectory_that_ends_elsewhere_names_the_joint_and_its_unit(column, unit):
    cell, state = lift_and_turn()
    plan = plan_motion(cell, state, MotionRequest(Goals(joint_goals=({"lift": 0.2, "turn": -0.9},))))
    end = np.array(plan.path[-1])
    end[column] += 0.01
    verdict = verify_plan(cell, state, replace(plan, path=np.vstack((plan.path[:-1], end))))
    (found,) = [error for error in verdict.violations if "does not end with the path" in error.message]
    assert [(value.name, value.unit) for value in found.values] == [(f"distance of {LIFT_AND_TURN[column]}", unit)]


@pytest.mark.parametrize(("column", "unit"), [(0, "m"), (1, "rad")])
def test_a_moving_robot_that_begins_elsewhere_names_the_unit(column, unit):
    cell, state = scissors()
    rows = np.array([[0.1, -1.0]] * 2)
    rows[:, column] += 0.05
    with pytest.raises(TrajectoryStartError, match=rf"begins 0\.05 {unit} from the state of joint") as caught:
        MovingRobots(cell, state, [Trajectory(LIFT_AND_TURN, np.array([0.0, 1.0]), rows)], ())
    assert caught.value.values[0].unit == unit


def test_a_start_correction_of_sliding_joints_is_in_metres():
    cell, state = gantry((("block", (0.0, 0.0), (1.0, 1.0)),))
    request = MotionRequest(Goals(joint_goals=({"x": 0.9},)), options=PlanningOptions(max_start_correction=0.01))
    with pytest.raises(MPStartStateInCollisionError, match=r"no start correction was found within 0\.01 m of it"):
        plan_motion(cell, state.with_configuration({"x": 0.0, "y": 0.0}), request)


def test_a_correction_from_beyond_a_limit_of_a_turning_joint_is_in_radians():
    cell, state = spinner()
    beyond = state.with_configuration({"wide": 4.02 * np.pi})
    request = MotionRequest(Goals(joint_goals=({"wide": 1.0},)), options=PlanningOptions(max_start_correction=0.1))
    (warning,) = [text for text in plan_motion(cell, beyond, request).warnings if "start correction" in text]
    assert "0.0628 rad within the limits of wide" in warning


@pytest.mark.parametrize(("column", "text"), [(0, "lift moves by 0.4 m while"), (1, "turn moves by 0.4 rad while")])
def test_a_steep_motion_names_the_unit_of_its_joint(column, text):
    cell, _ = lift_and_turn()
    limits = MotionLimits.of([cell.variables[name] for name in LIFT_AND_TURN])
    path = np.linspace((0.0, 0.0), (0.003, 0.003), 4)
    path[2:, column] += 0.4 - 0.001
    (warning,) = steep_warnings(path, np.array([0.0, 0.1, 0.1001, 0.2001]), limits)
    assert text in warning
