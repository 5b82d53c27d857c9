"""Messages of limits and their violations name the unit of each joint, which errors of the other nodes repeat."""

import numpy as np
import pytest

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.mechanism import JointKind, JointLimits, Variable
from robot_cell_planner.msg import JointLimits as LimitsMessage
from robot_cell_planner.msg import LimitViolation, TimingOptions
from robot_cell_planner.nodes.conversions.timing import joint_limits_from_message, timing_from_message
from robot_cell_planner.nodes.conversions.trajectories import error_of_report
from robot_cell_planner.nodes.conversions.trajectory_reports import (
    limits_from_message,
    limits_to_message,
    report_to_message,
)
from robot_cell_planner.nodes.motion.changed_limits import beyond_limit
from robot_cell_planner.trajectory import timing
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.trajectory import Trajectory
from robot_cell_planner.trajectory.validation import validate

RANGE = JointLimits(-1.0, 1.0, velocity=1.0, acceleration=1.0, jerk=1.0)
JOINTS = ("turn", "slide")
VARIABLES = (
    Variable("turn", "turn", JointKind.REVOLUTE, RANGE, True),
    Variable("slide", "slide", JointKind.PRISMATIC, RANGE, False),
)
EMPTY = RobotCell("empty", {})


def report_of(column):
    """The message of a trajectory in which one joint moves too far and too fast."""
    rows, still = np.zeros((3, 2)), np.zeros((3, 2))
    rows[1, column], rows[2, column] = 0.9, 1.5
    trajectory = Trajectory(JOINTS, np.arange(3.0), rows, still, still)
    report = validate(trajectory, MotionLimits.of(VARIABLES), find_all=True)
    return report_to_message(report, EMPTY)


@pytest.mark.parametrize(("column", "unit"), [(0, "rad"), (1, "m")])
def test_a_violation_has_the_unit_of_its_joint(column, unit):
    message = report_of(column)
    units = {found.quantity: found.unit for found in message.violations}
    assert units[LimitViolation.POSITION] == unit
    assert units[LimitViolation.VELOCITY] == f"{unit}/s"
    assert units[LimitViolation.ACCELERATION] == f"{unit}/s2"
    assert error_of_report(message).values[0].unit == unit, "of the position, which explains the others"
    for found in message.violations:
        assert beyond_limit(found, 0.0, 1).values[0].unit == found.unit
        assert f" {found.unit}, limit " in beyond_limit(found, 0.0, 1).message


def test_a_violation_of_a_joint_of_an_unknown_type_has_both_units():
    found = LimitViolation(quantity=LimitViolation.VELOCITY, joint="turn", value=2.0, limit=1.0)
    assert beyond_limit(found, 0.0, 1).values[0].unit == "rad/s or m/s"


def test_limits_keep_the_units_of_the_joints():
    found = limits_from_message(limits_to_message(VARIABLES), JOINTS)
    assert [found.unit(column, 2) for column in range(2)] == ["rad/s2", "m/s2"]
    messages = limits_to_message(VARIABLES)
    messages[0].unit = ""
    assert limits_from_message(messages, JOINTS).unit(1) == "rad or m"


def test_limits_of_requests_are_in_rad_or_m():
    for unit in ("", "rad", "m"):
        given = LimitsMessage(joint="turn", velocity=0.5, unit=unit)
        assert joint_limits_from_message([given], "limits")["turn"].velocity == 0.5
    given = LimitsMessage(joint="turn", velocity=90.0, unit="deg")
    with pytest.raises(InvalidRequestError, match="limits of turn: unit is 'deg', expected rad or m"):
        joint_limits_from_message([given], "limits")


def test_the_units_of_limits_are_passed_to_the_planner():
    """It knows the joints of the cell, and refuses those of another type of joint."""
    limits = [LimitsMessage(joint="turn", velocity=0.5, unit="m"), LimitsMessage(joint="slide", velocity=0.5)]
    message = TimingOptions(method=TimingOptions.SMOOTH, limits=limits)
    found = timing_from_message(message, "timing", timing.TimingOptions())
    assert found.limit_units == {"turn": "m"}
