"""Motions that ended with an error, as messages: MessagePack with arrays as bytes, so that packing takes no time in the
process that streams."""

from __future__ import annotations

import array
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from std_msgs.msg import UInt8MultiArray

from ...errors import InvalidRequestError, LimitExceededError, Value
from ...model.json_values import from_json
from ...trajectory.limits import Array
from ...trajectory.tracking import FaultRecord, SupervisedMotion

TOPIC = "execution/fault"
DEPTH = 10
MAX_BYTES = 16 * 1024 * 1024  # of a message
STAGE = "motion fault"
ARRAY = 1  # code of arrays in MessagePack: number of dimensions (1 byte), of rows (4 bytes), and float64 by rows


@dataclass(frozen=True, eq=False)
class MotionFault:
    """A motion and the error that it ended with.

    cell_digest, state_digest: of the state that it was validated in; empty if it was not validated.
    """

    motion: SupervisedMotion
    error: FaultRecord
    cell_digest: str = ""
    state_digest: str = ""


def fault_to_message(fault: MotionFault) -> UInt8MultiArray:
    """Return a fault as a message.

    Raises:
        LimitExceededError: It is larger than MAX_BYTES.
    """
    data = msgspec.msgpack.encode(fault, enc_hook=_packed)
    _check_size(len(data))
    return UInt8MultiArray(data=array.array("B", data))


def fault_from_message(message: UInt8MultiArray) -> MotionFault:
    """Return the fault of a message.

    Raises:
        LimitExceededError: The message, or the record in it, is too large.
        InvalidRequestError, InvalidValueError: It is malformed.
    """
    data = bytes(message.data)
    _check_size(len(data))
    try:
        value = msgspec.msgpack.decode(data, ext_hook=_unpacked)
    except (ValueError, RecursionError) as error:
        raise InvalidRequestError(f"the message of a fault is malformed: {error}", stage=STAGE) from error
    found: MotionFault = from_json(MotionFault, value, "fault")
    return found


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        values = (Value("size", size, MAX_BYTES, "bytes"),)
        raise LimitExceededError(f"a fault has {size} bytes", stage=STAGE, values=values)


def _packed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        header = value.ndim.to_bytes(1, "little") + len(value).to_bytes(4, "little")
        return msgspec.msgpack.Ext(ARRAY, header + np.ascontiguousarray(value, "<f8").tobytes())
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a {type(value).__name__} in a fault cannot be packed")


def _unpacked(code: int, data: memoryview) -> Array:
    if code != ARRAY or len(data) < 5:
        raise ValueError(f"it contains an unknown extension {code}")
    dimensions, rows = data[0], int.from_bytes(data[1:5], "little")
    values: Array = np.frombuffer(data[5:], "<f8")
    if dimensions == 1:
        return values
    return values.reshape((rows, -1)) if rows else np.zeros((0, 0))
