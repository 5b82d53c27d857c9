"""Bags whose recorder was killed are read up to its last write; damaged ones end with an error that names the place."""

import random
import re
import shutil
import signal
import threading

import pytest
from bag_recorder import BagRecorder
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message, serialize_message
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_cell_planner import srv
from robot_cell_planner.errors import FileError
from robot_cell_planner.errors.remedies import MISSING_FILE
from robot_cell_planner.io.common.resources import NO_ROOTS
from robot_cell_planner.nodes.conversions.models import ModelReader
from robot_cell_planner.nodes.recording import compression
from robot_cell_planner.nodes.recording.bag import Bag
from robot_cell_planner.nodes.recording.reading import BagReader
from robot_cell_planner.nodes.recording.recorder import class_of
from robot_cell_planner.nodes.replaying.exchanges import RecordReader
from robot_cell_planner.nodes.replaying.history import SceneHistory

BEGIN = 10**18  # [ns], 2001-09-09 01:46:40 UTC
QUALITY = [QoSProfile(depth=1)]
EVENT = "robot_cell_planner/srv/GetCell_Event"


def write(bag, topics, number):
    """Write a message of both topics; those of the second one are received before those of the first one."""
    bag.write(topics[0], BEGIN + 10 * number, serialize_message(JointState(position=[float(number)])))
    bag.write(topics[1], BEGIN + 10 * number - 15, serialize_message(String(data=str(number))))


def add_topics(bag):
    return (
        bag.add("/joint_states", "sensor_msgs/msg/JointState", QUALITY),
        bag.add("/texts", "std_msgs/msg/String", QUALITY),
    )


def write_events(bag, count):
    event_class = class_of(EVENT)
    topic = bag.add("/scene/get_cell/_service_event", EVENT, QUALITY)
    for number in range(count):
        for kind in (1, 2):
            event = event_class()
            event.info.event_type, event.info.sequence_number = kind, number
            event.request = [srv.GetCell.Request()] if kind == 1 else []
            event.response = [srv.GetCell.Response()] if kind == 2 else []
            bag.write(topic, BEGIN + 10 * number + kind, serialize_message(event))


def read(path):
    """Topics, times and contents; and the warnings."""
    reader = BagReader(path)
    return [(found.topic, found.type_name, found.time, found.data) for found in reader.messages()], reader.warnings


def as_rosbags_reads(path):
    with Reader(path) as reader:
        return [(kind.topic, kind.msgtype, time, bytes(data)) for kind, time, data in reader.messages()]


@pytest.fixture
def bag(tmp_path):
    """A finished bag of four chunks with 10 messages each, whose times overlap."""
    with Bag(tmp_path / "bag", {}) as bag:
        topics = add_topics(bag)
        for number in range(20):
            write(bag, topics, number)
            if number % 5 == 4:
                bag.flush()
    return bag.folder


def test_finished_bags_are_read_without_a_warning(bag):
    found, warnings = read(bag)
    assert found == as_rosbags_reads(bag)
    assert len(found) == 40
    assert not warnings


def test_what_was_flushed_is_in_the_file_of_a_killed_process(tmp_path):
    bag = Bag(tmp_path / "bag", {})
    found, (warning,) = read(bag.folder)
    assert found == []
    assert warning.endswith("was not finished, its recorder was killed or still runs: it has no message")
    topics = add_topics(bag)
    for number in range(3):
        write(bag, topics, number)
        bag.flush()
    write(bag, topics, 3)
    found, (warning,) = read(bag.folder)
    assert [time for _, _, time, _ in found] == [BEGIN + offset for offset in (-15, -5, 0, 5, 10, 20)]
    assert [deserialize_message(found[k][3], String).data for k in (0, 1, 3)] == ["0", "1", "2"]
    assert f"{bag.folder / 'bag.mcap'} was not finished" in warning
    assert "it has 6 messages, the last at 2001-09-09 01:46:40.000 UTC" in warning
    bag.close()
    assert len(read(bag.folder)[0]) == 8


def test_the_complete_records_of_a_bag_that_ends_anywhere_are_read(bag, tmp_path):
    whole, content = as_rosbags_reads(bag), (bag / "bag.mcap").read_bytes()
    copy = tmp_path / "copy"
    copy.mkdir()
    counts = set()
    for size in range(0, len(content), 23):
        (copy / "bag.mcap").write_bytes(content[:size])
        found, (warning,) = read(copy)
        counts.add(len(found))
        assert sorted(found, key=lambda message: message[2]) == found
        assert [message for message in whole if message in found] == found
        assert "was not finished" in warning
        assert size < 8 or f"{len(found) or 'no'} message" in warning
    assert counts == {0, 10, 20, 30, 40}
    (copy / "bag.mcap").write_bytes(content)
    found, (warning,) = read(copy)
    assert found == whole
    assert "was not finished" in warning, "it has no metadata"
    assert warning.endswith(" UTC"), "all of its bytes are read"
    (copy / "bag.mcap").write_bytes(content[:-1])
    shutil.copy(bag / "metadata.yaml", copy)
    assert read(copy)[0] == whole
    assert read(copy / "bag.mcap")[0] == whole


@pytest.mark.parametrize("finished", [True, False])
def test_damaged_bags_end_with_an_error_that_names_them(tmp_path, finished, capfd):
    with Bag(tmp_path / "bag", {}) as bag:
        write_events(bag, 40)
        bag.flush()
        topics = add_topics(bag)
        for number in range(20):
            write(bag, topics, number)
    if not finished:
        (bag.folder / "metadata.yaml").unlink()
    contents = {path: path.read_bytes() for path in bag.folder.iterdir()}
    random_numbers = random.Random(3)
    messages = []
    for _ in range(300):
        path = random_numbers.choice(sorted(contents))
        damaged = bytearray(contents[path])
        for _ in range(random_numbers.choice((1, 3, 20))):
            damaged[random_numbers.randrange(len(damaged))] = random_numbers.randrange(256)
        path.write_bytes(damaged[: random_numbers.choice((len(damaged), random_numbers.randrange(len(damaged))))])
        try:
            for _ in RecordReader(bag.folder, SceneHistory(ModelReader(NO_ROOTS))).exchanges():
                pass
        except FileError as error:
            messages.append(error.message)
        path.write_bytes(contents[path])
    assert len(messages) > 50
    assert [text for text in messages if str(bag.folder) not in text or "\n" in text] == []
    capfd.readouterr()  # what Fast CDR prints about damaged messages


def test_the_place_of_the_damage_is_named(bag):
    path = bag / "bag.mcap"
    content = path.read_bytes()
    message = serialize_message(String(data="18"))
    place = content.index(message) - 22 - 8  # of the size of its record
    assert int.from_bytes(content[place : place + 8], "little") == 22 + len(message)
    damaged = bytearray(content)
    damaged[place : place + 8] = b"\xff" * 8
    path.write_bytes(damaged)
    with pytest.raises(FileError, match=r"^read record: \S*/bag is damaged after message \d+, at 2001-09-09 "):
        read(bag)
    path.write_bytes(damaged[:-8])
    with pytest.raises(FileError, match=rf"^read record: {re.escape(str(path))}, byte \d+: a field of 1844"):
        read(bag)


@pytest.mark.parametrize("finished", [True, False])
def test_a_chunk_that_declares_more_than_can_be_read_is_not_decompressed(tmp_path, finished, monkeypatch):
    """A file of 30 KB may declare a gigabyte."""

    def never():
        raise AssertionError("the chunk was decompressed")

    monkeypatch.setitem(compression.DECOMPRESSORS, "zstd", never)
    folder = tmp_path / "bag"
    writer = Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP)
    writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    with writer:
        topic = writer.add_connection("/texts", "std_msgs/msg/String", msgdef="string data", rihs01="RIHS01_")
        writer.write(topic, BEGIN, serialize_message(String(data="word")))
    path = folder / "bag.mcap"
    content = path.read_bytes()
    size = content.index(b"\x04\x00\x00\x00zstd") - 4 - 8  # of the content, before the checksum
    path.write_bytes(content[:size] + (10**9).to_bytes(8, "little") + content[size + 8 :])
    if not finished:
        (folder / "metadata.yaml").unlink()
    with pytest.raises(FileError) as raised:
        read(folder)
    assert str(path) in raised.value.message
    assert "declares 1000000000 bytes of content, expected at most 268435456" in raised.value.message


def test_a_killed_recorder_has_written_what_it_received(client, domain, tmp_path):
    publisher = client.node.create_publisher(String, "spoken", 10)
    recording = BagRecorder(tmp_path / "bag", domain, "--topic", "spoken")
    recording.wait_until_subscribed(client, "spoken")
    tries = threading.Event()
    for _ in range(600):
        publisher.publish(String(data="word"))
        if len(read(tmp_path / "bag")[0]) > 5:
            break
        tries.wait(0.1)
    recording.finish(signal.SIGKILL)
    found, (warning,) = read(tmp_path / "bag")
    assert len(found) > 5
    assert {deserialize_message(data, String).data for *_, data in found} == {"word"}
    assert f"it has {len(found)} messages" in warning
    client.node.destroy_publisher(publisher)


def test_a_path_that_does_not_exist_is_named_with_what_to_do(tmp_path):
    with pytest.raises(FileError, match="nothing is no bag that can be read: No such file or directory") as raised:
        BagReader(tmp_path / "nothing")
    assert raised.value.remedy == MISSING_FILE
