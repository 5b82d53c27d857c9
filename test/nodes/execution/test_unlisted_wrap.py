"""A robot whose driver publishes positions within one turn, of which the execution node does not know."""

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from fake_robot import FakeValidator
from wrapping_robot import JOINTS, PARAMETERS, TURN, WrappingRobot, restart_driver, turn

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def robot(client):
    return WrappingRobot(client.node, JOINTS)


@pytest.fixture(scope="module", autouse=True)
def execution_node(start_node, client, robot):
    validator = FakeValidator(client.node, client._group)
    yield start_node("execution_node", path_tolerance=7.0, **PARAMETERS)
    assert validator.requests


def test_after_a_wrap_no_motion_begins_a_turn_away_from_the_last_command(client, robot):
    for _ in range(100):  # until the node receives joint states
        if turn(client, robot, 2.0).status == GoalStatus.STATUS_SUCCEEDED:
            break
    robot.forget_commands()
    begin = robot.positions["spin"]
    across = turn(client, robot, 2.0)
    assert across.status == GoalStatus.STATUS_ABORTED
    assert "jumped" in across.result.error.message
    robot.wait_for_rest(JOINTS)
    assert robot.positions["spin"] - robot.published == pytest.approx(TURN)
    for _ in range(2):
        refused = turn(client, robot, 0.1)
        assert refused.status == GoalStatus.STATUS_ABORTED
        assert "one turn from its last command" in refused.result.error.message
        assert "angle_wraparound" in refused.result.error.remedy
    commands = np.array([begin, *(command["spin"] for command, _ in robot.taken() if "spin" in command)])
    assert np.abs(np.diff(commands)).max() < 1.0


def test_after_an_emergency_stop_a_motion_begins_where_the_robot_is_measured(client, robot):
    """The remedy of that error; nothing moves while the button is pressed."""
    begin = restart_driver(client, robot)
    commands = np.array([begin, *(command["spin"] for command, _ in robot.taken() if "spin" in command)])
    assert np.abs(np.diff(commands)).max() < 1.0
