"""Servo of a joint whose driver publishes positions within one turn: it goes on across the wrap, and is held there."""

import math

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from control_msgs.msg import JointJog
from fake_robot import EmergencyStop
from wrapping_robot import JOINTS, WrappingRobot

from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.msg import ServoOptions
from robot_cell_planner.nodes.common.node import reliable

pytestmark = pytest.mark.alone

URDF = """<robot name="turning">
  <link name="base"/>
  <link name="upper">
    <collision><origin xyz="0 0 0.2"/><geometry><box size="0.1 0.1 0.3"/></geometry></collision>
  </link>
  <link name="lower">
    <collision><origin xyz="0.2 0 0"/><geometry><box size="0.3 0.05 0.05"/></geometry></collision>
  </link>
  <joint name="spin" type="continuous">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/><limit velocity="3" effort="50"/>
  </joint>
  <joint name="bend" type="revolute">
    <parent link="upper"/><child link="lower"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="3" effort="20"/>
  </joint>
</robot>"""
SRDF = """<robot name="turning">
  <group name="arm"><chain base_link="base" tip_link="lower"/></group>
  <disable_collisions link1="upper" link2="lower" reason="Adjacent"/>
</robot>"""
LIMITS = {"has_acceleration_limits": True, "max_acceleration": 6.0, "has_jerk_limits": True, "max_jerk": 60.0}
MAX_VELOCITY = 3.0  # [rad/s]
SPEED = 2.0  # [rad/s] of the jog


@pytest.fixture(scope="module")
def cell_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("turning")
    (folder / "robot.urdf").write_text(URDF)
    (folder / "robot.srdf").write_text(SRDF)
    (folder / "limits.yaml").write_text(f"joint_limits: {dict.fromkeys(JOINTS, LIMITS)}\n".replace("True", "true"))
    cell = folder / "cell.yaml"
    robot = "{urdf: robot.urdf, srdf: robot.srdf, limits: limits.yaml}"
    cell.write_text(f"format: robot_cell/1\nname: turning\nrobots:\n  turning: {robot}\n")
    return cell


@pytest.fixture(scope="module")
def robot(client):
    return WrappingRobot(client.node, JOINTS)


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, robot, client, cell_file):
    start_node("scene_node", cell_file=cell_file)
    start_node("collision_node")
    start_node(
        "execution_node",
        angle_wraparound="[spin]",
        joints=f"[{', '.join(JOINTS)}]",
        hold_when_idle=True,
        command_fields="[position, velocity]",
        joint_state_timeout=1.5,
        joint_state_lost_after=5.0,
        monitor_timeout=10.0,
        path_tolerance=2.0,
        goal_tolerance=1e-9,
    )
    client.scene(retries=30)
    topic = "servo/joint_velocities"
    client._clients[topic] = client._made(lambda: client.node.create_publisher(JointJog, topic, reliable(10)))


class Jog:
    """Sends the velocity of the joint [rad/s]."""

    def __init__(self, client):
        self.velocity = 0.0
        self._client = client
        self._timer = client.node.create_timer(0.01, self._send)

    def _send(self):
        self._client.send_joint_velocities({"spin": self.velocity})

    def end(self):
        self._client.node.destroy_timer(self._timer)


@pytest.fixture
def jog(client, robot):
    jog = Jog(client)
    yield jog
    jog.end()
    client.stop_servo()


def begin_servo(client, check_collision):
    for _ in range(200):  # until the node receives joint states, and has read the release of the emergency stop
        try:
            options = ServoOptions(source=ServoOptions.JOINT_VELOCITY, owner="jogger", check_collision=check_collision)
            options.command_timeout = Duration(sec=1)
            client.start_servo(options)
        except RobotCellError as found:
            error = found
        else:
            return
    raise error


def go_to(robot, jog, target):
    """Jog past a position [rad]."""
    sign = math.copysign(1.0, target - robot.positions["spin"])
    jog.velocity = sign * SPEED
    robot.wait_for(lambda command: sign * command["spin"] > sign * target)


def check_steps(robot, begin):
    """No command is a jump: at the speed limit, and with pauses of a busy machine."""
    commands = np.array([begin, *(command["spin"] for command, _ in robot.taken())])
    assert np.abs(np.diff(commands)).max() < MAX_VELOCITY * 0.1


@pytest.mark.parametrize("check_collision", [False, True])
def test_a_joint_is_jogged_across_the_wrap_and_back(client, robot, jog, check_collision):
    begin = robot.positions["spin"]
    robot.taken()
    begin_servo(client, check_collision)
    for target in (3.4, 2.9, 3.3, 0.0):
        go_to(robot, jog, target)
    client.stop_servo()
    check_steps(robot, begin)


@pytest.mark.parametrize("ends_by", ["stop", "emergency stop"])
def test_a_joint_is_held_at_the_wrap(client, robot, jog, ends_by):
    """Its driver publishes it on either side."""
    begin_servo(client, False)
    go_to(robot, jog, 3.0)
    jog.velocity = 0.05
    robot.wait_for(lambda command: command["spin"] > math.pi - 1e-3)
    if ends_by == "stop":
        client.stop_servo()
    else:
        button = EmergencyStop(client.node)
        button.press()
        robot.wait_for_last_command()
        robot.put(spin=math.pi + 1e-4)
        button.release()
    at = robot.positions["spin"]
    robot.taken()
    for noise in (1e-3, -1e-3, 2e-3, -2e-3):
        robot.noise = noise
        robot.run_for(20)
    robot.noise = 0.0
    robot.run_for(200)
    if ends_by != "stop":
        button.end()
    held = [command["spin"] for command, _ in robot.taken()]
    assert held
    assert np.ptp([at, *held]) < 5e-3
    begin_servo(client, False)
    go_to(robot, jog, 3.3)
    go_to(robot, jog, 0.0)
    client.stop_servo()
    check_steps(robot, held[-1])
