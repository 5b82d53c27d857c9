"""Motions of a robot whose driver publishes positions within one turn: no command steps by a turn."""

import numpy as np
import pytest
from action_goals import execute, follow
from action_msgs.msg import GoalStatus
from fake_robot import FakeValidator
from wrapping_robot import JOINTS, PARAMETERS, WrappingRobot, turn

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def robot(client):
    return WrappingRobot(client.node, JOINTS)


@pytest.fixture(scope="module", autouse=True)
def execution_node(start_node, client, robot):
    validator = FakeValidator(client.node, client._group)
    yield start_node("execution_node", angle_wraparound="[spin]", path_tolerance=2.0, **PARAMETERS)
    assert validator.requests


def move(client, robot, angle, send):
    for _ in range(100):  # until the node receives joint states
        sent = turn(client, robot, angle, send)
        if sent.status == GoalStatus.STATUS_SUCCEEDED:
            return
    raise AssertionError(sent.result)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("send", [execute, follow])
def test_motions_go_on_across_the_wrap_and_begin_where_the_commands_ended(client, robot, send, sign):
    robot.forget_commands()
    begin = robot.positions["spin"]
    for _ in range(5):
        move(client, robot, sign * 1.5, send)
    robot.wait_for_rest(JOINTS)
    assert robot.positions["spin"] == pytest.approx(begin + sign * 7.5, abs=1e-6)
    commands = np.array([[command[joint] for joint in JOINTS] for command, _ in robot.taken()])
    # At 3 rad/s, the fastest of the motion, and with pauses of a busy machine.
    assert np.abs(np.diff(commands[:, 0], prepend=begin)).max() < 1.0
    assert (sign * np.diff(commands[:, 0]) > -1e-9).all()
