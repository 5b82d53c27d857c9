"""Joint states are read from and written to serialized messages as rclpy does it, and only when they are needed."""

import itertools
import math
import struct
import time
from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from robot_cell_planner.nodes.common import robot_topics
from robot_cell_planner.nodes.common.goal_status_messages import running_goals
from robot_cell_planner.nodes.common.joint_state_messages import JointStateReader, JointStateWriter, JointValues
from robot_cell_planner.nodes.common.joint_states import MAX_JOINTS
from robot_cell_planner.nodes.common.node import CellNode, reliable, sensor
from robot_cell_planner.nodes.common.polled_subscription import PolledSubscription
from robot_cell_planner.nodes.common.robot_topics import MAX_NAMES, JointMessages, JointOutput, name_inside
from robot_cell_planner.nodes.common.transform_messages import transforms_of
from robot_cell_planner.nodes.common.wait_set_executor import WaitSetExecutor
from robot_cell_planner.nodes.motion.joint_feedback import JointFeedback

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
rows = st.lists(st.floats(), max_size=6)
stamps = st.integers(-(2**31) * 10**9, 2**31 * 10**9 - 1)


@st.composite
def messages(draw):
    message = JointState(name=draw(st.lists(texts, max_size=6)))
    message.header.frame_id = draw(texts)
    sec, nanosec = divmod(draw(stamps), 10**9)
    message.header.stamp.sec, message.header.stamp.nanosec = sec, nanosec
    message.position, message.velocity, message.effort = draw(rows), draw(rows), draw(rows)
    return message


def same(found, expected):
    assert (found.names, found.stamp) == (expected.names, expected.stamp)
    for row, other in zip(found[2:], expected[2:], strict=True):
        np.testing.assert_array_equal(row, other)


@given(st.lists(messages(), min_size=1, max_size=4))
def test_messages_are_read_as_rclpy_reads_them(sent):
    reader = JointStateReader()
    for message in [*sent, *sent]:
        same(reader.read(serialize_message(message)), JointValues.of(message))


def test_names_of_large_messages_are_not_retained():
    reader = JointStateReader()
    for count in (3, 20_000, 20_001):
        message = JointState(name=[f"joint_{index}" for index in range(count)], position=[0.5] * count)
        for _ in range(2):
            same(reader.read(serialize_message(message)), JointValues.of(message))
    assert [len(known.names) for known in reader._names.values()] == [3]


@given(st.lists(messages(), min_size=1, max_size=4))
def test_messages_are_written_as_rclpy_reads_them(sent):
    writer = JointStateWriter()
    for message in [*sent, *sent]:
        values = JointValues.of(message)
        same(JointValues.of(deserialize_message(writer.write(*values), JointState)), values)


@pytest.mark.parametrize("data", [b"", b"\x00\x00\x00\x00\x01", b"\x00\x00\x00\x00" + b"\xff" * 40])
def test_a_malformed_message_of_another_encoding_is_an_error_as_in_cdr(data):
    for read in (JointStateReader().read, transforms_of, lambda data: running_goals(data, 1)):
        with pytest.raises(struct.error):
            read(data)


@given(messages(), st.data())
def test_a_truncated_message_is_an_error_or_lacks_only_padding(message, data):
    serialized = serialize_message(message)
    cut = serialized[: data.draw(st.integers(0, len(serialized)))]
    try:
        found = JointStateReader().read(cut + b"") if cut[:2] == b"\x00\x01" else None
    except (struct.error, UnicodeDecodeError):
        return
    if found is not None:  # only padding is missing
        same(found, JointValues.of(message))


def received(topic, count):
    found, until = [], time.monotonic() + 60.0
    while len(found) < count:
        assert time.monotonic() < until
        found.extend(topic())
    return found


def test_of_messages_with_the_same_joints_only_the_newest_is_taken(node):
    inputs = JointMessages(node, "joints", 100)
    output = node.create_publisher(JointState, "joints", reliable(100))
    every = JointMessages(node, "joints", 100)
    while output.get_subscription_count() < 2:
        time.sleep(0.01)
    writer = JointStateWriter()
    sent = [(("a", "b"), 5, 0.5), (("c",), 1, 0.1), (("a", "b"), 7, 0.7), (("a", "b"), 6, 0.6), (("c",), 2, math.nan)]
    for names, stamp, value in sent:
        output.publish(writer.write(names, stamp, [value] * len(names)))
    assert [each.stamp for each in received(every.take, 5)] == [5, 1, 7, 6, 2]
    found = {each.names: each for each in inputs.take_latest()}
    assert found["a", "b"].positions == (0.7, 0.7)
    assert found["c",].stamp == 2
    assert list(inputs.take_latest()) == []


def test_commands_are_divided_among_the_topics_of_robots(node):
    output = JointOutput(node, "commands", lambda joint: joint[:5] if joint[4:5] == "/" else "", ("left/", "next/"))
    inputs = {prefix: JointMessages(node, f"{prefix}commands", 10) for prefix in ("left/", "next/")}
    while any(publisher.get_subscription_count() < 1 for publisher in map(output._publishers.get, inputs)):
        time.sleep(0.01)
    output.publish(JointValues(("left/a", "next/a", "left/b"), 12, (1.0, 2.0, 3.0), (), (4.0, 5.0, 6.0)))
    (left,), (other,) = (received(topic.take, 1) for topic in inputs.values())
    assert left == (("a", "b"), 12, (1.0, 3.0), (), (4.0, 6.0))
    assert other == (("a",), 12, (2.0,), (), (5.0,))


def test_joints_of_a_tool_with_the_prefix_of_a_robot_keep_their_names(node):
    names = ("left/a", "left/hand/finger", "hand/thumb")
    output = JointOutput(node, "kept", lambda joint: "left/", ("left/",))
    topics = JointMessages(node, "left/kept", 10)
    while output._publishers["left/"].get_subscription_count() < 1:
        time.sleep(0.01)
    output.publish(JointValues(names, 12, (1.0, 2.0, 3.0), (), ()))
    (sent,) = received(topics.take, 1)
    assert sent.names == ("a", "left/hand/finger", "hand/thumb")
    assert tuple(name_inside("left/", name) for name in sent.names) == names


class Topics:
    """Topics of joint states, to which a test writes."""

    def __init__(self, monkeypatch, *prefixes):
        self._waiting = {}
        monkeypatch.setattr(robot_topics, "PolledSubscription", self._subscription)
        node = SimpleNamespace(parameters={"robot_topics": list(prefixes)})
        self.messages = JointMessages(node, "joint_states", 10)
        self.feedback = JointFeedback(jump=10.0)
        self._writer, self._stamp = JointStateWriter(), 0

    def _subscription(self, node, kind, topic, *_, **__):
        waiting = self._waiting.setdefault(topic.removesuffix("joint_states"), [])

        def take_raw():
            while waiting:
                yield waiting.pop(0)

        return SimpleNamespace(take_raw=take_raw)

    def write(self, prefix, *names):
        self._stamp += 1
        self._waiting[prefix].append(self._writer.write(names, self._stamp, [0.5] * len(names)))
        for values in self.messages.take():
            self.feedback.update(values.names, values.positions, (), (), values.stamp, self._stamp)


def test_a_joint_is_commanded_on_the_topic_of_its_robot_although_another_node_merges_topics(monkeypatch):
    topics = Topics(monkeypatch, "left/", "right/")
    for _ in range(2):
        topics.write("", "left/elbow", "base")
        topics.write("left/", "elbow", "hand/finger")
        topics.write("", "left/elbow", "hand/finger", "base")
        assert topics.messages.sources == {"left/elbow": "left/", "hand/finger": "left/"}
        topics.write("right/", "hand/finger")  # the tool was changed
        assert topics.messages.sources["hand/finger"] == "right/"


def test_invented_names_do_not_fill_the_memory_and_change_nothing_for_known_joints(monkeypatch):
    topics = Topics(monkeypatch, "left/")
    for _ in range(2):
        topics.write("left/", "elbow")
    for message in range(6 * MAX_JOINTS // 100):
        topics.write(("", "left/")[message % 2], *(f"invented_{message}_{index}" for index in range(100)))
    assert len(topics.feedback.names) == len(topics.messages.sources) == MAX_JOINTS
    assert sum(map(len, topics.messages._names)) <= MAX_NAMES
    assert topics.feedback.is_full
    topics.write("left/", "elbow")
    assert topics.feedback.get("left/elbow").stamp == topics._stamp
    assert topics.messages.sources["left/elbow"] == "left/"
    assert topics.feedback.skipped == 5 * MAX_JOINTS + 1


@pytest.mark.parametrize("messages", [1, 3])
def test_invented_names_do_not_keep_joints_of_a_robot_out(monkeypatch, messages):
    """One faulty message, or several, before the robot publishes its joints."""
    topics = Topics(monkeypatch, "left/")
    for message in range(messages):
        topics.write("left/", *(f"invented_{message}_{index}" for index in range(MAX_JOINTS)))
    for _ in range(2):
        topics.write("left/", "shoulder", "elbow")
    topics.write("left/", *(f"later_{index}" for index in range(2 * MAX_JOINTS)))
    for name in ("left/shoulder", "left/elbow"):
        assert topics.feedback.get(name).position == 0.5
        assert topics.messages.sources[name] == "left/"
        assert topics.feedback.stood_for([name]) == topics._stamp - topics.feedback.arrival([name])
    assert len(topics.feedback.names) == MAX_JOINTS
    for table in (topics.feedback._anchors, topics.feedback._intervals, topics.feedback._delays._joints):
        assert set(table) <= set(topics.feedback.names)


def test_the_robots_own_joints_have_room_among_names_that_are_published_all_the_time():
    feedback = JointFeedback(jump=10.0, own=("shoulder", "elbow"))
    invented = [f"invented_{index}" for index in range(MAX_JOINTS)]
    for stamp in (1, 2, 3):
        feedback.update(invented, [0.0] * MAX_JOINTS, (), (), stamp, float(stamp))
    feedback.update(["shoulder", "elbow", "other"], [0.5] * 3, (), (), 4, 4.0)
    assert feedback.get("shoulder").position == feedback.get("elbow").position == 0.5
    assert feedback.get("other") is None
    feedback.update(invented[:10], [0.0] * 10, (), (), 5, 60.0)
    feedback.update(["shoulder", "elbow", "other"], [0.5] * 3, (), (), 6, 70.0)  # most of the others are silent
    assert feedback.get("other").position == 0.5
    assert set(feedback.names) == {"shoulder", "elbow", "other", *invented[:10]}


def test_publishers_of_topics_that_are_renamed_are_counted(domain):
    """A node that has just started waits for the first joint states if there are publishers."""
    rclpy.init(args=["--ros-args", "-r", "joints:=/robot/joints", "-r", "__ns:=/cell"])
    node = CellNode("renamed", sole=False)
    try:
        inputs = JointMessages(node, "joints", 10)
        assert inputs.publishers() == 0
        output = node.create_publisher(JointState, "/robot/joints", reliable(10))
        until = time.monotonic() + 60.0
        while inputs.publishers() == 0 and time.monotonic() < until:
            time.sleep(0.01)
        assert inputs.publishers() == 1
        node.destroy_publisher(output)
    finally:
        node.destroy_node()
        rclpy.shutdown()


class EndlessHandle:
    """The handle of a subscription whose messages arrive faster than they are taken."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        """Nothing to release."""

    def take_message(self, kind, raw):
        return kind(), {}


def test_a_read_ends_although_messages_arrive_faster_than_they_are_handled(node, monkeypatch):
    topic = PolledSubscription(node, JointState, "flood", sensor(5))
    flood = SimpleNamespace(handle=EndlessHandle(), msg_type=JointState, raw=False)
    monkeypatch.setattr(topic, "_subscription", flood)
    assert len(list(itertools.islice(topic.take(), 6))) == 5


@pytest.mark.parametrize("raw", [False, True])
def test_a_message_that_is_waited_for_wakes_the_executor_once(node, raw):
    woken = []
    topic = PolledSubscription(node, JointState, "woken", sensor(10), raw=raw, on_message=lambda: woken.append(1))
    output = node.create_publisher(JointState, "woken", reliable(10))
    while output.get_subscription_count() < 1:
        time.sleep(0.01)
    executor = WaitSetExecutor()
    executor.add_node(node)

    def spin_for_a_while():
        ended = []
        executor.call_later(0.2, lambda: ended.append(1))
        while not ended:
            executor.spin_once()

    output.publish(JointState(name=["a"]))
    spin_for_a_while()
    assert not woken
    topic.wait_for_message()
    while not woken:
        executor.spin_once(timeout_sec=60.0)
    output.publish(JointState(name=["b"]))
    spin_for_a_while()
    assert woken == [1]
    found = received(topic.take_raw if raw else topic.take, 2)
    assert [deserialize_message(each, JointState).name if raw else each.name for each in found] == [["a"], ["b"]]
    executor.shutdown()
