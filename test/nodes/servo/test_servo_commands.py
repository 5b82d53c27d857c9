"""Servo commands with excessive numbers are refused one by one, so that the session continues."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from control_msgs.msg import JointJog
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, Twist, TwistStamped, Vector3
from loaded_cells import loaded

from robot_cell_planner.errors import InvalidRequestError, StaleStateError, UnknownNameError
from robot_cell_planner.nodes.servo.commands import FrameReader, joint_velocities
from robot_cell_planner.nodes.servo.servo import ServoServer, reason_of

CELL, STATE = loaded()
JOINTS = CELL.group().variables
HOME = np.array([STATE.configuration[name] for name in JOINTS])
BEYOND = (1e308, -1e308, 1.7e308, 1e154, 2e6, math.nan, math.inf)
WITHIN = (1e6, -1.0, 0.0, 1e-308, 5e-324)


@pytest.fixture(scope="module")
def reader():
    return FrameReader(CELL, STATE, JOINTS, None, 0.2)


def twist(value):
    return TwistStamped(twist=Twist(linear=Vector3(x=value, z=value), angular=Vector3(y=value)))


def target(value):
    return PoseStamped(pose=Pose(position=Point(y=value), orientation=Quaternion(w=1.0)))


def velocities(value):
    return JointJog(joint_names=[JOINTS[2]], velocities=[value])


@pytest.mark.parametrize("value", BEYOND)
def test_excessive_numbers_are_refused(reader, value):
    with pytest.raises(InvalidRequestError, match="servo/twist"):
        reader.twist(twist(value), HOME)
    with pytest.raises(InvalidRequestError, match="servo/target"):
        reader.target(target(value), HOME)
    with pytest.raises(InvalidRequestError, match=JOINTS[2]):
        joint_velocities(velocities(value), JOINTS, JOINTS)


@pytest.mark.parametrize("value", WITHIN)
def test_numbers_within_the_bounds_are_accepted(reader, value):
    np.testing.assert_array_equal(reader.twist(twist(value), HOME), [value, 0.0, value, 0.0, value, 0.0])
    assert reader.target(target(value), HOME)[1, 3] == value
    assert joint_velocities(velocities(value), JOINTS, JOINTS)[2] == value


def test_errors_with_other_numbers_are_one_reason():
    old, older = (StaleStateError(f"servo command is {age} s old (limit 0.2 s)") for age in ("10.003", "1.5e+02"))
    assert reason_of(old) == reason_of(older)
    assert reason_of(UnknownNameError("unknown joint 'j1'")) != reason_of(UnknownNameError("unknown joint 'j2'"))


def test_the_status_has_the_latest_numbers_of_a_reason_that_is_logged_once():
    logged = []
    node = SimpleNamespace(get_logger=lambda: SimpleNamespace(warning=logged.append))
    server = SimpleNamespace(node=node, _runner=SimpleNamespace(last_error=None))
    for age in (0.3, 0.4, 0.5):
        error = StaleStateError(f"servo command is {age} s old (limit 0.2 s)")
        ServoServer._refuse(server, error)
        assert server._runner.last_error is error
    assert len(logged) == 1
