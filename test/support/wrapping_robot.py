"""A robot of two joints whose driver publishes the position of the first one within one turn."""

import math

import numpy as np
from action_goals import FOLLOW, action_client, execute
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from fake_robot import EmergencyStop, FakeRobot, swing

from robot_cell_planner.errors import StoppedError
from robot_cell_planner.nodes.conversions.basic import error_from_message

JOINTS = ("spin", "bend")
TURN = 2.0 * math.pi
LOST = 600  # cycles of the robot, longer than joint_state_lost_after
PARAMETERS = {
    "joints": f"[{', '.join(JOINTS)}]",
    "command_fields": "[position, velocity]",
    "joint_state_timeout": 1.5,  # wide enough for a robot whose process a busy machine holds up
    "goal_tolerance": 1e-9,
    "goal_time": 60.0,
}  # of its execution node


class WrappingRobot(FakeRobot):
    """Publishes the position of its first joint from -pi to pi. turns: by how many it is published elsewhere. noise:
    error of its position [rad]."""

    turns = 0
    noise = 0.0

    def _publish(self):
        self.measured = {self.joints[0]: self.published + self.turns * TURN}
        super()._publish()

    @property
    def published(self):
        return math.remainder(self._reached[self.joints[0]] + self.noise, TURN)


def turn(client, robot, angle, send=execute):
    """The result of a motion by an angle [rad], from where the driver says that the robot is."""
    action_client(client, FollowJointTrajectory, FOLLOW)
    start = np.array([robot.published, robot.positions["bend"]])
    return send(client, swing(JOINTS, start, start + np.array([angle, 0.1]), duration=1.0)).wait()


def restart_driver(client, robot):
    """Restart the driver while the emergency stop is pressed, so that it counts turns anew, and move the robot after
    the release. Returns the position at which the motion begins; the commands before it are forgotten."""
    button = EmergencyStop(client.node)
    button.press()
    for _ in range(1000):  # until the node has read the message
        if isinstance(error_from_message(turn(client, robot, 0.1).result.error), StoppedError):
            break
    else:
        raise AssertionError("the emergency stop has no effect")
    robot.silent = True
    robot.run_for(LOST)
    robot.put(spin=robot.published)
    robot.silent = False
    robot.forget_commands()
    button.release()
    begin = robot.published
    for _ in range(1000):
        moved = turn(client, robot, 0.1)
        if moved.status == GoalStatus.STATUS_SUCCEEDED:
            break
    else:
        raise AssertionError(moved.result.error.message)
    button.end()
    return begin
