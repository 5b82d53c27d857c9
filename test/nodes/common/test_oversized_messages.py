"""Messages that are too large are refused before they are converted, reported and counted; others are read."""

from types import SimpleNamespace

import pytest
import rclpy
from control_msgs.msg import JointJog
from geometry_msgs.msg import TransformStamped
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from spinning import spin_until
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from robot_cell_planner.msg import ServoOptions
from robot_cell_planner.nodes.common.bounded_messages import subscribe_bounded
from robot_cell_planner.nodes.common.callback_guard import GuardedExecutor
from robot_cell_planner.nodes.common.joint_states import MAX_JOINTS
from robot_cell_planner.nodes.common.node import CellNode, reliable, sensor
from robot_cell_planner.nodes.common.polled_subscription import MAX_SIZE, PolledSubscription
from robot_cell_planner.nodes.common.robot_topics import JointMessages
from robot_cell_planner.nodes.common.transform_listener import TransformListener
from robot_cell_planner.nodes.motion.permission import MotionPermission
from robot_cell_planner.nodes.servo.commands import ServoTopics

LONG = "x" * (MAX_SIZE + 1)


class Handle:
    """The handle of a subscription with serialized messages."""

    def __init__(self, messages):
        self._messages = [serialize_message(message) for message in messages]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        """Nothing to release."""

    def take_message(self, kind, raw):
        assert raw, "it would be converted before its size is known"
        return (self._messages.pop(0), {"received_timestamp": 0}) if self._messages else None


class Warnings(list):
    """A logger."""

    def warning(self, text, **_):
        self.append(text)


@pytest.fixture
def node(domain, monkeypatch):
    rclpy.init()
    node = CellNode("oversized", sole=False)
    node.warnings = Warnings()
    monkeypatch.setattr(node, "get_logger", lambda: node.warnings)
    monkeypatch.setattr(CellNode, "parameters", {}, raising=False)
    yield node
    node.destroy_node()
    rclpy.try_shutdown()


def receive(topic, *messages):
    """Let a polled subscription receive messages."""
    before = topic._subscription
    topic._subscription = SimpleNamespace(
        handle=Handle(messages), msg_type=before.msg_type, raw=before.raw, topic_name=before.topic_name
    )


def test_messages_that_wake_a_node_are_refused_before_they_are_converted(node):
    """As the commands of clients of MoveIt Servo."""
    executor, taken = GuardedExecutor(node.faults), []
    executor.add_node(node)
    subscribe_bounded(node, JointJog, "jog", taken.append, reliable(10))
    publisher = node.create_publisher(JointJog, "jog", reliable(10))
    spin_until(executor, lambda: publisher.get_subscription_count() > 0)
    small = JointJog(joint_names=["elbow"], velocities=[0.5])
    publisher.publish(JointJog(joint_names=["elbow"], velocities=[0.5] * (MAX_SIZE // 8 + 1)))
    publisher.publish(small)
    spin_until(executor, lambda: taken)
    executor.shutdown()
    assert taken == [small]
    (warning,) = node.warnings
    assert "jog is ignored" in warning


def test_joint_states_of_many_names_are_refused(node, monkeypatch):
    joints = JointMessages(node, "joint_states", 10)
    read = []
    reads = joints._reader.read
    monkeypatch.setattr(joints._reader, "read", lambda data: read.append(data) or reads(data))
    names = [f"joint_{index}" for index in range(100_000)]
    receive(joints._inputs[""], JointState(name=names, position=[0.0] * len(names)), JointState(name=["elbow"]))
    assert len(list(joints.take())) == len(read) == 1
    assert joints.refused == 1
    (warning,) = node.warnings
    assert "joint_states" in warning
    assert str(MAX_SIZE) in warning


def test_all_joints_that_a_node_can_have_fit_in_a_message(node):
    names = [f"robot_{index:04d}/" + "j" * 40 for index in range(MAX_JOINTS)]
    values = [0.1] * MAX_JOINTS
    joints = JointMessages(node, "joint_states", 10)
    receive(joints._inputs[""], JointState(name=names, position=values, velocity=values))
    (found,) = joints.take()
    assert found.names == tuple(names)
    assert joints.refused == 0
    assert not node.warnings


@pytest.mark.parametrize("static", [False, True])
def test_transforms_of_many_frames_are_refused(node, static):
    listener = TransformListener(node)
    many = TFMessage(transforms=[transform(f"frame_{index}") for index in range(MAX_SIZE // 90)])
    receive(listener._topics[static], many, TFMessage(transforms=[transform("camera")]))
    listener.read()
    assert listener._topics[static].refused == 1
    assert listener.lookup("world", "camera").pose.position[0] == 1.0
    assert "/tf" in node.warnings[0]


def transform(child):
    entry = TransformStamped(child_frame_id=child)
    entry.header.frame_id, entry.header.stamp.sec = "world", 5
    entry.transform.translation.x = entry.transform.rotation.w = 1.0
    return entry


def test_commands_of_servo_are_refused(node):
    topics = ServoTopics(node)
    source = ServoOptions.JOINT_VELOCITY
    receive(topics._subscriptions[source], JointJog(joint_names=[LONG]), JointJog(joint_names=["elbow"]))
    assert [command.joint_names for command in topics.take(source)] == [["elbow"]]


def test_a_mode_of_the_robot_that_is_refused_allows_nothing(node):
    permission = MotionPermission(node, ["AUTO"], lambda reason: None)
    receive(permission._robot_modes, String(data=LONG))
    assert "the robot's mode is unknown" in str(permission.reason)
    receive(permission._robot_modes, String(data="AUTO"))
    assert permission.reason is None
    receive(permission._robot_modes, String(data=LONG))
    assert "the robot's mode is unknown" in str(permission.reason)
    receive(permission._robot_modes, String(data="AUTO"))
    assert permission.reason is None


def test_the_message_that_wakes_a_node_is_also_refused(node):
    topic = PolledSubscription(node, JointState, "woken", sensor(10), raw=True, max_size=MAX_SIZE)
    topic._keep_first(serialize_message(JointState(name=[LONG])), {})
    receive(topic)
    assert list(topic.take_raw()) == []
    assert topic.refused == 1


def test_without_a_limit_every_message_is_taken(node):
    topic = PolledSubscription(node, JointState, "recorded", sensor(10), raw=True)
    receive(topic, JointState(name=[LONG]))
    assert len(list(topic.take_raw())) == 1
