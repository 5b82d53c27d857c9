"""Compressed bags are read in all modes of rosbag2, and expand to no more than the reader allows."""

import shutil
import tracemalloc
from collections import namedtuple

import lz4.frame
import pytest
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer
from std_msgs.msg import String

from robot_cell_planner.errors import FileError
from robot_cell_planner.nodes.recording import compression
from robot_cell_planner.nodes.recording.compression import expand_file, expanded_chunk, expanded_message, zstd
from robot_cell_planner.nodes.recording.reading import BagReader

BEGIN = 10**18  # [ns]
MODES = [CompressionMode.STORAGE, CompressionMode.MESSAGE, CompressionMode.FILE]
PLUGINS = [StoragePlugin.MCAP, StoragePlugin.SQLITE3]
BOTH = [(mode, plugin) for mode in MODES for plugin in PLUGINS if (mode, plugin) != (MODES[0], PLUGINS[1])]
EXPANDED = 40 * 2**20  # [bytes], of equal letters: a thousandth of it when compressed


def write(folder, mode, plugin, texts):
    writer = Writer(folder, version=9, storage_plugin=plugin)
    writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        topic = writer.add_connection("/texts", "std_msgs/msg/String", msgdef="string data", rihs01="RIHS01_")
        for number, text in enumerate(texts):
            writer.write(topic, BEGIN + number, serialize_message(String(data=text)))
    return folder


def peak(call):
    """The most memory [bytes] that Python allocated meanwhile."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("mode, plugin", BOTH)
def test_bags_of_all_compression_modes_are_read(tmp_path, mode, plugin):
    folder = write(tmp_path / "bag", mode, plugin, ["one", "two" * 1000, "three"])
    with Reader(folder) as reader:
        expected = [(kind.topic, kind.msgtype, time, bytes(data)) for kind, time, data in reader.messages()]
    found = [(each.topic, each.type_name, each.time, each.data) for each in BagReader(folder).messages()]
    assert found == expected
    assert len(found) == 3


@pytest.mark.parametrize("compress", [zstd.compress, lz4.frame.compress])
@pytest.mark.parametrize("frames", [1, 3])
def test_a_chunk_expands_to_no_more_than_it_declares(compress, frames):
    """Of one frame, or of several that follow each other."""
    data, declared = compress(bytes(EXPANDED)) * frames, frames * EXPANDED
    name = "zstd" if compress is zstd.compress else "lz4"
    assert len(expanded_chunk(data, name, declared, 0)) == declared

    for size in (declared - 1, 1000, 0):
        with pytest.raises(ValueError, match=f"compressed bytes have more content than {size} bytes"):
            expanded_chunk(data, name, size, 0)
    assert peak(lambda: expanded_chunk(data, name, declared, 0)) > declared

    def refused():
        with pytest.raises(ValueError, match="more content than 1000 bytes"):
            expanded_chunk(data, name, 1000, 0)

    assert peak(refused) < EXPANDED / 2


@pytest.mark.parametrize("compress, name", [(zstd.compress, "zstd"), (lz4.frame.compress, "lz4")])
def test_data_that_end_within_a_frame_are_refused(compress, name):
    with pytest.raises(ValueError, match="not complete"):
        expanded_chunk(compress(bytes(1000))[:-5], name, 1000, 0)


def test_a_compressed_message_is_bounded(tmp_path, monkeypatch):
    folder = write(tmp_path / "bag", CompressionMode.MESSAGE, StoragePlugin.MCAP, ["word", "a" * EXPANDED])
    monkeypatch.setattr(compression, "MAX_CONTENT", 1000)
    messages = BagReader(folder).messages()
    assert next(messages).time == BEGIN
    with pytest.raises(FileError, match=r"is damaged after message 1, at .* have more content than 1000 bytes"):
        next(messages)
    monkeypatch.undo()
    assert len(list(BagReader(folder).messages())) == 2


def test_damaged_messages_are_refused():
    with pytest.raises(ValueError, match="a compressed message cannot be expanded: the compressed data are damaged"):
        expanded_message(b"no frame of zstd")


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_compressed_file_takes_at_most_half_of_the_free_space(tmp_path, monkeypatch, plugin):
    folder = write(tmp_path / "bag", CompressionMode.FILE, plugin, ["a" * EXPANDED])
    (file,) = folder.glob("*.zstd")
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(EXPANDED // 2))
    target = tmp_path / "expanded"
    with pytest.raises(ValueError, match=f"more content than {EXPANDED // 4} bytes, half of the free space in "):
        expand_file(file, target)
    assert target.stat().st_size <= EXPANDED // 4
    with pytest.raises(FileError, match=f"{file}: it has more content"):
        list(BagReader(folder).messages())


def test_compressed_files_are_expanded_a_part_at_a_time(tmp_path):
    file = tmp_path / "file.zstd"
    file.write_bytes(zstd.compress(bytes(EXPANDED)) + zstd.compress(b"end"))
    assert peak(lambda: expand_file(file, tmp_path / "file")) < EXPANDED / 2
    assert (tmp_path / "file").read_bytes() == bytes(EXPANDED) + b"end"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ValueError, match="it is not complete"):
        expand_file(file, tmp_path / "file")
    file.write_bytes(b"no frame of zstd")
    with pytest.raises(ValueError, match="it is damaged"):
        expand_file(file, tmp_path / "file")


def test_chunks_of_a_compressed_file_are_checked_too(tmp_path):
    plain = write(tmp_path / "plain", CompressionMode.STORAGE, StoragePlugin.MCAP, ["word"]) / "plain.mcap"
    folder = write(tmp_path / "bag", CompressionMode.FILE, StoragePlugin.MCAP, ["word"])
    content = plain.read_bytes()
    size = content.index(b"\x04\x00\x00\x00zstd") - 4 - 8  # of the content, before the checksum
    content = content[:size] + (10**9).to_bytes(8, "little") + content[size + 8 :]
    (folder / "bag.mcap.zstd").write_bytes(zstd.compress(content))
    with pytest.raises(FileError, match="declares 1000000000 bytes of content"):
        list(BagReader(folder).messages())
