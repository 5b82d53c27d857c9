"""Reader of serialized tf2_msgs/TFMessage, ten times as fast as rclpy's conversion to message objects."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from rclpy.serialization import deserialize_message
from tf2_msgs.msg import TFMessage

from ...model.pose import Quaternion
from ...model.value import Vector3
from ..conversions.basic import NANOSECONDS, time_from_message

M = TypeVar("M")
HEADER = 4  # [bytes] of the encapsulation header; alignment is relative to its end
LITTLE_ENDIAN_CDR = b"\x00\x01"
_TIME_AND_LENGTH = struct.Struct("<iII")
_LENGTH = struct.Struct("<I")
_TRANSFORM = struct.Struct("<7d")


def deserialized(data: bytes, kind: type[M]) -> M:
    """Return a message of any encoding that the middleware reads.

    Raises:
        struct.error: It cannot be read.
    """
    try:
        message: M = deserialize_message(data, kind)
    except RuntimeError as error:  # an RMWError, which has no public name
        raise struct.error(str(error)) from error
    return message


class ReceivedTransform(NamedTuple):
    """A transform parent_T_child at a stamp [ns], with the quaternion (x, y, z, w) as it was sent."""

    parent: str
    child: str
    stamp: int
    translation: Vector3
    quaternion: Quaternion


def transforms_of(serialized: bytes) -> Iterator[ReceivedTransform]:
    """Return the transforms of a message in CDR, or in any other encoding that rclpy reads.

    Source: OMG Common Data Representation, in DDSI-RTPS 2.5, chapter 10.

    Raises:
        struct.error, UnicodeDecodeError: The message is not complete, or a name is no UTF-8; also of the iterator.
    """
    if serialized[:2] == LITTLE_ENDIAN_CDR:
        return _from_cdr(serialized)
    return _from_objects(deserialized(serialized, TFMessage))


def _from_cdr(data: bytes) -> Iterator[ReceivedTransform]:
    (count,) = _LENGTH.unpack_from(data, HEADER)
    at = HEADER + 4
    for _ in range(count):
        at += -at % 4
        sec, nanosec, length = _TIME_AND_LENGTH.unpack_from(data, at)
        at += _TIME_AND_LENGTH.size
        parent = data[at : at + length - 1].decode()
        at += length + -(at + length) % 4
        (length,) = _LENGTH.unpack_from(data, at)
        at += 4
        child = data[at : at + length - 1].decode()
        at += length
        at += -(at - HEADER) % 8
        x, y, z, qx, qy, qz, qw = _TRANSFORM.unpack_from(data, at)
        at += _TRANSFORM.size
        yield ReceivedTransform(parent, child, sec * NANOSECONDS + nanosec, (x, y, z), (qx, qy, qz, qw))


def _from_objects(message: TFMessage) -> Iterator[ReceivedTransform]:
    for entry in message.transforms:
        moved, turned = entry.transform.translation, entry.transform.rotation
        stamp = time_from_message(entry.header.stamp)
        translation, quaternion = (moved.x, moved.y, moved.z), (turned.x, turned.y, turned.z, turned.w)
        yield ReceivedTransform(entry.header.frame_id, entry.child_frame_id, stamp, translation, quaternion)
