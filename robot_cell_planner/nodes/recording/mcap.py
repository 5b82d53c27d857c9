"""MCAP files, also those without an end: their recorder was killed, still runs, or only a part of the file was copied.

All sizes that a file declares are bounded before memory is taken for them. The readers of mcap and rosbags do not
suffice: they expand lz4 without a bound, and need the end of a file to read it in the order of time without loading it
whole. https://mcap.dev/spec
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple

from .compression import MAX_CONTENT, expanded_chunk

MAGIC = b"\x89MCAP0\r\n"
SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 0x03, 0x04, 0x05, 0x06, 0x0F  # kinds of records
HEAD = struct.Struct("<BQ")  # kind of a record and the size of its content
CHUNK_HEAD, MESSAGE_HEAD = struct.Struct("<QQQI"), struct.Struct("<HIQQ")
MAX_CHUNK_HEAD = 1024  # [bytes] of a chunk before its data, with the name of the compression
MAX_NAME = 1024  # [bytes] of a topic or type; ROS allows 255
MAX_PARTS = 2**20  # chunks, and runs of messages outside of chunks, of a file
MAX_WAITING = 2 * MAX_CONTENT  # [bytes] of the messages of chunks whose times overlap, with those of Python's objects
MESSAGE_COST = 256  # [bytes] of a message in memory besides its data


@dataclass(frozen=True)
class BagMessage:
    """A serialized message. time: of its reception [ns since 1970]."""

    topic: str
    type_name: str
    time: int
    data: bytes


class McapError(ValueError):
    """An MCAP file is damaged, or declares more than is read; names the file and the byte."""


class Record(NamedTuple):
    """A record in a file or in a chunk. offset: of its content [bytes]."""

    kind: int
    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size


class Part(NamedTuple):
    """A chunk, or records with messages in the order of time. time: of the first message [ns since 1970]; begin, end:
    of the records [bytes of the file]."""

    time: int
    begin: int
    end: int


class Fields:
    """Reads the fields of a record one after another. ValueError: they are longer than it is."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        if len(found) < size:
            raise ValueError(f"a field of {size} bytes in a record that has {len(found)} more")
        self._at += size
        return found

    def numbers(self, layout: str) -> tuple[int, ...]:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def name(self) -> str:
        (size,) = self.numbers("<I")
        if size > MAX_NAME:
            raise ValueError(f"a name of {size} bytes, expected at most {MAX_NAME}")
        return self.take(size).decode()

    def rest(self) -> bytes:
        return self._data[self._at :]


class Memory:
    """Counts what messages take that wait for earlier ones of other chunks."""

    def __init__(self) -> None:
        self._taken = 0

    def take(self, message: BagMessage) -> None:
        """Add a message. ValueError: All take more than MAX_WAITING."""
        self._taken += _cost(message)
        if self._taken > MAX_WAITING:
            text = f"the messages of chunks whose times overlap take more than {MAX_WAITING} bytes"
            raise ValueError(f"{text}; write them in the order of time")

    def release(self, message: BagMessage) -> None:
        self._taken -= _cost(message)


def _cost(message: BagMessage) -> int:
    return len(message.data) + MESSAGE_COST


def has_end(path: Path) -> bool:
    """Return whether an MCAP file was written to its end. OSError: It cannot be read."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - len(MAGIC), len(MAGIC)))
        return file.read() == MAGIC


class McapFile:
    """An MCAP file. Its complete records are listed when it is opened.

    is_finished: whether it has an end, which repeats the topics, so that its chunks need not be read for the list.

    Attributes:
        size: Bytes of the file.
        complete: Bytes up to the end of the last complete record.
        first: Time of the first message [ns since 1970], 0 without any.
        count: Number of messages. last: time of the last one [ns since 1970], 0 without any. Not of chunks that were
            not read.

    Raises:
        McapError: It is damaged before its end, or declares more than is read.
        OSError: It cannot be read.
    """

    def __init__(self, path: Path, is_finished: bool) -> None:
        self.path = path
        self.size = self.complete = self.count = self.last = 0
        self._schemas: dict[int, str] = {}
        self._channels: dict[int, tuple[str, str]] = {}
        self._parts: list[Part] = []
        self._run_time: int | None = None  # of the last message of the last part, if messages may be added to it
        with path.open("rb") as file:
            if not (is_finished and self._list(file, reads_chunks=False)):
                self._list(file, reads_chunks=True)
        self.first = min((part.time for part in self._parts), default=0)

    def _list(self, file: BinaryIO, reads_chunks: bool) -> bool:
        """List the records, and return whether a channel is declared after the data."""
        self.size = file.seek(0, 2)
        file.seek(0)
        begin = file.read(len(MAGIC))
        if begin != MAGIC[: len(begin)]:
            raise self._damaged(0, "it does not begin as an MCAP file")
        self.complete, self._parts, self._run_time = len(begin), [], None
        self.count = self.last = 0
        has_ended = has_channels = False
        for record in _records(file, self.complete, self.size):
            has_ended = has_ended or record.kind == DATA_END
            has_channels = has_channels or (has_ended and record.kind == CHANNEL)
            try:
                self._list_record(file, record, reads_chunks)
            except ValueError as error:
                raise self._damaged(record.offset, str(error)) from error
            if len(self._parts) > MAX_PARTS:
                text = f"more than {MAX_PARTS} chunks, or messages that are not in the order of time"
                raise self._damaged(record.offset, text)
            self.complete = record.end
        file.seek(self.complete)
        if self.complete and file.read(len(MAGIC) + 1) == MAGIC:
            self.complete = self.size  # only the metadata of the bag is missing
        return has_channels

    def _list_record(self, file: BinaryIO, record: Record, reads_chunks: bool) -> None:
        if record.kind in (SCHEMA, CHANNEL):
            self._declare(record.kind, Fields(_content(file, record)))
        elif record.kind == MESSAGE:
            file.seek(record.offset)
            self._list_message(record, *_message_head(Fields(file.read(min(record.size, MESSAGE_HEAD.size)))))
        elif record.kind == CHUNK and reads_chunks:
            messages = self._chunk(_content(file, record), Memory())
            if messages:
                self.count += len(messages)
                self.last = max(self.last, messages[0].time)
                self._add_part(messages[-1].time, record)
        elif record.kind == CHUNK:
            file.seek(record.offset)
            begin, size, *_ = _chunk_head(Fields(file.read(min(record.size, MAX_CHUNK_HEAD))))
            if size:
                self._add_part(begin, record)

    def _add_part(self, time: int, record: Record) -> None:
        self._parts.append(Part(time, record.offset - HEAD.size, record.end))
        self._run_time = None

    def _list_message(self, record: Record, channel: int, time: int) -> None:
        """List a message that is in no chunk."""
        self._check_declared(channel)
        if self._run_time is not None and self._run_time <= time:
            self._parts[-1] = self._parts[-1]._replace(end=record.end)
        else:
            self._add_part(time, record)
        self._run_time = time
        self.count, self.last = self.count + 1, max(self.last, time)

    @property
    def topics(self) -> frozenset[str]:
        """Names of the topics that are declared."""
        return frozenset(topic for topic, _ in self._channels.values())

    def messages(self, memory: Memory) -> Iterator[BagMessage]:
        """Yield the messages in the order of time; of chunks, only those that overlap are in memory.

        Raises:
            McapError: It is damaged, or too much has to be in memory.
            OSError: The file cannot be read any more.
        """
        with self.path.open("rb") as file:
            yield from merged([(part.time, self._of(file, part, memory)) for part in self._parts])

    def _of(self, file: BinaryIO, part: Part, memory: Memory) -> Iterator[BagMessage]:
        for record in _records(file, part.begin, part.end):
            if record.kind not in (MESSAGE, CHUNK):
                continue
            try:
                waiting = self._waiting(_content(file, record), record.kind, memory)
                if waiting and waiting[-1].time < part.time:
                    raise ValueError(f"a message of time {waiting[-1].time} in a chunk that begins at {part.time}")
            except ValueError as error:
                raise self._damaged(record.offset, str(error)) from error
            while waiting:
                message = waiting.pop()
                yield message
                memory.release(message)  # the following one is asked for after it was used

    def _waiting(self, content: bytes, kind: int, memory: Memory) -> list[BagMessage]:
        """Return the messages of a chunk, or a single one, the last one first."""
        if kind == CHUNK:
            return self._chunk(content, memory)
        message = self._message(Fields(content))
        memory.take(message)
        return [message]

    def _chunk(self, content: bytes, memory: Memory) -> list[BagMessage]:
        """Return the messages of a chunk, the last one first, and take the topics that it declares."""
        found = []
        for kind, part in _records_of_chunk(content):
            if kind in (SCHEMA, CHANNEL):
                self._declare(kind, Fields(part))
            elif kind == MESSAGE:
                found.append(self._message(Fields(part)))
                memory.take(found[-1])
        return sorted(reversed(found), key=attrgetter("time"), reverse=True)

    def _declare(self, kind: int, fields: Fields) -> None:
        if kind == SCHEMA:
            (number,) = fields.numbers("<H")
            self._schemas[number] = fields.name()
        else:
            number, schema = fields.numbers("<HH")
            self._channels[number] = fields.name(), self._schemas.get(schema, "")

    def _message(self, fields: Fields) -> BagMessage:
        channel, time = _message_head(fields)
        self._check_declared(channel)
        return BagMessage(*self._channels[channel], time, fields.rest())

    def _check_declared(self, channel: int) -> None:
        if channel not in self._channels:
            raise ValueError(f"a message of topic {channel}, which is not declared")

    def _damaged(self, offset: int, reason: str) -> McapError:
        return McapError(f"{self.path}, byte {offset}: {reason}")


def merged(sources: list[tuple[int, Iterator[BagMessage]]]) -> Iterator[BagMessage]:
    """Yield messages in the order of time. sources: time of the first message, and messages in the order of time; they
    are not asked for messages before that time."""
    waiting = sorted(((time, place) for place, (time, _) in enumerate(sources)), reverse=True)
    heads: list[tuple[int, int, BagMessage]] = []
    while waiting or heads:
        if waiting and (not heads or waiting[-1][0] <= heads[0][0]):
            _, place = waiting.pop()
        else:
            _, place, message = heapq.heappop(heads)
            yield message
        following = next(sources[place][1], None)
        if following is not None:
            heapq.heappush(heads, (following.time, place, following))


def _records(file: BinaryIO, at: int, end: int) -> Iterator[Record]:
    """Yield the complete records of a file between two bytes."""
    while at + HEAD.size <= end:
        file.seek(at)
        head = file.read(HEAD.size)
        if len(head) < HEAD.size:
            return  # the file was shortened
        kind, length = HEAD.unpack(head)
        if at + HEAD.size + length > end:
            return
        yield Record(kind, at + HEAD.size, length)
        at += HEAD.size + length


def _content(file: BinaryIO, record: Record) -> bytes:
    if record.size > MAX_CONTENT:
        raise ValueError(f"a record of {record.size} bytes, expected at most {MAX_CONTENT}")
    file.seek(record.offset)
    return file.read(record.size)


def _message_head(fields: Fields) -> tuple[int, int]:
    """Return the channel and the time of a message [ns since 1970]."""
    channel, _, time, _ = MESSAGE_HEAD.unpack(fields.take(MESSAGE_HEAD.size))
    return channel, time


def _records_of_chunk(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the kinds and contents of the records in a chunk."""
    fields = Fields(content)
    _, size, checksum, compression, packed = _chunk_head(fields)
    inner = Fields(expanded_chunk(fields.take(packed), compression, size, checksum))
    left = size
    while left:
        kind, length = HEAD.unpack(inner.take(HEAD.size))
        yield kind, inner.take(length)
        left -= HEAD.size + length


def _chunk_head(fields: Fields) -> tuple[int, int, int, str, int]:
    """Return the time of the first message of a chunk [ns since 1970], the size of its content, its checksum, its
    compression, and the size of the data that follow. ValueError: The content is larger than MAX_CONTENT, or the head
    is not complete."""
    begin, _, size, checksum = CHUNK_HEAD.unpack(fields.take(CHUNK_HEAD.size))
    compression = fields.name()
    (packed,) = fields.numbers("<Q")
    if size > MAX_CONTENT:
        text = f"a chunk of {packed} bytes declares {size} bytes of content, expected at most {MAX_CONTENT}"
        raise ValueError(text)
    return begin, size, checksum, compression, packed
