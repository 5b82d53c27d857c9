"""Servo through its real interfaces, with a robot that follows its commands exactly and the nodes that monitor it."""

import math
import threading

import numpy as np
import pytest
from action_goals import EXECUTE, Sent
from builtin_interfaces.msg import Duration
from control_msgs.msg import JointJog
from fake_robot import FakeRobot, swing
from geometry_msgs.msg import PoseStamped, TransformStamped, TwistStamped
from loaded_cells import loaded
from narrower_limits import own_limits_again, with_limit
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from running import DEMO
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from tf2_msgs.msg import TFMessage

from robot_cell_planner import srv
from robot_cell_planner.action import ExecuteTrajectory
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import (
    ExecutionError,
    FeedbackLostError,
    InvalidRequestError,
    MotionBusyError,
    ServiceUnavailableError,
    StaleStateError,
    StoppedError,
    TrajectoryLimitError,
    UnknownNameError,
)
from robot_cell_planner.kinematics.forward import chain_to
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.msg import (
    ExecutionOptions,
    ExecutionStatus,
    SceneChange,
    ServoOptions,
    ServoStatus,
    Target,
)
from robot_cell_planner.nodes.common.node import LATCHED, reliable
from robot_cell_planner.nodes.conversions.basic import error_from_message, pose_to_message, transform_to_message
from robot_cell_planner.trajectory.limits import MotionLimits

pytestmark = pytest.mark.alone

CELL, STATE = loaded()
JOINTS = CELL.group().variables
LIMITS = MotionLimits.of([CELL.variables[name] for name in JOINTS])
HOME = {name: STATE.configuration[name] for name in JOINTS}
UPRIGHT = Pose.from_rpy((0.3, 0.0, 1.0), (0.0, -math.pi / 2, 0.0))
CHAIN = chain_to(CELL, STATE, CELL.tip_link(""), JOINTS)
PERIOD = 0.01
OWNER = "jogger"
FINGER = "finger_joint"


class Received:
    """All messages of a topic, and waiting for one that fulfils a condition."""

    def __init__(self, node, kind, topic, quality):
        self.messages = []
        self._conditions = []
        self._lock = threading.Lock()
        node.create_subscription(kind, topic, self._take, quality)

    def _take(self, message):
        with self._lock:
            self.messages.append(message)
            met = [event for condition, event in self._conditions if condition(message)]
        for event in met:
            event.set()

    def wait_for(self, condition, timeout=60.0):
        event = threading.Event()
        with self._lock:
            self._conditions.append((condition, event))
            if self.messages and condition(self.messages[-1]):
                event.set()
        assert event.wait(timeout), f"no such message arrived; last {self.messages[-1:]}"


class Sender:
    """Repeats a command until it is stopped."""

    def __init__(self, client, send):
        self._node = client.node
        self._timer = self._node.create_timer(PERIOD, send)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._node.destroy_timer(self._timer)


@pytest.fixture(scope="module")
def robot(client):
    robot = FakeRobot(client.node, JOINTS)
    robot.put(**HOME)
    return robot


@pytest.fixture(scope="module")
def statuses(client):
    return Received(client.node, ServoStatus, "servo/status", reliable(50))


@pytest.fixture(scope="module")
def executions(client):
    return Received(client.node, ExecutionStatus, "execution/status", LATCHED)


@pytest.fixture(scope="module")
def nodes(start_node, robot, client):
    found = {
        "scene": start_node("scene_node", cell_file=DEMO),
        "collision": start_node("collision_node"),
        "execution": start_node(
            "execution_node",
            command_fields="[position, velocity]",
            joint_state_timeout=1.5,
            joint_state_lost_after=5.0,
            monitor_timeout=10.0,  # of a collision node on a busy computer
            max_joint_step=9.0,
            path_tolerance=5.0,
            goal_tolerance=1e-9,
            servo_look_ahead=1.0,
        ),
    }
    client.scene()
    return found


@pytest.fixture(autouse=True)
def at_home(nodes, robot, client, statuses, executions):
    robot.heal()
    client.stop_servo()
    for _ in range(20):  # until no late command has moved it; a little beside, commands go on where the last ones ended
        for _ in range(5):  # round trips let late commands arrive
            robot.put(**HOME)
            client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=1.0))
        wait_for_position(client)
        robot.forget_commands()
        if all(abs(robot.positions[name] - value) < 0.02 for name, value in HOME.items()):
            break
    else:
        raise AssertionError(f"the robot is at {robot.positions}")
    statuses.messages.clear()
    executions.messages.clear()
    for kind, topic in ((TwistStamped, "twist"), (JointJog, "joint_velocities"), (PoseStamped, "target")):
        if f"servo/{topic}" not in client._clients:
            client._clients[f"servo/{topic}"] = client._made(
                lambda kind=kind, topic=topic: client.node.create_publisher(kind, f"servo/{topic}", reliable(10))
            )
    yield
    client.stop_servo()


def wait_for_position(client):
    """Begin and end a session once the node has received the position of the robot again."""
    for _ in range(100):
        try:
            client.start_servo(options(check_collision=False))
        except (FeedbackLostError, ServiceUnavailableError):
            continue
        client.stop_servo()
        return
    raise AssertionError("the node has not received the position of the robot")


def options(source=ServoOptions.TWIST, **fields):
    fields.setdefault("mode", Target.ROBOT)
    fields.setdefault("command_timeout", Duration(sec=1))  # of a sender that a busy computer holds up
    return ServoOptions(source=source, owner=OWNER, **fields)


def stopped(client, robot):
    """The commands of a servo session, once the last one has arrived, at rest."""
    client.stop_servo()
    robot.wait_for_rest(JOINTS)
    return robot.taken()


def rows(commands):
    return np.array([[command[name] for name in JOINTS] for command, _ in commands])


def speeds(commands):
    return np.array([list(message.velocity) for _, message in commands])


def tip(configuration):
    return CHAIN.forward(np.asarray(configuration, dtype=np.float64))[:3, 3]


def within_limits(commands):
    found = speeds(commands)
    order = [commands[0][1].name.index(name) for name in JOINTS]
    return (np.abs(found[:, order]) <= LIMITS.velocity * (1 + 1e-9)).all()


def error_named(kind, *words):
    def holds(status):
        error = error_from_message(status.error)
        return isinstance(error, kind) and all(word in str(error) for word in words)

    return holds


def test_a_twist_moves_the_tool_and_silence_brings_it_exactly_to_rest(client, robot, statuses, executions):
    client.start_servo(options(check_collision=False))
    executions.wait_for(lambda status: status.state == ExecutionStatus.SERVOING and status.owner == OWNER)
    height = tip(list(HOME.values()))[2]
    with Sender(client, lambda: client.send_twist([0.0, 0.0, 0.1])):
        statuses.wait_for(lambda status: status.state == ServoStatus.FOLLOWING)
        robot.wait_for(lambda command: tip([command[name] for name in JOINTS])[2] > height + 0.03)
    statuses.wait_for(lambda status: status.state == ServoStatus.NO_COMMAND)
    commands = stopped(client, robot)
    path = np.array([tip(row) for row in rows(commands)])
    assert np.abs(path[:, :2] - path[0, :2]).max() < 2e-3
    assert within_limits(commands)
    assert not speeds(commands)[-1].any()
    assert speeds(commands).any()


def test_a_twist_is_followed_in_a_frame_that_only_tf_has(client, robot, statuses):
    """The x axis of the frame points up."""
    camera = TransformStamped(child_frame_id="camera", transform=transform_to_message(UPRIGHT))
    camera.header.frame_id = "world"
    publisher = client.node.create_publisher(TFMessage, "/tf_static", LATCHED)
    publisher.publish(TFMessage(transforms=[camera]))
    client.start_servo(options(check_collision=False))
    height = tip(list(HOME.values()))[2]
    with Sender(client, lambda: client.send_twist([0.1, 0.0, 0.0], frame="camera")):
        robot.wait_for(lambda command: tip([command[name] for name in JOINTS])[2] > height + 0.02)
    path = np.array([tip(row) for row in rows(stopped(client, robot))])
    assert np.abs(path[:, :2] - path[0, :2]).max() < 2e-3
    client.node.destroy_publisher(publisher)


def test_joint_velocities_move_the_named_joints_at_the_given_speeds(client, robot, statuses):
    client.start_servo(options(ServoOptions.JOINT_VELOCITY, check_collision=False))
    goal = HOME[JOINTS[0]] + 0.1
    with Sender(client, lambda: client.send_joint_velocities({JOINTS[0]: 0.2})):
        robot.wait_for(lambda command: command[JOINTS[0]] > goal)
    commands = stopped(client, robot)
    moved = np.ptp(rows(commands), axis=0)
    assert moved[0] > 0.1
    assert (moved[1:] == 0.0).all()
    assert np.abs(speeds(commands)).max() == pytest.approx(0.2, rel=1e-6)


def test_a_rate_that_is_set_during_a_session_is_that_of_the_next_one(client, robot, statuses):
    """Its velocities were to last for a few periods of the new rate, and ended before those of the old one."""
    set_rate(client, 20.0)
    client.start_servo(options(ServoOptions.JOINT_VELOCITY, check_collision=False))
    begin = HOME[JOINTS[0]]
    set_rate(client, 250.0)
    with Sender(client, lambda: client.send_joint_velocities({JOINTS[0]: 0.2})):
        robot.wait_for(lambda command: command[JOINTS[0]] > begin + 0.1)
    commands = stopped(client, robot)
    set_rate(client, 125.0)
    path, found = rows(commands)[:, 0], speeds(commands)[:, commands[0][1].name.index(JOINTS[0])]
    assert found[(path > begin + 0.04) & (path < begin + 0.1)] == pytest.approx(0.2, rel=1e-6)


def set_rate(client, rate):
    """Set the rate of servo [Hz]."""
    request = SetParameters.Request(parameters=[Parameter("servo_rate", value=rate).to_parameter_msg()])
    (result,) = client.call_service(SetParameters, "execution_node/set_parameters", request).results
    assert result.successful, result.reason


@pytest.mark.parametrize(("name", "value"), [("max_velocity", 0.3), ("max_jerk", 10.0), ("min_position", -2.5)])
def test_limits_that_become_narrower_end_it(client, robot, statuses, executions, name, value):
    """It began with the others; a robot replaced by the same or a faster one does not matter."""
    client.start_servo(options(ServoOptions.JOINT_VELOCITY, check_collision=False))
    begin = HOME[JOINTS[0]]
    with Sender(client, lambda: client.send_joint_velocities({JOINTS[0]: 0.2})):
        robot.wait_for(lambda command: command[JOINTS[0]] > begin + 0.02)
        client.apply(own_limits_again())
        revision = client.apply(with_limit(JOINTS[0], "max_velocity", 2.5))
        statuses.wait_for(lambda status: status.state == ServoStatus.FOLLOWING)
        assert client.apply(with_limit(JOINTS[0], name, value)) == revision + 1
        executions.wait_for(error_named(TrajectoryLimitError, JOINTS[0], f"{value:g}"))
    robot.wait_for_rest(JOINTS)
    commands = robot.taken()
    assert within_limits(commands)
    assert not speeds(commands)[-1].any()
    client.apply(own_limits_again())


def test_a_session_begins_where_the_robot_was_moved_a_moment_ago(client, robot):
    """The node reads measurements seldom while nothing moves: it would lead the robot back to where it was before."""
    joint = JOINTS[0]
    for step in range(10):
        put = HOME[joint] + 0.2 + 0.1 * step
        robot.put(**{joint: put})
        client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=1.0))
        client.start_servo(options(check_collision=False))
        robot.wait_for(lambda command: True)
        first, _ = stopped(client, robot)[0]
        assert first[joint] == pytest.approx(put, abs=1e-9)
        robot.forget_commands()


def test_a_target_is_tracked_to_its_pose(client, robot, statuses):
    client.start_servo(options(ServoOptions.TRACK_TARGET, check_collision=False))
    here = CHAIN.forward(np.array(list(HOME.values())))
    here[:3, 3] += [0.0, 0.03, 0.04]
    target = Pose.from_matrix(here)
    with Sender(client, lambda: client.send_target(target)):
        statuses.wait_for(
            lambda status: (
                status.state == ServoStatus.FOLLOWING
                and status.position_error < 1e-4
                and status.orientation_error < 1e-3
            )
        )
    end = rows(stopped(client, robot))[-1]
    np.testing.assert_allclose(tip(end), here[:3, 3], atol=3e-4)


@pytest.mark.parametrize(
    ("source", "send", "kind", "words"),
    [
        (
            ServoOptions.TWIST,
            lambda client: client.send_twist([math.nan, 0.0, 0.0]),
            InvalidRequestError,
            ["servo/twist"],
        ),
        (ServoOptions.TWIST, lambda client: client.send_twist([0.1, 0.0, 0.0], frame="nil"), UnknownNameError, ["nil"]),
        (
            ServoOptions.JOINT_VELOCITY,
            lambda client: client.send_joint_velocities({"knee": 0.1}),
            UnknownNameError,
            ["knee"],
        ),
        (
            ServoOptions.JOINT_VELOCITY,
            lambda client: client.send_joint_velocities({JOINTS[0]: math.inf}),
            InvalidRequestError,
            [JOINTS[0], "inf"],
        ),
        (
            ServoOptions.TRACK_TARGET,
            lambda client: endless_target(client),
            InvalidRequestError,
            ["servo/target"],
        ),
        (ServoOptions.TWIST, lambda client: old_twist(client), StaleStateError, ["s old (limit 1 s)"]),
    ],
)
def test_an_invalid_command_is_refused_with_its_reason_and_moves_nothing(
    client, robot, executions, source, send, kind, words
):
    client.start_servo(options(source, check_collision=False))
    with Sender(client, lambda: send(client)):
        executions.wait_for(error_named(kind, *words))
    assert not speeds(stopped(client, robot)).any()


def endless_target(client):
    message = PoseStamped()
    message.pose.position.x = math.inf
    client._clients["servo/target"].publish(message)


def old_twist(client):
    message = TwistStamped()
    message.header.stamp.sec = 1
    message.twist.linear.x = 0.1
    client._clients["servo/twist"].publish(message)


def test_no_other_motion_begins_during_servo(client, robot):
    client.start_servo(options(check_collision=False))
    with pytest.raises(MotionBusyError, match=OWNER):
        client.start_servo(ServoOptions(owner="other", mode=Target.ROBOT))
    goal = ExecuteTrajectory.Goal(
        trajectory=swing(JOINTS[:1], [HOME[JOINTS[0]]], [HOME[JOINTS[0]]]), options=ExecutionOptions(owner="other")
    )
    refused = Sent(client, ExecuteTrajectory, EXECUTE, goal)
    assert refused.done.wait(120.0)
    error = error_from_message(refused.result.error)
    assert isinstance(error, MotionBusyError)
    assert OWNER in str(error)
    client.stop_servo()
    client.start_servo(ServoOptions(owner="other", mode=Target.ROBOT, check_collision=False))


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"source": 7}, InvalidRequestError),
        ({"mode": 9}, InvalidRequestError),
        ({"velocity_scale": 0.0}, InvalidRequestError),
        ({"velocity_scale": 5e-324}, InvalidRequestError),
        ({"linear_speed": math.nan}, InvalidRequestError),
        ({"linear_speed": 5e-324}, InvalidRequestError),
        ({"angular_speed": 1e308}, InvalidRequestError),
        ({"slow_down_distance": 1e308}, InvalidRequestError),
        ({"command_timeout": Duration(sec=2**31 - 1)}, InvalidRequestError),
        ({"group": "legs"}, UnknownNameError),
        ({"mode": Target.FRAME, "frame": "nowhere"}, UnknownNameError),
    ],
)
def test_invalid_options_are_refused_and_the_motion_stays_free(client, fields, kind):
    wrong = options(check_collision=False)
    for name, value in fields.items():
        setattr(wrong, name, value)
    with pytest.raises(kind):
        client.start_servo(wrong)
    client.start_servo(options(check_collision=False))


def test_it_slows_down_before_an_obstacle_and_stops_without_touching_it(client, robot, statuses):
    """The table is raised while the tool moves down: its present pose counts."""
    where = STATE.bodies["table"].pose
    x, y, z = where.position
    up = SceneChange(operation=SceneChange.MOVE, name="table", pose=pose_to_message(Pose((x, y, z + 0.04))))
    down = SceneChange(operation=SceneChange.MOVE, name="table", pose=pose_to_message(where))
    height = tip(list(HOME.values()))[2]
    client.start_servo(options())
    try:
        with Sender(client, lambda: client.send_twist([0.0, 0.0, -0.1])):
            robot.wait_for(lambda command: tip([command[name] for name in JOINTS])[2] < height - 0.01)
            client.apply(up)
            statuses.wait_for(lambda status: status.state == ServoStatus.SLOWED_BY_COLLISION)
            statuses.wait_for(lambda status: status.state == ServoStatus.STOPPED_BY_COLLISION and status.scale == 0.0)
        low = robot.positions[JOINTS[1]]
        with Sender(client, lambda: client.send_twist([0.0, 0.0, 0.1])):
            robot.wait_for(lambda command: abs(command[JOINTS[1]] - low) > 0.02)
        commands = stopped(client, robot)
        scene, _ = client.scene()
        checker = CollisionChecker(scene.cell, scene.state, JOINTS)
        assert not checker.in_collision_batch(rows(commands)).any()
        closest = min(checker.clearances(row, names=["table"])[0].distance for row in rows(commands)[::10])
        # The look-ahead covers the distance of the command within its time, 0.1 m, and the stop after it.
        assert 0.0 < closest < 0.15
        assert within_limits(commands)
    finally:
        client.stop_servo()
        client.apply(down)


@pytest.mark.parametrize("fault", ["silence", "nan"])
def test_it_ends_when_the_measured_joints_cannot_be_trusted(client, robot, executions, fault):
    client.start_servo(options(check_collision=False))
    with Sender(client, lambda: client.send_twist([0.0, 0.0, 0.05])):
        robot.wait_for(lambda command: tip([command[name] for name in JOINTS])[2] > tip(list(HOME.values()))[2] + 0.005)
        if fault == "silence":
            robot.silent = True
        else:
            robot.measured[JOINTS[2]] = math.nan
        executions.wait_for(error_named(FeedbackLostError))
        executions.wait_for(lambda status: not status.owner)
    robot.wait_for_rest(JOINTS)
    commands = robot.taken()
    assert not speeds(commands)[-1].any()
    assert within_limits(commands)


def test_the_emergency_stop_ends_it(client, robot, executions):
    emergency = client._made(lambda: client.node.create_publisher(Bool, "emergency_stop", reliable(1)))
    client.start_servo(options(check_collision=False))
    with Sender(client, lambda: client.send_twist([0.0, 0.0, 0.05])):
        robot.wait_for(lambda command: tip([command[name] for name in JOINTS])[2] > tip(list(HOME.values()))[2] + 0.005)
        with Sender(client, lambda: emergency.publish(Bool(data=True))):
            executions.wait_for(error_named(StoppedError, "emergency stop"))
            executions.wait_for(lambda status: not status.owner)
            with pytest.raises(StoppedError):
                client.start_servo(options(check_collision=False))
        with Sender(client, lambda: emergency.publish(Bool(data=False))):
            executions.wait_for(lambda status: status.state == ExecutionStatus.IDLE)


def test_another_publisher_of_commands_ends_it(client, robot, executions):
    client.start_servo(options(check_collision=False))
    with Sender(client, lambda: client.send_twist([0.0, 0.0, 0.05])):
        robot.wait_for(lambda command: tip([command[name] for name in JOINTS])[2] > tip(list(HOME.values()))[2] + 0.005)
        publisher = client.node.create_publisher(JointState, "joint_commands", 1)
        try:
            executions.wait_for(error_named(ExecutionError, "/joint_commands", "other publishers"))
            executions.wait_for(lambda status: not status.owner)
            with pytest.raises(ExecutionError, match="other publishers"):
                client.start_servo(options(check_collision=False))
        finally:
            client.node.destroy_publisher(publisher)
    robot.wait_for_rest(JOINTS)
    commands = robot.taken()
    assert not speeds(commands)[-1].any()
    assert within_limits(commands)
    for _ in range(1000):  # until the middleware no longer lists it
        try:
            client.start_servo(options(check_collision=False))
        except ExecutionError:
            continue
        break
    client.stop_servo()


def wait_until_raised(robot):
    """Wait until a command has the tool 2 mm above its first position."""
    raised = tip(list(HOME.values()))[2] + 0.002
    robot.wait_for(lambda command: tip([command[name] for name in JOINTS])[2] > raised)


def assert_ends_without(name, service, client, robot, nodes, executions):
    """Servo ends at rest, with the service in the error, when a node is killed while it moves the tool."""
    client.start_servo(options())
    with Sender(client, lambda: client.send_twist([0.0, 0.0, 0.02])):
        wait_until_raised(robot)
        nodes[name].kill()
        executions.wait_for(error_named(ServiceUnavailableError, service))
        executions.wait_for(lambda status: not status.owner)
    robot.wait_for_rest(JOINTS)
    assert not speeds(robot.taken())[-1].any()


def test_without_the_scene_node_it_ends_and_reports_it(client, robot, nodes, executions, start_node):
    """The collision node replies, but nobody would notice an obstacle."""
    assert_ends_without("scene", "scene/wait_for_state", client, robot, nodes, executions)
    nodes["scene"] = start_node("scene_node", cell_file=DEMO)
    client.scene(retries=20)


def test_a_gripper_of_which_only_invalid_positions_arrive_ends_it(client, robot, executions):
    """It may have opened since: distances were computed with its last valid position."""
    gripper = client.node.create_publisher(JointState, "joint_states", reliable(10))
    message = JointState(name=[FINGER], position=[0.042])
    with Sender(client, lambda: publish_now(client, gripper, message)):
        client.start_servo(options())
        with Sender(client, lambda: client.send_twist([0.0, 0.0, 0.02])):
            wait_until_raised(robot)
            message.position = [math.nan]
            executions.wait_for(error_named(FeedbackLostError, FINGER, "nan"))
            executions.wait_for(lambda status: not status.owner)
        robot.wait_for_rest(JOINTS)
        assert not speeds(robot.taken())[-1].any()
        with pytest.raises(FeedbackLostError, match=FINGER):
            client.start_servo(options())
        client.start_servo(options(check_collision=False))
        client.stop_servo()
        message.position = [0.042]
        for _ in range(1000):  # until it has arrived
            try:
                client.start_servo(options())
            except FeedbackLostError:
                continue
            break
        client.stop_servo()
    client.node.destroy_publisher(gripper)


def publish_now(client, publisher, message):
    """Publish a message with the present time."""
    message.header.stamp = client.node.get_clock().now().to_msg()
    publisher.publish(message)


def test_without_the_collision_node_it_ends_and_reports_it(client, robot, nodes, executions):
    assert_ends_without("collision", "collision/compute_clearance", client, robot, nodes, executions)
