"""What an MCAP file declares is bounded before memory is taken for it; chunks are read on all versions of Python."""

import random
import struct
import subprocess
import sys
import tracemalloc

import pytest
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer
from std_msgs.msg import String

from robot_cell_planner.errors import FileError
from robot_cell_planner.errors.remedies import GIVE_BAG
from robot_cell_planner.nodes.recording import mcap
from robot_cell_planner.nodes.recording.bag import Bag
from robot_cell_planner.nodes.recording.compression import MAX_CONTENT
from robot_cell_planner.nodes.recording.reading import BagReader

BEGIN = 10**18  # [ns]
TEXT = "a" * 100_000
TYPE = "std_msgs/msg/String"


def record(kind, content):
    return struct.pack("<BQ", kind, len(content)) + content


def text(value):
    return struct.pack("<I", len(value)) + value


def schema(name=b"std_msgs/msg/String"):
    return record(mcap.SCHEMA, struct.pack("<H", 1) + text(name) + text(b"ros2msg") + text(b"string data"))


def channel(topic=b"/texts"):
    return record(mcap.CHANNEL, struct.pack("<HH", 1, 1) + text(topic) + text(b"cdr") + text(b""))


def message(time):
    return record(mcap.MESSAGE, struct.pack("<HIQQ", 1, 0, time, time) + b"data")


def chunk(begin, content):
    return record(mcap.CHUNK, struct.pack("<QQQI", begin, begin, len(content), 0) + text(b"") + _sized(content))


def _sized(content):
    return struct.pack("<Q", len(content)) + content


def file_of(path, *records, end=b""):
    path.write_bytes(mcap.MAGIC + b"".join(records) + end)
    return path


TOPICS = schema(), channel()


def finished(path, *records, summary=TOPICS):
    """A file with an end, as the specification has it: end of the data, summary, footer."""
    footer = record(0x02, bytes(20))
    return file_of(path, *records, record(mcap.DATA_END, bytes(4)), *summary, footer, end=mcap.MAGIC)


def overlapping(folder, chunks):
    """A bag of chunks with two messages each, all of which begin before any of them ends."""
    with Bag(folder, {}) as bag:
        topic = bag.add("/texts", TYPE, [QoSProfile(depth=1)])
        for number in range(chunks):
            bag.write(topic, BEGIN + number, serialize_message(String(data=TEXT)))
            bag.write(topic, BEGIN + 1000 + number, serialize_message(String(data=TEXT)))
            bag.flush()
    return folder


@pytest.mark.parametrize("is_finished", [True, False])
def test_messages_of_overlapping_chunks_take_no_more_memory_than_the_bound(tmp_path, monkeypatch, is_finished):
    folder = overlapping(tmp_path / "bag", 40)
    if not is_finished:
        (folder / "metadata.yaml").unlink()
    assert len(list(BagReader(folder).messages())) == 80
    monkeypatch.setattr(mcap, "MAX_WAITING", 10 * len(TEXT))
    tracemalloc.start()
    with pytest.raises(FileError, match="chunks whose times overlap take more than 1000000 bytes") as raised:
        list(message.time for message in BagReader(folder).messages())
    assert "no bag" not in raised.value.message
    assert raised.value.remedy != GIVE_BAG
    assert tracemalloc.get_traced_memory()[1] < 20 * len(TEXT)
    tracemalloc.stop()


def test_chunks_one_after_another_do_not_wait_for_each_other(tmp_path, monkeypatch):
    with Bag(tmp_path / "bag", {}) as bag:
        topic = bag.add("/texts", TYPE, [QoSProfile(depth=1)])
        for number in range(40):
            bag.write(topic, BEGIN + number, serialize_message(String(data=TEXT)))
            bag.flush()
    monkeypatch.setattr(mcap, "MAX_WAITING", 3 * len(TEXT))
    assert len(list(BagReader(bag.folder).messages())) == 40


def test_a_chunk_of_many_small_messages_counts_with_their_objects(tmp_path, monkeypatch):
    path = file_of(tmp_path / "small.mcap", schema(), channel(), chunk(1, message(1) * 1000))
    monkeypatch.setattr(mcap, "MAX_WAITING", 100_000)
    with pytest.raises(FileError, match="overlap take more than 100000 bytes"):
        BagReader(path)


def test_messages_outside_of_chunks_are_read_in_the_order_of_time(tmp_path):
    """Recorders may write without chunks, and messages of several threads in another order."""
    times = [*range(100, 200), *range(50, 150), 7, 300]
    for path in (
        file_of(tmp_path / "killed.mcap", schema(), channel(), *map(message, times)),
        finished(tmp_path / "finished.mcap", schema(), channel(), *map(message, times)),
    ):
        assert [found.time for found in BagReader(path).messages()] == sorted(times)


def test_chunks_between_messages_are_read_in_the_order_of_time(tmp_path):
    records = (schema(), channel(), message(1), chunk(3, message(4) + message(3)), message(2), message(5))
    assert [found.time for found in BagReader(finished(tmp_path / "a.mcap", *records)).messages()] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("summary", [(), (schema(), channel())])
def test_topics_that_only_chunks_declare_are_known(tmp_path, summary):
    """The summary of a file is optional."""
    content = schema() + channel() + message(9), schema() + channel() + message(3)
    records = chunk(9, content[0]), chunk(3, content[1])
    found = list(BagReader(finished(tmp_path / "a.mcap", *records, summary=summary)).messages())
    assert [(each.topic, each.type_name, each.time) for each in found] == [("/texts", TYPE, 3), ("/texts", TYPE, 9)]


def test_random_chunks_are_read_as_rosbags_reads_them(tmp_path):
    numbers = random.Random(5)
    for case in range(20):
        with Bag(tmp_path / f"bag{case}", {}) as bag:
            topics = [bag.add(f"/texts{k}", TYPE, [QoSProfile(depth=1)]) for k in range(3)]
            for number in range(60):
                time = BEGIN + numbers.randrange(1, 30) + 10 * (number // 10)
                bag.write(numbers.choice(topics), time, serialize_message(String(data=str(number))))
                if numbers.random() < 0.2:
                    bag.flush()
        with Reader(bag.folder) as reader:
            expected = [(kind.topic, time, bytes(data)) for kind, time, data in reader.messages()]
        found = [(each.topic, each.time, each.data) for each in BagReader(bag.folder).messages()]
        assert [time for _, time, _ in found] == [time for _, time, _ in expected]
        assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(
    "records, reason",
    [
        ((schema(), channel(b"/" + b"a" * 2000)), "a name of 2001 bytes, expected at most 1024"),
        ((schema(b"a" * 2000),), "a name of 2000 bytes, expected at most 1024"),
        ((schema(), channel(), chunk(5, message(4))), "a message of time 4 in a chunk that begins at 5"),
        ((schema(), message(4)), "a message of topic 1, which is not declared"),
        ((schema(), channel(), record(mcap.MESSAGE, b"short")), "a field of 22 bytes in a record that has 5 more"),
    ],
)
def test_what_no_recorder_writes_is_refused(tmp_path, records, reason):
    with pytest.raises(FileError, match=rf"a\.mcap, byte \d+: {reason}"):
        list(BagReader(finished(tmp_path / "a.mcap", *records)).messages())


def test_the_number_of_parts_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(mcap, "MAX_PARTS", 100)
    path = file_of(tmp_path / "a.mcap", schema(), channel(), *(message(time) for time in range(500)))
    assert len(list(BagReader(path).messages())) == 500

    path = file_of(tmp_path / "b.mcap", schema(), channel(), *(message(time) for time in range(500, 0, -1)))
    with pytest.raises(FileError, match="more than 100 chunks, or messages that are not in the order of time"):
        BagReader(path)


@pytest.mark.parametrize("kind", [mcap.SCHEMA, mcap.CHANNEL, mcap.MESSAGE, mcap.CHUNK])
def test_a_record_larger_than_the_bound_is_not_read(tmp_path, kind):
    """The file has holes, which take no space on the disk."""
    path = file_of(tmp_path / "a.mcap", schema(), channel(), record(mcap.MESSAGE, message(1)[9:]))
    with path.open("ab") as file:
        file.write(struct.pack("<BQ", kind, MAX_CONTENT + 1) + message(2)[9:])
        file.truncate(file.tell() + MAX_CONTENT + 1)
    with pytest.raises(FileError, match=f"a record of {MAX_CONTENT + 1} bytes, expected at most"):
        list(BagReader(path).messages())


def test_compressed_messages_of_a_killed_recorder_are_expanded(tmp_path):
    """Recorders write the mode of compression at their end, in the metadata."""
    folder = tmp_path / "bag"
    writer = Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP)
    writer.set_compression(CompressionMode.MESSAGE, CompressionFormat.ZSTD)
    content = serialize_message(String(data="word"))
    with writer:
        writer.write(writer.add_connection("/texts", TYPE, msgdef="string data", rihs01="RIHS01_"), BEGIN, content)
    (folder / "metadata.yaml").unlink()
    reader = BagReader(folder)
    assert "was not finished" in reader.warnings[0]
    assert [found.data for found in reader.messages()] == [content]


@pytest.mark.parametrize(
    "metadata, reason",
    [
        ("[]", "has no information on a bag"),
        (
            "rosbag2_bagfile_information: {version: 99, relative_file_paths: [a.mcap]}",
            "has the version 99, expected",
        ),
        ("rosbag2_bagfile_information: {version: 9, relative_file_paths: a.mcap}", "has no list of the files"),
        ("rosbag2_bagfile_information: {version: 9, relative_file_paths: [..]}", "is no file of the formats"),
        ("rosbag2_bagfile_information: {version: 9, relative_file_paths: [a.txt]}", "is no file of the formats"),
        (
            "rosbag2_bagfile_information: {version: 9, relative_file_paths: [a.mcap], compression_mode: MESSAGE,"
            " compression_format: fake}",
            "compression of the mode 'message' and the format 'fake' is not supported",
        ),
    ],
)
def test_metadata_that_cannot_be_followed_are_refused(tmp_path, metadata, reason):
    file_of(tmp_path / "a.mcap")
    (tmp_path / "metadata.yaml").write_text(metadata)
    with pytest.raises(FileError, match=rf"is no bag that can be read: .*{reason}"):
        list(BagReader(tmp_path).messages())


WITH_STANDARD_LIBRARY = """
import sys, types
from robot_cell_planner.nodes.recording.compression import zstd
data = zstd.compress(bytes(1000))
del sys.modules["robot_cell_planner.nodes.recording.compression"]
package = types.ModuleType("compression")
package.zstd = zstd
sys.modules |= {"compression": package, "compression.zstd": zstd, "backports": None, "backports.zstd": None}
sys.version_info = (3, 14, 0, "final", 0)
from robot_cell_planner.nodes.recording.compression import expanded_chunk, expanded_message
assert expanded_chunk(data, "zstd", 1000, 0) == expanded_message(data) == bytes(1000)
"""


def test_zstd_of_the_standard_library_is_used_where_it_has_it():
    """From Python 3.14 on; backports.zstd is not installed there."""
    subprocess.run([sys.executable, "-c", WITH_STANDARD_LIBRARY], check=True)


def test_a_file_that_is_removed_after_it_was_listed_is_named_with_the_reason(tmp_path):
    path = finished(tmp_path / "a.mcap", schema(), channel(), message(1))
    reader = BagReader(path)
    path.unlink()
    with pytest.raises(FileError, match=r"a\.mcap: No such file or directory"):
        list(reader.messages())
