"""Conversions of poses, times, joint values and errors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from builtin_interfaces.msg import Duration, Time
from frozendict import frozendict
from geometry_msgs.msg import Point as PointMessage
from geometry_msgs.msg import Pose as PoseMessage
from geometry_msgs.msg import Transform as TransformMessage
from geometry_msgs.msg import Vector3 as Vector3Message
from numpy.typing import NDArray

from robot_cell_planner.msg import Configuration, ErrorReport, ErrorValue, JointPath

from ...errors import ERRORS_BY_CODE, InternalError, InvalidRequestError, LimitExceededError, RobotCellError, Value
from ...model.pose import Pose
from ...model.value import MAX_JOINT_VALUE, Vector3
from .filled_messages import filled

NANOSECONDS = 1_000_000_000
LAST_SECOND = 2**31 - 1  # of builtin_interfaces/Time and Duration
MAX_SECONDS = float(2**31)
MAX_TIMEOUT = 86_400.0  # [s] maximum of timeouts and time limits


def pose_to_message(pose: Pose) -> PoseMessage:
    message = PoseMessage()
    position, orientation = message.position, message.orientation
    position.x, position.y, position.z = pose.position
    orientation.x, orientation.y, orientation.z, orientation.w = pose.quaternion
    return message


def pose_from_message(message: PoseMessage, field: str) -> Pose:
    """The pose.

    Raises:
        InvalidRequestError: Numbers that are not finite, or a quaternion that is not a rotation; names the field.
    """
    try:
        return Pose(position_from_message(message.position), quaternion_from_message(message))
    except ValueError as error:
        raise InvalidRequestError(f"{field}: {error}", subjects=(field,)) from error


def position_from_message(message: PointMessage | Vector3Message) -> Vector3:
    return message.x, message.y, message.z


def quaternion_from_message(message: PoseMessage) -> tuple[float, float, float, float]:
    turn = message.orientation
    return turn.x, turn.y, turn.z, turn.w


def point_to_message(values: Sequence[float] | NDArray[np.float64]) -> PointMessage:
    return PointMessage(x=float(values[0]), y=float(values[1]), z=float(values[2]))


def vector_to_message(values: Sequence[float] | NDArray[np.float64]) -> Vector3Message:
    return Vector3Message(x=float(values[0]), y=float(values[1]), z=float(values[2]))


def transform_to_message(pose: Pose) -> TransformMessage:
    message = TransformMessage()
    translation, rotation = message.translation, message.rotation
    translation.x, translation.y, translation.z = pose.position
    rotation.x, rotation.y, rotation.z, rotation.w = pose.quaternion
    return message


def time_to_message(nanoseconds: int) -> Time:
    """Return the time, clipped to the range of the message (68 years before and after 1970)."""
    return Time(**_parts(int(nanoseconds)))


def time_from_message(message: Time) -> int:
    """Nanoseconds since the epoch."""
    return int(message.sec) * NANOSECONDS + int(message.nanosec)


def duration_to_message(seconds: float) -> Duration:
    """Return the duration, clipped to the range of the message (68 years).

    Raises:
        LimitExceededError: It is NaN.
    """
    seconds = float(seconds)
    if math.isnan(seconds):
        raise LimitExceededError("a duration is NaN: numbers of the request are too large")
    seconds = min(max(seconds, -MAX_SECONDS), MAX_SECONDS)
    whole = math.floor(seconds)
    return Duration(**_parts(whole * NANOSECONDS + round((seconds - whole) * NANOSECONDS)))


def durations_to_messages(seconds: NDArray[np.float64]) -> list[Duration]:
    """Return the durations of an array (n,), as `duration_to_message` does; errors as well."""
    if not (np.abs(seconds) < LAST_SECOND).all():
        return [duration_to_message(value) for value in seconds.tolist()]
    parts = zip(*(part.tolist() for part in seconds_and_nanoseconds(seconds)), strict=True)
    return [filled(Duration, sec=sec, nanosec=nanosec) for sec, nanosec in parts]


def seconds_and_nanoseconds(seconds: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return whole seconds and nanoseconds of durations (n,), each below LAST_SECOND."""
    whole = np.floor(seconds)
    nanoseconds = whole.astype(np.int64) * NANOSECONDS + np.rint((seconds - whole) * NANOSECONDS).astype(np.int64)
    return np.divmod(nanoseconds, NANOSECONDS)


def _parts(nanoseconds: int) -> dict[str, int]:
    seconds, rest = divmod(nanoseconds, NANOSECONDS)
    if seconds > LAST_SECOND:
        return {"sec": LAST_SECOND, "nanosec": NANOSECONDS - 1}
    return {"sec": seconds, "nanosec": rest} if seconds >= -LAST_SECOND else {"sec": -LAST_SECOND, "nanosec": 0}


def duration_from_message(message: Duration) -> float:
    """Seconds."""
    return float(message.sec) + float(message.nanosec) / NANOSECONDS


def timeout_from_message(message: Duration, field: str) -> float:
    """Return a timeout or time limit of a request [s]; 0 for the default.

    Raises:
        InvalidRequestError: It is negative, or longer than MAX_TIMEOUT.
    """
    seconds = duration_from_message(message)
    if not 0.0 <= seconds <= MAX_TIMEOUT:
        numbers = (Value(field, seconds, MAX_TIMEOUT, "s"),)
        text = f"{field} is {seconds:g} s, expected 0 to {MAX_TIMEOUT:g} s"
        raise InvalidRequestError(text, subjects=(field,), values=numbers)
    return seconds


def configuration_to_message(values: Mapping[str, float]) -> Configuration:
    return Configuration(joint_names=list(values), positions=[float(value) for value in values.values()])


def configuration_from_message(
    message: Configuration, field: str, *, nan_allowed: bool = False
) -> frozendict[str, float]:
    """Values by joint name.

    Raises:
        InvalidRequestError: Lists of different lengths, a joint named twice, a number that is not finite or is
            beyond MAX_JOINT_VALUE.
    """
    names, positions = list(message.joint_names), list(message.positions)
    if len(names) != len(positions):
        text = f"{field} has {len(names)} joint names and {len(positions)} positions"
        raise InvalidRequestError(text, subjects=(field,))
    values = dict(zip(names, positions, strict=True))
    if len(values) != len(names):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        raise InvalidRequestError(f"{field} lists {', '.join(twice[:5])} more than once", subjects=(field, *twice))
    for name, value in values.items():
        if not (abs(value) <= MAX_JOINT_VALUE or (nan_allowed and math.isnan(value))):
            text = f"{field}: joint {name} is {value}, expected {_joint_value(value)}"
            raise InvalidRequestError(text, subjects=(field, name))
    return frozendict(values)


def check_count(count: int, limit: int, field: str, entries: str) -> None:
    """Check the number of entries of a field. entries: their name in the error.

    Raises:
        LimitExceededError: There are more than `limit`.
    """
    if count > limit:
        numbers = (Value(entries, count, limit),)
        raise LimitExceededError(f"{field} has {count} {entries}", subjects=(field,), values=numbers)


def _joint_value(value: float) -> str:
    return f"at most {MAX_JOINT_VALUE:g}" if math.isfinite(value) else "a finite number"


def path_to_message(names: Sequence[str], rows: NDArray[np.float64]) -> JointPath:
    return JointPath(joint_names=list(names), positions=np.asarray(rows, dtype=np.float64).ravel().tolist())


def path_from_message(message: JointPath, field: str, limit: int) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Joint names (dof,) and configurations (n, dof).

    Raises:
        InvalidRequestError: A block of the wrong size, names twice, numbers that are not finite.
        LimitExceededError: More configurations than `limit`.
    """
    names = tuple(message.joint_names)
    values = np.asarray(message.positions, dtype=np.float64)
    if len(set(names)) != len(names):
        raise InvalidRequestError(f"{field} lists a joint twice", subjects=(field,))
    if not names:
        if values.size:
            raise InvalidRequestError(f"{field} has {values.size} numbers but no joint names", subjects=(field,))
        return (), np.empty((0, 0))
    if values.size % len(names):
        text = f"{field} has {values.size} numbers, expected a multiple of {len(names)} joints"
        raise InvalidRequestError(text, subjects=(field,))
    rows = values.reshape(-1, len(names))
    check_count(len(rows), limit, field, "configurations")
    bad = np.argwhere(~(np.abs(rows) <= MAX_JOINT_VALUE))
    if len(bad):
        row, column = (int(index) for index in bad[0])
        value = float(rows[row, column])
        text = f"{field}[{row}]: joint {names[column]} is {value}, expected {_joint_value(value)}"
        raise InvalidRequestError(text, subjects=(field, names[column]))
    return names, rows


def error_to_message(error: RobotCellError) -> ErrorReport:
    values = [
        ErrorValue(
            name=value.name,
            value=float(value.value),
            limit=math.nan if value.limit is None else float(value.limit),
            unit=value.unit,
        )
        for value in error.values
    ]
    return ErrorReport(
        code=error.code,
        name=error.name,
        stage=error.stage,
        message=error.message,
        subjects=[str(subject) for subject in error.subjects],
        values=values,
        remedy=error.remedy,
    )


def error_from_message(message: ErrorReport) -> RobotCellError | None:
    """Return the error of a report; None without one."""
    if message.code == ErrorReport.NONE:
        return None
    kind = ERRORS_BY_CODE.get(message.code, InternalError)
    values = tuple(
        Value(value.name, value.value, None if math.isnan(value.limit) else value.limit, value.unit)
        for value in message.values
    )
    remedy = "" if message.remedy == kind.remedy else message.remedy
    return kind(message.message, stage=message.stage, subjects=tuple(message.subjects), values=values, remedy=remedy)


def unexpected(error: Exception, stage: str) -> RobotCellError:
    """Convert another exception to a RobotCellError: an internal error, except for overflows, which very large numbers
    of a request cause."""
    if isinstance(error, OverflowError | FloatingPointError):
        text = f"numbers of the request are too large: {error}"
        return LimitExceededError(text, stage=stage)
    return InternalError(f"{type(error).__name__}: {error}", stage=stage)


def names_from_message(names: Iterable[str], field: str) -> tuple[str, ...]:
    """The names.

    Raises:
        InvalidRequestError: One of them is listed twice.
    """
    result = tuple(names)
    if len(set(result)) != len(result):
        raise InvalidRequestError(f"{field} lists a name twice", subjects=(field,))
    return result
