"""Validated goals: their limits and units, the joints of their cell, and efforts within the limits."""

import numpy as np
import pytest

from robot_cell_planner.errors import TrajectoryLimitError, Value
from robot_cell_planner.msg import JointLimits
from robot_cell_planner.nodes.motion.trajectory_goals import MotionGoal
from robot_cell_planner.nodes.motion.validated_goals import validated
from robot_cell_planner.srv import ValidateTrajectory
from robot_cell_planner.trajectory.tracking import Tolerances
from robot_cell_planner.trajectory.trajectory import Trajectory

JOINTS = ("shoulder", "finger")
LIMITS = (30.0, 0.0)  # of the efforts; 0: none
ONE = np.ones(2)
TOLERANCES = Tolerances(1.0, ONE, ONE, ONE, ONE, 1.0)


def limits(efforts=LIMITS):
    rates = {"velocity": 1.0, "acceleration": 2.0, "jerk": 3.0}
    return [JointLimits(joint=joint, effort=effort, **rates) for joint, effort in zip(JOINTS, efforts, strict=True)]


def goal(efforts):
    """A motion of three points, 0.5 s apart; the names of the cell have the prefix "cell/"."""
    trajectory = Trajectory(JOINTS, np.linspace(0.0, 1.0, 3), np.zeros((3, 2)))
    return MotionGoal("owner", tuple(f"cell/{joint}" for joint in JOINTS), trajectory, TOLERANCES, efforts=efforts)


def with_limits(goal, limits, joints=()):
    return validated(goal, ValidateTrajectory.Response(limits=limits, joints=list(joints)), {})


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_effort_beyond_the_limit_is_refused_with_joint_time_and_limit(sign):
    efforts = np.zeros((3, 2))
    efforts[1:, 0] = sign * np.array([30.001, 90.0])
    with pytest.raises(TrajectoryLimitError, match=r"effort of cell/shoulder at 0.5000 s: -?30.001 Nm or N") as found:
        with_limits(goal(efforts), limits())
    assert found.value.values == (Value("effort of cell/shoulder", sign * 30.001, 30.0, "Nm or N"),)


def test_a_goal_has_the_units_of_its_joints():
    messages = limits()
    for message, unit in zip(messages, ("rad", "m"), strict=True):
        message.unit = unit
    efforts = np.zeros((3, 2))
    found = with_limits(goal(efforts), messages)
    assert found.tolerances.units == ("rad", "m")
    assert [found.limits.unit(column) for column in range(2)] == ["rad", "m"]
    efforts[0, 0] = 31.0
    with pytest.raises(TrajectoryLimitError, match=r"31 Nm, limit 30 Nm"):
        with_limits(goal(efforts), messages)
    assert with_limits(goal(None), limits()).tolerances.units == ()


@pytest.mark.parametrize(
    "efforts", [None, np.zeros((3, 2)), np.array([[30.0, 1e6], [-30.0, -1e6], [0.0, 0.0]]), np.array([30.0, 1e6])]
)
def test_efforts_within_the_limits_and_of_joints_without_one_are_accepted(efforts):
    found = with_limits(goal(efforts), limits())
    assert found.efforts is efforts
    np.testing.assert_array_equal(found.limits.velocity, ONE)


def test_without_limits_no_effort_is_refused():
    assert with_limits(goal(np.full((3, 2), 1e6)), []).limits is None


def test_a_goal_has_the_names_that_joints_of_the_cell_have_in_joint_states():
    found = with_limits(goal(None), limits(), ("cell/shoulder", "gripper/finger", "rail"))
    assert found.cell_joints == {"cell/shoulder", "shoulder", "gripper/finger", "finger", "rail"}
    reply = ValidateTrajectory.Response(limits=limits())
    assert validated(goal(None), reply, {"rail": 0.5}).measured == {"rail": 0.5}
