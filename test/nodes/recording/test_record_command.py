"""`robot_cell record` beside a running node: published messages are in the bag, as the library rosbags reads it."""

import contextlib
import json
import os
import re
import resource
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from bag_recorder import BagRecorder
from geometry_msgs.msg import PoseStamped
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosbags.highlevel import AnyReader
from running import DEMO
from service_msgs.msg import ServiceEventInfo
from std_msgs.msg import String, UInt8MultiArray

from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import FileError, InvalidRequestError, ResourceError
from robot_cell_planner.msg import SceneChange
from robot_cell_planner.nodes.recording.bag import Bag
from robot_cell_planner.nodes.recording.recorder import Recorder, RecordOptions
from robot_cell_planner.srv import ApplyChanges

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture(scope="module")
def scene(start_node, client):
    start_node("scene_node", cell_file=DEMO, service_introspection="contents")
    client.scene()


def apply_until_event(client, recording, change):
    """Apply a change, and wait until the event of the reply, which follows the reply itself, has been received."""
    received = threading.Event()

    def take(event):
        if event.info.event_type == ServiceEventInfo.RESPONSE_SENT:
            received.set()

    topic = "scene/apply_changes/_service_event"
    subscription = client.node.create_subscription(ApplyChanges.Event, topic, take, 10)
    recording.wait_until_subscribed(client, topic)
    while not subscription.get_publisher_count():
        received.wait(0.05)
    client.apply(change)
    assert received.wait(60.0)
    client.node.destroy_subscription(subscription)


def messages(folder, topic):
    with AnyReader([folder]) as reader:
        connections = [connection for connection in reader.connections if connection.topic == topic]
        return [(time, reader.deserialize(data, kind.msgtype)) for kind, time, data in reader.messages(connections)]


def test_all_messages_are_recorded_also_those_published_before(client, domain, scene, tmp_path):
    bag = tmp_path / "new" / "bag"
    latched = client.node.create_publisher(String, "kept", LATCHED)
    latched.publish(String(data="before"))
    poses = client.node.create_publisher(PoseStamped, "poses", 1000)
    recording = BagRecorder(bag, domain)
    recording.wait_until_subscribed(client, "poses", "kept", "scene/apply_changes/_service_event")
    for number in range(500):
        message = PoseStamped()
        message.header.frame_id, message.pose.position.x = f"frame {number}", 0.1 * number
        poses.publish(message)
    poses.wait_for_all_acked()
    apply_until_event(client, recording, SceneChange(operation=SceneChange.HIDE, name="post"))
    status, out, err = recording.finish(signal.SIGINT)
    assert (status, err) == (0, f"recording in {bag}\n"), err
    assert re.match(r"recorded \d+ messages of \d+ topics in ", out)
    ((_, kept),) = messages(bag, "/kept")
    assert kept.data == "before"
    times, found = zip(*messages(bag, "/poses"), strict=True)
    assert [pose.header.frame_id for pose in found] == [f"frame {number}" for number in range(500)]
    np.testing.assert_array_equal([pose.pose.position.x for pose in found], 0.1 * np.arange(500))
    assert (np.diff(times) >= 0).all()
    events = [event for _, event in messages(bag, "/scene/apply_changes/_service_event")]
    requests = [change.name for event in events for request in event.request for change in request.changes]
    replies = [reply.revision for event in events for reply in event.response]
    assert requests == ["post"]
    assert replies == [client.scene()[1]]
    client.node.destroy_publisher(latched)
    client.node.destroy_publisher(poses)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_signal_that_ends_a_command_lets_the_bag_be_completed(number, tmp_path, monkeypatch, capsys):
    def run(folder, options, warn, end):
        signal.raise_signal(number)
        return SimpleNamespace(messages={"/topic": int(end.is_set())}, skipped={})

    monkeypatch.setattr("robot_cell_planner.nodes.recording.recorder.record", run)
    own, mask = signal.getsignal(signal.SIGINT), os.umask(0o022)
    try:
        assert main(["record", str(tmp_path / "bag")]) == 0
    finally:
        signal.signal(signal.SIGINT, own)
        os.umask(mask)
    assert "recorded 1 messages of 1 topics" in capsys.readouterr().out


def test_the_metadata_has_types_their_hashes_and_the_quality_of_service(client, domain, tmp_path):
    publisher = client.node.create_publisher(String, "kept_again", LATCHED)
    publisher.publish(String(data="text"))
    recording = BagRecorder(tmp_path / "bag", domain, "--topic", "kept_again")
    recording.wait_until_subscribed(client, "kept_again")
    publisher.wait_for_all_acked()
    status, *_ = recording.finish(signal.SIGTERM)
    assert status == 0
    found = yaml.safe_load((tmp_path / "bag" / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert (found["version"], found["storage_identifier"]) == (9, "mcap")
    (topic,) = found["topics_with_message_count"]
    described = topic["topic_metadata"]
    assert (described["name"], described["type"]) == ("/kept_again", "std_msgs/msg/String")
    (info,) = client.node.get_publishers_info_by_topic("/kept_again")
    assert described["type_description_hash"] == str(info.topic_type_hash)
    (offered,) = described["offered_qos_profiles"]
    assert (offered["durability"], offered["reliability"]) == ("transient_local", "reliable")
    client.node.destroy_publisher(publisher)


def test_a_publisher_with_a_lower_quality_of_service_is_recorded_too(client, domain, tmp_path):
    reliable = client.node.create_publisher(String, "mixed", 10)
    recording = BagRecorder(tmp_path / "bag", domain, "--topic", "mixed")
    recording.wait_until_subscribed(client, "mixed")
    tries = threading.Event()
    while not reliable.get_subscription_count():  # the publisher itself must have discovered the subscriber
        tries.wait(0.05)
    reliable.publish(String(data="one"))
    assert reliable.wait_for_all_acked(Duration(seconds=60))
    lower = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
    best_effort = client.node.create_publisher(String, "mixed", lower)
    line = ""
    while "lower quality of service" not in line:
        line = recording.process.stderr.readline()
    while best_effort.get_subscription_count() < 1:
        tries.wait(0.05)
    best_effort.publish(String(data="two"))
    # A message with best effort is lost if it is sent before the other side has discovered the publisher.
    for _ in range(20):
        best_effort.publish(String(data="two"))
        tries.wait(0.05)
    assert recording.finish(signal.SIGINT)[0] == 0
    texts = [message.data for _, message in messages(tmp_path / "bag", "/mixed")]
    assert texts[0] == "one"
    assert set(texts[1:]) == {"two"}
    client.node.destroy_publisher(reliable)
    client.node.destroy_publisher(best_effort)


def test_topics_that_are_found_only_at_the_end_are_recorded(client, tmp_path):
    """A recorder that gets no time before its end, as on a busy machine."""
    publisher = client.node.create_publisher(String, "kept_to_the_end", LATCHED)
    publisher.publish(String(data="text"))
    wait_for_topic = threading.Event()
    while not client.node.count_publishers("kept_to_the_end"):
        wait_for_topic.wait(0.05)
    end = threading.Event()
    end.set()
    with Bag(tmp_path / "bag", {}) as bag:
        recorder = Recorder(client.node, bag, RecordOptions(topics=("kept_to_the_end",)), print)
        recorder.run(end)
    assert recorder.summary.messages == {"/kept_to_the_end": 1}
    ((_, kept),) = messages(tmp_path / "bag", "/kept_to_the_end")
    assert kept.data == "text"
    client.node.destroy_publisher(publisher)


class Graph:
    """A node that also finds topics of programs without ROS."""

    def __init__(self, node, *topics):
        self.node, self.topics = node, topics

    def __getattr__(self, name):
        return getattr(self.node, name)

    def get_topic_names_and_types(self, no_demangle):
        found = self.node.get_topic_names_and_types(no_demangle=no_demangle)
        return [*((topic, ["std_msgs/msg/String"]) for topic in self.topics), *found]


def recorded_at_the_end(node, folder, topics):
    """The recorder of topics that it finds at its end, and what it has reported."""
    end, reports = threading.Event(), []
    end.set()
    with Bag(folder, {}) as bag:
        recorder = Recorder(node, bag, RecordOptions(topics=topics), reports.append)
        recorder.run(end)
    return recorder, reports


@pytest.fixture
def kept(client):
    """A publisher that other nodes have discovered."""
    publisher = client.node.create_publisher(String, "kept", LATCHED)
    publisher.publish(String(data="text"))
    tries = threading.Event()
    while not client.node.count_publishers("kept"):
        tries.wait(0.05)
    yield publisher
    client.node.destroy_publisher(publisher)


def test_a_recorder_that_ends_at_once_waits_until_it_has_found_the_topics_of_others(client, kept, tmp_path):
    """Other processes are discovered one after the other: those of a short session are found after its end."""

    class Hidden(Graph):
        looks = 0

        def get_topic_names_and_types(self, no_demangle):
            self.looks += 1
            return [] if self.looks < 20 else super().get_topic_names_and_types(no_demangle)

    recorder, _ = recorded_at_the_end(Hidden(client.node), tmp_path / "bag", ("^/kept$",))
    assert recorder.summary.messages == {"/kept": 1}


@pytest.mark.parametrize("name", ["/with-hyphen", "/with space", "/9th", "/dot.ted"])
def test_a_topic_whose_name_ros_does_not_allow_is_reported_and_the_others_are_recorded(client, kept, tmp_path, name):
    recorder, reports = recorded_at_the_end(Graph(client.node, name), tmp_path / "bag", ("^/kept$", f"^{name}$"))
    assert recorder.summary.messages == {"/kept": 1}
    assert list(recorder.summary.skipped) == [name]
    assert reports == [f"{name} is not recorded: programs of DDS may use this name, but ROS does not allow it"]


def test_a_topic_that_cannot_be_recorded_keeps_no_subscription(client, kept, tmp_path, monkeypatch):
    def missing(type_name):
        raise ResourceError(f"interface {type_name} is not installed")

    monkeypatch.setattr("robot_cell_planner.nodes.recording.bag.definition_of", missing)
    before = len(list(client.node.subscriptions))
    recorder, _ = recorded_at_the_end(client.node, tmp_path / "bag", ("^/kept$",))
    assert list(recorder.summary.skipped) == ["/kept"]
    assert len(list(client.node.subscriptions)) == before


@pytest.mark.parametrize("missing", [0, 5])
def test_messages_that_may_be_missing_after_a_delay_are_reported_once(client, tmp_path, monkeypatch, missing):
    monkeypatch.setattr("robot_cell_planner.nodes.recording.recorder.QUEUE", 20)
    topic, reports = f"/burst_{missing}", []
    publisher = client.node.create_publisher(String, topic, 100)
    with Bag(tmp_path / "bag", {}) as bag:
        recorder = Recorder(client.node, bag, RecordOptions(topics=(f"^{topic}$",)), reports.append)
        tries = threading.Event()
        while not publisher.get_subscription_count():
            recorder._discover()
            tries.wait(0.05)
        sent = 19 + missing
        for _ in range(2):
            for number in range(sent):
                publisher.publish(String(data=str(number)))
            assert publisher.wait_for_all_acked(Duration(seconds=60))
            recorder.write_received()
    assert recorder.summary.messages[topic] == 2 * min(sent, 20)
    text = f"20 messages of {topic} waited at once; earlier ones may be missing in the record"
    assert reports == ([text] if missing else [])
    client.node.destroy_publisher(publisher)


def test_topics_are_chosen_by_name(client, domain, scene, tmp_path):
    chosen = ("--topic", "^/scene/", "--exclude", "markers")
    for seconds in ("3", "12", "50"):  # a busy computer takes longer to find the scene
        recorder = BagRecorder(tmp_path / seconds, domain, *chosen, "--duration", seconds, "--json")
        status, out, err = recorder.finish()
        assert status == 0, err
        topics = set(json.loads(out)["messages"])
        if "/scene/state" in topics:
            break
    assert "/scene/state" in topics
    assert all(topic.startswith("/scene/") and "markers" not in topic for topic in topics)


def test_a_full_disk_ends_the_recording_with_its_reason(client, domain, tmp_path):
    flood = client.node.create_publisher(UInt8MultiArray, "flood", 10)
    limit = 2_000_000

    def restrict():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    recording = BagRecorder(tmp_path / "bag", domain, "--topic", "flood", preexec_fn=restrict)
    recording.wait_until_subscribed(client, "flood")
    message = UInt8MultiArray(data=bytes(100_000))
    tries = threading.Event()
    while recording.process.poll() is None:
        flood.publish(message)
        tries.wait(0.01)
    status, _, err = recording.finish()
    assert status == 1
    lines = err.splitlines()
    assert lines[1].endswith(f"bag {tmp_path / 'bag'} cannot be written: File too large"), err
    assert lines[2:] == [f"  -> {FileError.remedy}"], err
    client.node.destroy_publisher(flood)


@pytest.mark.parametrize(
    ("place", "reason"),
    [("folder", "it exists already"), ("file", "it exists already"), ("file/bag", "Not a directory")],
)
def test_a_bag_that_cannot_be_made_is_refused_before_the_recording_begins(place, reason, tmp_path, monkeypatch, capsys):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    monkeypatch.setattr("robot_cell_planner.commands.actions.record.record", lambda **_: pytest.fail("it was recorded"))
    assert main(["record", str(tmp_path / place)]) == 1
    message, _ = capsys.readouterr().err.splitlines()
    assert message == f"robot_cell: record: bag {tmp_path / place} cannot be made: {reason}"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"topics": ["("]}, "is not a regular expression"),
        ({"exclude": ["*"]}, "is not a regular expression"),
        ({"duration": 0.0}, "the duration is 0 s, expected a positive number"),
        ({"duration": float("nan")}, "the duration is nan s"),
    ],
)
def test_invalid_options_are_refused(options, text):
    with pytest.raises(InvalidRequestError, match=re.escape(text)):
        RecordOptions(**options)


@pytest.mark.parametrize("is_read", ["later", "never"])
def test_the_recording_goes_on_while_nobody_reads_its_warnings(client, domain, tmp_path, is_read):
    """A reader of the standard error stream may be suspended (Ctrl-Z), or may have ended."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    if is_read == "later":
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writing, b"." * 4096)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writing, b".")
    else:
        os.close(reading)
    os.set_blocking(writing, True)
    publisher = client.node.create_publisher(String, "heard", LATCHED)
    publisher.publish(String(data="word"))
    recording = BagRecorder(tmp_path / "bag", domain, "--topic", "heard", stderr=writing)
    recording.wait_until_subscribed(client, "heard")
    status, out, _ = recording.finish(signal.SIGINT)
    assert (status, out) == (0, f"recorded 1 messages of 1 topics in {tmp_path / 'bag'}\n")
    os.close(writing)
    if is_read == "later":
        os.close(reading)
    client.node.destroy_publisher(publisher)
