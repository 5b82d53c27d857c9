"""A robot whose driver publishes positions within one turn, of which the execution node does not know."""

import math

import numpy as np
import pytest
from action_goals import FOLLOW, action_client, execute
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from fake_robot import FakeRobot, FakeValidator, swing

pytestmark = pytest.mark.alone

JOINTS = ("spin", "bend")
TURN = 2.0 * math.pi


class WrappingRobot(FakeRobot):
    """Publishes the position of its first joint from -pi to pi."""

    def _publish(self):
        self.measured = {"spin": self.published}
        super()._publish()

    @property
    def published(self):
        return math.remainder(self._reached["spin"], TURN)


@pytest.fixture(scope="module")
def robot(client):
    return WrappingRobot(client.node, JOINTS)


@pytest.fixture(scope="module", autouse=True)
def execution_node(start_node, client, robot):
    validator = FakeValidator(client.node, client._group)
    yield start_node(
        "execution_node",
        joints=f"[{', '.join(JOINTS)}]",
        command_fields="[position, velocity]",
        joint_state_timeout=1.5,
        path_tolerance=7.0,
        goal_tolerance=1e-9,
        goal_time=60.0,
    )
    assert validator.requests


def move(client, robot, spin):
    """The result of a motion from where the driver says that the robot is."""
    action_client(client, FollowJointTrajectory, FOLLOW)
    start = np.array([robot.published, robot.positions["bend"]])
    return execute(client, swing(JOINTS, start, start + np.array([spin, 0.1]), duration=1.0)).wait()


def test_after_a_wrap_no_motion_begins_a_turn_away_from_the_last_command(client, robot):
    for _ in range(100):  # until the node receives joint states
        if move(client, robot, 2.0).status == GoalStatus.STATUS_SUCCEEDED:
            break
    robot.forget_commands()
    begin = robot.positions["spin"]
    across = move(client, robot, 2.0)
    assert across.status == GoalStatus.STATUS_ABORTED
    assert "jumped" in across.result.error.message
    robot.wait_for_rest(JOINTS)
    assert robot.positions["spin"] - robot.published == pytest.approx(TURN)
    for _ in range(2):
        refused = move(client, robot, 0.1)
        assert refused.status == GoalStatus.STATUS_ABORTED
        assert "one turn from its last command" in refused.result.error.message
        assert "angle_wraparound" in refused.result.error.remedy
    commands = np.array([begin, *(command["spin"] for command, _ in robot.taken() if "spin" in command)])
    assert np.abs(np.diff(commands)).max() < 1.0
