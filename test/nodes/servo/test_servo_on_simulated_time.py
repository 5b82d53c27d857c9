"""Servo of a simulated robot with `use_sim_time`: velocities are those per simulated second at any rate of the
simulation, the robot stands while it is paused, and commands time out in real time."""

import threading

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from control_msgs.msg import JointJog
from geometry_msgs.msg import PoseStamped
from loaded_cells import loaded
from running import DEMO
from sensor_msgs.msg import JointState

from robot_cell_planner import srv
from robot_cell_planner.errors import FeedbackLostError
from robot_cell_planner.kinematics.forward import chain_to
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.msg import ServoOptions, ServoStatus, Target
from robot_cell_planner.nodes.common.node import reliable
from robot_cell_planner.nodes.conversions.basic import pose_to_message, time_from_message

pytestmark = pytest.mark.alone

CELL, STATE = loaded()
ARM = CELL.group().variables
HOME = Pose.from_matrix(
    chain_to(CELL, STATE, CELL.tip_link(""), ARM).forward(np.array([STATE.configuration[joint] for joint in ARM]))
)
SPEED = 0.2  # [rad/s]
RADIUS, TURNS = 0.05, 1.0  # [m, rad/s] of a target on a circle
PERIOD = 0.01  # [s] of commands
KINDS = srv.ControlSimulation.Request


class Received:
    """The messages of a topic."""

    def __init__(self, node, kind, topic):
        self.all, self._changed = [], threading.Condition()
        self._subscription = node.create_subscription(kind, topic, self._take, reliable(10_000))

    def _take(self, message):
        with self._changed:
            self.all.append(message)
            self._changed.notify_all()

    def wait_for(self, condition, count=1):
        """Wait for some new messages in succession that all fulfil a condition."""
        with self._changed:
            first = len(self.all)
            new = lambda: self.all[max(first, len(self.all) - count) :]  # noqa: E731
            assert self._changed.wait_for(lambda: len(new()) == count and all(map(condition, new())), 120.0)

    def of_first_joint(self):
        """Times of the messages [s], and positions and velocities of the first joint of the arm."""
        with self._changed:
            messages = list(self.all)
        rows = [(each, each.name.index(ARM[0])) for each in messages]
        times = [1e-9 * time_from_message(each.header.stamp) for each in messages]
        return np.array([times, *([getattr(each, k)[i] for each, i in rows] for k in ("position", "velocity"))])


class Sender:
    """Repeats a command."""

    def __init__(self, client, publisher, message):
        self._node = client.node
        self._timer = self._node.create_timer(PERIOD, lambda: publisher.publish(message()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._node.destroy_timer(self._timer)


@pytest.fixture(scope="module")
def received(client):
    kinds = {"joint_commands": JointState, "joint_states": JointState, "servo/status": ServoStatus}
    return {topic: Received(client.node, kind, topic) for topic, kind in kinds.items()}


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client, received):
    start_node("simulated_robot_node", cell_file=DEMO, publish_clock=True)
    start_node("scene_node", cell_file=DEMO, use_sim_time=True)
    # Wide enough for a simulation and a stream that a busy machine holds up, for which each second counts more.
    tolerances = {"path_tolerance": 5.0, "joint_state_timeout": 2.0, "max_command_gap": 5.0, "goal_time": 60.0}
    start_node("execution_node", use_sim_time=True, command_fields="[position, velocity]", **tolerances)
    client.scene()


@pytest.fixture(scope="module")
def jogs(client):
    return client.node.create_publisher(JointJog, "servo/joint_velocities", reliable(10))


def control(client, command, **fields):
    return client.call_service(
        srv.ControlSimulation, "simulation/control", KINDS(command=command, **fields), timeout=60.0
    )


@pytest.fixture(autouse=True)
def fresh(client, received):
    control(client, KINDS.CONTINUE)
    yield
    control(client, KINDS.CONTINUE)
    client.stop_servo()
    for each in received.values():
        each.all.clear()


def start(client, source, timeout):
    """Begin a session, once the nodes have found each other."""
    seconds = Duration(sec=int(timeout), nanosec=round(timeout % 1.0 * 1e9))
    options = ServoOptions(
        source=source, mode=Target.ROBOT, command_timeout=seconds, velocity_scale=1.0, check_collision=False
    )
    for _ in range(20):
        try:
            return client.start_servo(options)
        except FeedbackLostError:
            continue
    return client.start_servo(options)


def jog(velocity):
    return lambda: JointJog(joint_names=[ARM[0]], velocities=[velocity])


@pytest.mark.parametrize("velocity", [SPEED, -SPEED])  # in turn, so that the joint stays within its limits
@pytest.mark.parametrize("rate", [0.5, 2.0, 3.0])
def test_a_velocity_is_one_per_simulated_second(client, received, jogs, rate, velocity):
    seconds = 1.0 + 3.0 * rate  # commands may be late by 0.2 s of real time, and by other times at begin and end
    commands, states = received["joint_commands"], received["joint_states"]
    control(client, KINDS.SET_TIME_FACTOR, time_factor=rate)
    start(client, ServoOptions.JOINT_VELOCITY, timeout=10.0)
    with Sender(client, jogs, jog(velocity)):
        commands.wait_for(lambda message: message.velocity[message.name.index(ARM[0])] == velocity)
        begin = commands.of_first_joint()[0][-1]
        states.wait_for(lambda message: 1e-9 * time_from_message(message.header.stamp) > begin + seconds)
        times, positions, speeds = commands.of_first_joint()
        measured = states.of_first_joint()[:2]
    steady = (times >= begin) & (speeds == velocity)
    assert steady.sum() > 20
    assert times[steady][-1] > begin + 0.75 * seconds
    both = steady[1:] & steady[:-1]  # a node that is held up for long brakes in between
    np.testing.assert_allclose(np.diff(positions)[both], velocity * np.diff(times)[both], atol=1e-7)
    begun, ended = measured[:, (measured[0] >= begin + 1.0) & (measured[0] <= times[steady][-1])][:, [0, -1]].T
    # The robot moves as far as it was commanded in the same simulated time, also if the node braked in between.
    first, last = np.interp((begun[0], ended[0]), times, positions)
    assert ended[1] - begun[1] == pytest.approx(last - first, rel=0.1)


def test_the_robot_stands_in_a_pause_in_which_commands_time_out(client, received, jogs):
    commands, statuses = received["joint_commands"], received["servo/status"]
    control(client, KINDS.SET_TIME_FACTOR, time_factor=1.0)
    start(client, ServoOptions.JOINT_VELOCITY, timeout=0.5)
    with Sender(client, jogs, jog(SPEED)):
        commands.wait_for(lambda message: message.velocity[message.name.index(ARM[0])] == SPEED)
        assert control(client, KINDS.PAUSE).paused
        statuses.wait_for(lambda status: status.state == ServoStatus.FOLLOWING, count=10)
        count = len(commands.all)
        statuses.wait_for(lambda status: status.state == ServoStatus.FOLLOWING, count=20)
        assert len(commands.all) == count
    statuses.wait_for(lambda status: status.state == ServoStatus.NO_COMMAND)
    assert len(commands.all) == count
    control(client, KINDS.CONTINUE)
    commands.wait_for(lambda message: not any(message.velocity))
    times, positions, speeds = commands.of_first_joint()
    after = slice(count - 1, None)
    assert (np.diff(speeds[after]) <= 1e-9).all()
    steps = np.diff(positions[after])
    assert (steps >= 0.0).all()
    assert (steps <= SPEED * np.diff(times[after]) + 1e-9).all()


@pytest.mark.parametrize("rate", [0.5, 3.0])
def test_a_target_that_moves_in_simulated_time_is_tracked(client, received, rate):
    """Its velocity is known, as the law of pose tracking requires, and not multiplied by the rate of the simulation."""
    states, statuses = received["joint_states"], received["servo/status"]
    publisher = client.node.create_publisher(PoseStamped, "servo/target", reliable(10))
    control(client, KINDS.SET_TIME_FACTOR, time_factor=rate)
    states.wait_for(lambda message: True)

    def target():
        angle = TURNS * 1e-9 * time_from_message(states.all[-1].header.stamp)
        offset = [0.0, RADIUS * np.cos(angle), RADIUS * np.sin(angle)]
        return PoseStamped(pose=pose_to_message(Pose(tuple(np.add(HOME.position, offset)), HOME.quaternion)))

    start(client, ServoOptions.TRACK_TARGET, timeout=2.0)
    lag = 0.2 * RADIUS * TURNS * abs(rate - 1.0) / 4.0  # of what a velocity in real time would leave, with servo_gain
    with Sender(client, publisher, target):
        statuses.wait_for(
            lambda status: status.state == ServoStatus.FOLLOWING and status.position_error < lag, count=20
        )
    client.node.destroy_publisher(publisher)
