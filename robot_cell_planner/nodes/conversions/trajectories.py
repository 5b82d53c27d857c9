"""Conversions of trajectories and of what their validation found."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_cell_planner.msg import LimitViolation, TrajectoryReport

from ...errors import (
    InvalidRequestError,
    LimitExceededError,
    RobotCellError,
    TrajectoryError,
    TrajectoryInCollisionError,
    TrajectoryLimitError,
    TrajectoryStartError,
    Value,
)
from ...model.units import ANY_JOINT, unit_of_derivative
from ...trajectory.trajectory import MAX_NUMBER, MAX_SAMPLES, Trajectory
from ...trajectory.validation import DERIVATIVES, Quantity, rank_of
from .basic import (
    LAST_SECOND,
    check_count,
    duration_from_message,
    durations_to_messages,
    seconds_and_nanoseconds,
    time_to_message,
)
from .filled_messages import filled
from .point_blocks import KINDS, Block, PointBlocks

MAX_POINTS = 100_000
ADDED_POINTS = 1  # samples that the execution node adds before those of a goal
REMEDY_OF_NO_POINTS = (
    "A plan has a trajectory only if its request has a timing: set `timing.method`, for example to SMOOTH, or time the "
    "path by `planning/time_parameterize`; `execution/move` plans, times and executes."
)
ROWS_AT_ONCE = 2000  # a conversion of all rows at once blocks other threads, such as that of commands, for 0.1 s
QUANTITIES = {quantity: getattr(LimitViolation, quantity.name) for quantity in Quantity}  # constants of the message
NAMES = {number: quantity.value for quantity, number in QUANTITIES.items()}
RANKS = {number: rank_of(quantity) for quantity, number in QUANTITIES.items()}

Rows = NDArray[np.float64]


def trajectory_from_message(message: JointTrajectory, field: str, limit: int = MAX_POINTS) -> Trajectory:
    """The trajectory, with its times as they are.

    Raises:
        InvalidRequestError: No points, lists of a wrong length, velocities or accelerations at some points only,
            numbers that are not finite, times that do not increase; the message names the point and the joint.
        LimitExceededError: More points than `limit`.
    """
    points = message.points
    if not points:
        raise InvalidRequestError(
            f"{field} has no points", stage="trajectory", subjects=(field,), remedy=REMEDY_OF_NO_POINTS
        )
    check_count(len(points), limit, field, "points")
    names = tuple(message.joint_names)
    positions = rows_from_points(message, "positions", field)
    if positions is None:
        raise InvalidRequestError(f"the points of {field} have no positions", stage="trajectory", subjects=(field,))
    times = _times(points)
    velocities = rows_from_points(message, "velocities", field)
    accelerations = rows_from_points(message, "accelerations", field)
    return Trajectory(names, times, positions, velocities, accelerations)


def checked_trajectory_from_message(message: JointTrajectory, field: str) -> Trajectory:
    """The trajectory of a goal of up to MAX_POINTS, with the sample that the execution node adds before validation;
    errors as from `trajectory_from_message`."""
    return trajectory_from_message(message, field, MAX_POINTS + ADDED_POINTS)


def trajectories_from_messages(messages: Sequence[JointTrajectory], field: str) -> tuple[Trajectory, ...]:
    """The trajectories of a list; errors as from `trajectory_from_message`."""
    return tuple(trajectory_from_message(entry, f"{field}[{index}]") for index, entry in enumerate(messages))


def rows_from_points(message: JointTrajectory, kind: str, field: str) -> Rows | None:
    """One kind of numbers ("positions", "velocities", "accelerations" or "effort") of all points (n, dof), or None.

    Raises:
        InvalidRequestError: A point has another count than there are joints, or only some points have any.
    """
    if isinstance(message.points, PointBlocks):
        values = _rows_of_blocks(message.points, kind, len(message.joint_names), field)
        return None if values is None else _checked_rows(values, message, kind, field)
    rows = [getattr(point, kind) for point in message.points]
    if not any(rows):
        return None
    expected = len(message.joint_names)
    for index, row in enumerate(rows):
        if len(row) != expected:
            raise _wrong_count(index, len(row), kind, expected, field)
    parts = [rows[at : at + ROWS_AT_ONCE] for at in range(0, len(rows), ROWS_AT_ONCE)]
    values = np.concatenate([np.array(part, dtype=np.float64) for part in parts])
    return _checked_rows(values, message, kind, field)


def _times(points: Sequence[JointTrajectoryPoint]) -> Rows:
    """Return the times of points [s]."""
    if isinstance(points, PointBlocks):
        return points.times
    return np.array([duration_from_message(point.time_from_start) for point in points])


def _rows_of_blocks(points: PointBlocks, kind: str, expected: int, field: str) -> Rows | None:
    """As `rows_from_points`, without a check of the numbers."""
    if not points.is_complete:
        numbers = (Value("points", len(points), MAX_SAMPLES),)
        text = f"{field} has {len(points)} points, which are more than a request can have"
        raise LimitExceededError(text, stage="trajectory", subjects=(field,), values=numbers)
    block = points.blocks[kind]
    if not block.sizes.any():
        return None
    wrong = np.flatnonzero(block.sizes != expected)
    if len(wrong):
        raise _wrong_count(int(wrong[0]), int(block.sizes[wrong[0]]), kind, expected, field)
    return block.values.reshape(len(points), expected)


def _wrong_count(index: int, count: int, kind: str, expected: int, field: str) -> InvalidRequestError:
    text = f"point {index} of {field} has {count} {kind}, expected {expected}"
    return InvalidRequestError(text, stage="trajectory", subjects=(field,))


def _checked_rows(values: Rows, message: JointTrajectory, kind: str, field: str) -> Rows:
    """Return rows; raise InvalidRequestError if a number is not finite, or so large that those between are not."""
    bad = np.argwhere(~(np.abs(values) <= MAX_NUMBER))  # true for NaN
    if len(bad):
        row, column = (int(index) for index in bad[0])
        joint, value = message.joint_names[column], values[row, column]
        expected = f"a number within {MAX_NUMBER:g}" if np.isfinite(value) else "a finite number"
        text = f"{kind} of joint {joint} at point {row} of {field} is {value}, expected {expected}"
        raise InvalidRequestError(text, stage="trajectory", subjects=(field, joint))
    return values


def trajectory_to_message(trajectory: Trajectory, stamp: int = 0) -> JointTrajectory:
    """The message; stamp [ns] is when it is to begin, 0 for at once."""
    message = JointTrajectory(joint_names=list(trajectory.variables))
    message.header.stamp = time_to_message(stamp)
    times = durations_to_messages(trajectory.times)
    kinds = (_arrays(values, len(times)) for values in (trajectory.positions, trajectory.velocities))
    rows = zip(times, *kinds, _arrays(trajectory.accelerations, len(times)), strict=True)
    message.points = [
        filled(
            JointTrajectoryPoint,
            positions=positions,
            velocities=velocities,
            accelerations=accelerations,
            effort=(),
            time_from_start=time,
        )
        for time, positions, velocities, accelerations in rows
    ]
    return message


def long_trajectory_to_message(trajectory: Trajectory) -> JointTrajectory:
    """The message of a trajectory that begins at once, with its points as `PointBlocks`, for requests of services
    (`unlocked_requests.call_async`)."""
    if not (np.abs(trajectory.times) < LAST_SECOND).all():
        return trajectory_to_message(trajectory)
    count = len(trajectory)
    kinds = (trajectory.positions, trajectory.velocities, trajectory.accelerations, None)
    blocks = {kind: Block.of_rows(rows, count) for kind, rows in zip(KINDS, kinds, strict=True)}
    seconds, nanoseconds = seconds_and_nanoseconds(trajectory.times)
    points = PointBlocks(seconds.astype(np.int32), nanoseconds.astype(np.uint32), blocks)
    return filled(JointTrajectory, header=Header(), joint_names=list(trajectory.variables), points=points)


def _arrays(rows: Rows | None, count: int) -> list[array[float]]:
    """Return rows (count, n) as arrays, empty ones for None. A list of numbers takes three times as long."""
    if rows is None:
        return [array("d") for _ in range(count)]
    data, size = np.ascontiguousarray(rows, dtype=np.float64).tobytes(), 8 * rows.shape[1]
    return [array("d", data[size * index : size * (index + 1)]) for index in range(count)]


def error_of_report(report: TrajectoryReport) -> RobotCellError | None:
    """Return the violation that explains others, or the first collision, as an error; None if the trajectory is
    valid."""
    if report.valid:
        return None
    if report.violations:
        return _violation_error(min(report.violations, key=lambda violation: RANKS.get(violation.quantity, len(RANKS))))
    if not report.collisions:
        return TrajectoryError("the trajectory is not valid", stage="validate trajectory")
    found = report.collisions[0]
    time = duration_from_message(found.time)
    return TrajectoryInCollisionError(
        f"{found.pair.name_a} and {found.pair.name_b} collide at {time:.3f} s",
        stage="validate trajectory",
        subjects=(found.pair.name_a, found.pair.name_b),
        values=(Value("time", time, unit="s"),),
    )


def unit_of_violation(found: LimitViolation) -> str:
    """Return the unit of the value and limit of a violation; "" if it is not known."""
    if found.unit:
        return str(found.unit)
    order = next((order for known, order in DERIVATIVES.items() if QUANTITIES[known] == found.quantity), -1)
    return unit_of_derivative(ANY_JOINT, order) if order >= 0 else ""


def _violation_error(found: LimitViolation) -> RobotCellError:
    quantity = NAMES.get(found.quantity, f"quantity {found.quantity}")
    kind = TrajectoryStartError if found.quantity == LimitViolation.START else TrajectoryLimitError
    of = f" of {found.joint}" if found.joint else ""
    return kind(
        f"{quantity}{of} at point {found.point} ({duration_from_message(found.time):.3f} s) is out of bounds",
        stage="validate trajectory",
        subjects=(found.joint,) if found.joint else (),
        values=(Value(quantity, found.value, found.limit, unit_of_violation(found)),),
    )
