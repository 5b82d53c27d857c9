"""A robot of two joints whose driver publishes the position of the first one within one turn."""

import math

import numpy as np
from action_goals import FOLLOW, action_client, execute
from control_msgs.action import FollowJointTrajectory
from fake_robot import FakeRobot, swing

JOINTS = ("spin", "bend")
TURN = 2.0 * math.pi
PARAMETERS = {
    "joints": f"[{', '.join(JOINTS)}]",
    "command_fields": "[position, velocity]",
    "joint_state_timeout": 1.5,  # wide enough for a robot whose process a busy machine holds up
    "goal_tolerance": 1e-9,
    "goal_time": 60.0,
}  # of its execution node


class WrappingRobot(FakeRobot):
    """Publishes the position of its first joint from -pi to pi."""

    def _publish(self):
        self.measured = {"spin": self.published}
        super()._publish()

    @property
    def published(self):
        return math.remainder(self._reached["spin"], TURN)


def turn(client, robot, angle, send=execute):
    """The result of a motion by an angle [rad], from where the driver says that the robot is."""
    action_client(client, FollowJointTrajectory, FOLLOW)
    start = np.array([robot.published, robot.positions["bend"]])
    return send(client, swing(JOINTS, start, start + np.array([angle, 0.1]), duration=1.0)).wait()
