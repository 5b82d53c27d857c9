"""MCAP files without an end: their recorder was killed, still runs, or only a part of the file was copied.

Such a file has no index. Its records are listed up to the first one that is incomplete.
https://mcap.dev/spec
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple

from rosbags.rosbag2.storage_mcap import decompress

from ...errors import FileError
from .compression import check_content_size

STAGE = "read record"
MAGIC = b"\x89MCAP0\r\n"
SCHEMA, CHANNEL, MESSAGE, CHUNK = 0x03, 0x04, 0x05, 0x06  # kinds of records
HEAD = struct.Struct("<BQ")  # kind of a record and the size of its content
CHUNK_HEAD, MESSAGE_HEAD = struct.Struct("<QQQI"), struct.Struct("<HIQQ")
MAX_CHUNK_HEAD = 1024  # [bytes] of a chunk before its data, with the name of the compression


@dataclass(frozen=True)
class BagMessage:
    """A serialized message. time: of its reception [ns since 1970]."""

    topic: str
    type_name: str
    time: int
    data: bytes


class Record(NamedTuple):
    """A record in a file or in a chunk. offset: of its content [bytes]."""

    kind: int
    offset: int
    size: int


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

    def text(self) -> str:
        (size,) = self.numbers("<I")
        return self.take(size).decode()

    def rest(self) -> bytes:
        return self._data[self._at :]


def has_end(path: Path) -> bool:
    """Return whether an MCAP file was written to its end.

    Raises:
        FileError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - len(MAGIC), len(MAGIC)))
            return file.read() == MAGIC
    except OSError as error:
        raise FileError.of(path, error, STAGE) from error


def check_chunks(path: Path) -> None:
    """Check that no chunk of an MCAP file declares more than MAX_CONTENT bytes, before it is decompressed.

    Raises:
        FileError: One does, or has no head; names the file, the byte and the sizes. Or the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            for record in _records(file, len(MAGIC), path.stat().st_size):
                if record.kind == CHUNK:
                    file.seek(record.offset)
                    try:
                        _chunk_head(Fields(file.read(min(record.size, MAX_CHUNK_HEAD))))
                    except ValueError as error:
                        raise _damaged(path, record.offset, str(error)) from error
    except OSError as error:
        raise FileError.of(path, error, STAGE) from error


class UnfinishedFile:
    """An MCAP file without an end. Its complete records are listed when it is opened.

    Attributes:
        size: Bytes of the file.
        complete: Bytes up to the end of the last complete record.
        count: Number of messages. last: time of the last one [ns since 1970], 0 without any.

    Raises:
        FileError: It cannot be read or is damaged before its end; names the file and the byte.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = self.complete = self.count = self.last = 0
        self._schemas: dict[int, str] = {}
        self._channels: dict[int, tuple[str, str]] = {}
        self._places: list[tuple[int, Record]] = []  # time of the first message of each chunk or single message
        try:
            with path.open("rb") as file:
                self._list(file)
        except OSError as error:
            raise FileError.of(path, error, STAGE) from error

    def _list(self, file: BinaryIO) -> None:
        self.size = file.seek(0, 2)
        file.seek(0)
        begin = file.read(len(MAGIC))
        if begin != MAGIC[: len(begin)]:
            raise _damaged(self.path, 0, "it does not begin as an MCAP file")
        self.complete = len(begin)
        for record in _records(file, self.complete, self.size):
            messages = self._take(file, record)
            if messages:
                self.count += len(messages)
                self.last = max(self.last, *(message.time for message in messages))
                self._places.append((messages[0].time, record))
            self.complete = record.offset + record.size
        file.seek(self.complete)
        if self.complete and file.read(len(MAGIC) + 1) == MAGIC:
            self.complete = self.size  # only the metadata of the bag is missing

    def _take(self, file: BinaryIO, record: Record) -> list[BagMessage]:
        """Return the messages of a chunk or message, in the order of time, and take the topics that it declares."""
        if record.kind not in (SCHEMA, CHANNEL, MESSAGE, CHUNK):
            return []
        file.seek(record.offset)
        content = file.read(record.size)
        try:
            parts = _parts(content) if record.kind == CHUNK else iter(((record.kind, content),))
            found = [message for kind, part in parts for message in self._message(kind, part)]
        except Exception as error:  # what the decompression of damaged data raises has no common class
            raise _damaged(self.path, record.offset, str(error) or type(error).__name__) from error
        return sorted(found, key=attrgetter("time"))

    def _message(self, kind: int, content: bytes) -> Iterator[BagMessage]:
        fields = Fields(content)
        if kind == SCHEMA:
            (number,) = fields.numbers("<H")
            self._schemas[number] = fields.text()
        elif kind == CHANNEL:
            number, schema = fields.numbers("<HH")
            self._channels[number] = fields.text(), self._schemas.get(schema, "")
        elif kind == MESSAGE:
            channel, _, time, _ = MESSAGE_HEAD.unpack(fields.take(MESSAGE_HEAD.size))
            if channel not in self._channels:
                raise ValueError(f"a message of topic {channel}, which is not declared")
            yield BagMessage(*self._channels[channel], time, fields.rest())

    def messages(self) -> Iterator[BagMessage]:
        """Yield the messages in the order of time; of chunks, only those that overlap are in memory.

        Raises:
            FileError: The file cannot be read any more.
        """
        try:
            with self.path.open("rb") as file:
                yield from merged([(time, self._of(file, record)) for time, record in self._places])
        except OSError as error:
            raise FileError.of(self.path, error, STAGE) from error

    def _of(self, file: BinaryIO, record: Record) -> Iterator[BagMessage]:
        yield from self._take(file, record)


def _records(file: BinaryIO, at: int, size: int) -> Iterator[Record]:
    """Yield the complete records of a file of a size from a byte on."""
    while at + HEAD.size <= size:
        file.seek(at)
        kind, length = HEAD.unpack(file.read(HEAD.size))
        if at + HEAD.size + length > size:
            return
        yield Record(kind, at + HEAD.size, length)
        at += HEAD.size + length


def _damaged(path: Path, offset: int, reason: str) -> FileError:
    return FileError(f"{path}, byte {offset}: {reason}", stage=STAGE, subjects=(str(path),))


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


def _parts(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the kinds and contents of the records in a chunk."""
    fields = Fields(content)
    size, checksum, compression, packed = _chunk_head(fields)
    inner = Fields(decompress(fields.take(packed), compression, size, checksum))
    left = size
    while left:
        kind, length = HEAD.unpack(inner.take(HEAD.size))
        yield kind, inner.take(length)
        left -= HEAD.size + length


def _chunk_head(fields: Fields) -> tuple[int, int, str, int]:
    """Return the size of the content of a chunk, its checksum, its compression, and the size of the data that follow.
    ValueError: The content of compressed data is larger than MAX_CONTENT, or the head is not complete."""
    _, _, size, checksum = CHUNK_HEAD.unpack(fields.take(CHUNK_HEAD.size))
    compression = fields.text()
    (packed,) = fields.numbers("<Q")
    if compression:
        check_content_size(packed, size)
    return size, checksum, compression, packed
