"""Reader and writer of serialized sensor_msgs/JointState, several times as fast as rclpy's conversion of objects.

Source: OMG Common Data Representation, in DDSI-RTPS 2.5, chapter 10.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from sensor_msgs.msg import JointState

from ..conversions.basic import NANOSECONDS, time_from_message
from .transform_messages import HEADER, LITTLE_ENDIAN_CDR, deserialized

ENCAPSULATION = LITTLE_ENDIAN_CDR + b"\x00\x00"
MAX_NAMES_KNOWN = 100  # publishers' lists of names, of different length in bytes
MAX_SIZE_KNOWN = 100_000  # [bytes] of a message whose names are retained: some thousand joints
_STAMP = struct.Struct("<iI")
_LENGTH = struct.Struct("<I")
_AFTER_STAMP = HEADER + _STAMP.size


class JointValues(NamedTuple):
    """Contents of a message: stamp [ns]; positions, velocities and efforts, each of any length."""

    names: tuple[str, ...]
    stamp: int
    positions: Sequence[float]
    velocities: Sequence[float]
    efforts: Sequence[float]

    @classmethod
    def of(cls, message: JointState) -> JointValues:
        """Return the contents of a message object."""
        values = message.position, message.velocity, message.effort
        return cls(tuple(message.name), time_from_message(message.header.stamp), *values)


class _Names(NamedTuple):
    """The part of a message between its stamp and its positions: the frame and the names, as bytes and as text."""

    data: bytes
    names: tuple[str, ...]


class JointStateReader:
    """Reads messages, of which those of one publisher usually have the same names."""

    def __init__(self) -> None:
        self._names: dict[int, _Names] = {}  # by the length of the message

    def read(self, data: bytes) -> JointValues:
        """Return the contents of a message in CDR, or in any other encoding that rclpy reads.

        Raises:
            struct.error, UnicodeDecodeError: The message is not complete, or a name is no UTF-8.
        """
        if data[:2] != LITTLE_ENDIAN_CDR:
            return JointValues.of(deserialized(data, JointState))
        sec, nanosec = _STAMP.unpack_from(data, HEADER)
        known = self._names.get(len(data))
        if known is None or not data.startswith(known.data, _AFTER_STAMP):
            known = _read_names(data)
            has_room = len(self._names) < MAX_NAMES_KNOWN or len(data) in self._names
            if has_room and len(data) <= MAX_SIZE_KNOWN:
                self._names[len(data)] = known
        at = _AFTER_STAMP + len(known.data)
        values = []
        for _ in range(3):
            row, at = _read_doubles(data, at)
            values.append(row)
        return JointValues(known.names, sec * NANOSECONDS + nanosec, *values)


def _aligned(at: int, size: int) -> int:
    """Return the next place for a value of a size [bytes]; alignment is relative to the end of the header."""
    return at + -(at - HEADER) % size


def _read_text(data: bytes, at: int) -> tuple[str, int]:
    at = _aligned(at, 4)
    (length,) = _LENGTH.unpack_from(data, at)
    at += 4
    if at + length > len(data):
        raise struct.error("a text is longer than its message")
    return data[at : at + max(length - 1, 0)].decode(), at + length


def _read_names(data: bytes) -> _Names:
    _, at = _read_text(data, _AFTER_STAMP)  # the frame
    at = _aligned(at, 4)
    (count,) = _LENGTH.unpack_from(data, at)
    at += 4
    names = []
    for _ in range(count):
        name, at = _read_text(data, at)
        names.append(name)
    return _Names(data[_AFTER_STAMP:at], tuple(names))


def _read_doubles(data: bytes, at: int) -> tuple[tuple[float, ...], int]:
    at = _aligned(at, 4)
    (count,) = _LENGTH.unpack_from(data, at)
    at += 4
    if not count:
        return (), at
    at = _aligned(at, 8)
    if at + 8 * count > len(data):
        raise struct.error("a list is longer than its message")
    return struct.unpack_from(f"<{count}d", data, at), at + 8 * count


class JointStateWriter:
    """Writes messages without a frame, most of them with the same names as the one before."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._start = self._end = b""  # bytes before and after the stamp
        self._set_names(())

    def _set_names(self, names: tuple[str, ...]) -> None:
        self._names = names
        part = bytearray(b"\x01\x00\x00\x00\x00")  # an empty frame
        part += bytes(-len(part) % 4) + _LENGTH.pack(len(names))
        for name in names:
            text = name.encode() + b"\x00"
            part += bytes(-len(part) % 4) + _LENGTH.pack(len(text)) + text
        self._end = bytes(part + bytes(-len(part) % 4))

    def write(
        self,
        names: tuple[str, ...],
        stamp: int,
        positions: Sequence[float],
        velocities: Sequence[float] = (),
        efforts: Sequence[float] = (),
    ) -> bytes:
        """Return a message in CDR; stamp [ns]."""
        if names is not self._names and names != self._names:
            self._set_names(names)
        sec, nanosec = divmod(stamp, NANOSECONDS)
        data = bytearray(ENCAPSULATION + _STAMP.pack(sec, nanosec) + self._end)
        for row in (positions, velocities, efforts):
            data += _LENGTH.pack(len(row))
            if len(row):
                data += bytes(-(len(data) - HEADER) % 8) + struct.pack(f"<{len(row)}d", *row)
        return bytes(data)
