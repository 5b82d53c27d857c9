"""Two robots; the driver of one publishes positions within one turn, of which the execution node does not know. After a
wrap, only motions of that robot are refused."""

import numpy as np
import pytest
from action_goals import execute
from action_msgs.msg import GoalStatus
from fake_robot import FakeRobot, FakeValidator, swing
from independent_robots import start_execution, wait_for_actions
from wrapping_robot import TURN, WrappingRobot

pytestmark = pytest.mark.alone

LEFT, RIGHT = (("left/spin", "left/bend"), ("right/spin", "right/bend"))


@pytest.fixture(scope="module")
def robots(client):
    return FakeRobot(client.node, LEFT), WrappingRobot(client.node, RIGHT)


@pytest.fixture(scope="module", autouse=True)
def execution_node(start_node, client, robots):
    validator = FakeValidator(client.node, client._group)
    yield start_execution(start_node, "left", "right")
    assert validator.requests


def go(client, joints, start, by=0.1):
    return execute(client, swing(joints, start, np.add(start, by), duration=1.0)).wait()


def succeed(client, joints, robot, by):
    for _ in range(100):  # until the node receives joint states
        sent = go(client, joints, [robot.positions[joint] for joint in joints], by)
        if sent.status == GoalStatus.STATUS_SUCCEEDED:
            return
    raise AssertionError(sent.result)


def test_the_other_robot_moves_while_one_is_measured_a_turn_from_its_last_command(client, robots):
    left, right = robots
    wait_for_actions(client)
    succeed(client, RIGHT, right, (3.1, 0.1))
    succeed(client, LEFT, left, (0.1, 0.1))
    right.forget_commands()
    across = go(client, RIGHT, [right.positions[joint] for joint in RIGHT], (0.3, 0.0))
    assert across.status == GoalStatus.STATUS_ABORTED
    assert "jumped" in across.result.error.message
    right.wait_for_rest(RIGHT)
    assert right.positions[RIGHT[0]] - right.published == pytest.approx(TURN)
    right.forget_commands()
    for _ in range(2):
        moved = go(client, LEFT, [left.positions[joint] for joint in LEFT])
        assert moved.status == GoalStatus.STATUS_SUCCEEDED, moved.result.error.message
        refused = go(client, RIGHT, [right.published, right.positions[RIGHT[1]]])
        assert refused.status == GoalStatus.STATUS_ABORTED
        assert "one turn from its last command" in refused.result.error.message
    assert not [command for command, _ in right.all_taken() if not command.keys().isdisjoint(RIGHT)]
    right.turns = 1  # as a driver that counts turns from its last command
    right.run_for(50)
    succeed(client, RIGHT, right, (0.1, 0.0))
    succeed(client, LEFT, left, (0.1, 0.1))
    last = [command for command, _ in right.all_taken()][-1]
    assert last.keys() == {*LEFT, *RIGHT}
