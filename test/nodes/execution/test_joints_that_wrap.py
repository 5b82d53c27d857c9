"""Motions of a robot whose driver publishes positions within one turn: no command steps by a turn."""

import math

import numpy as np
import pytest
from action_goals import FOLLOW, action_client, execute, follow
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
        angle_wraparound="[spin]",
        command_fields="[position, velocity]",
        # Wide enough for a robot whose process a busy machine holds up.
        joint_state_timeout=1.5,
        path_tolerance=2.0,
        goal_tolerance=1e-9,
        goal_time=60.0,
    )
    assert validator.requests


def move(client, robot, spin, send=execute):
    """Turn by an angle, from where the driver says that the robot is."""
    action_client(client, FollowJointTrajectory, FOLLOW)
    for _ in range(100):  # until the node receives joint states
        start = np.array([robot.published, robot.positions["bend"]])
        sent = send(client, swing(JOINTS, start, start + np.array([spin, 0.1]), duration=1.0)).wait()
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
