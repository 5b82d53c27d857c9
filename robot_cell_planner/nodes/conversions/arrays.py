"""Conversions of arrays: poses, velocities, twists, wrenches, and configurations of some joints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from geometry_msgs.msg import Pose, Twist, Vector3, WrenchStamped
from numpy.typing import NDArray

from robot_cell_planner.msg import Configuration

from ...errors import InvalidRequestError, UnknownNameError
from ...kinematics._kernels import chain_kernels
from ...kinematics.model import cell_model
from ...model.cell import RobotCell
from ...model.name_suggestions import unknown_name
from ...model.state import RobotCellState
from ...model.value import WORLD
from .basic import check_count, configuration_from_message, position_from_message, vector_to_message

Rows = NDArray[np.float64]
AXES_OF_TWIST = 6
MIN_SCALE, MAX_SCALE = 1e-12, 1e12  # [m] of a unit of length


def rates_from_message(message: Configuration, columns: Sequence[str], field: str) -> Rows | None:
    """Return rates (n,) of the joints `columns`, zero for omitted ones; None for an empty message.

    Raises:
        InvalidRequestError: The message is malformed.
        UnknownNameError: It contains another joint.
    """
    values = configuration_from_message(message, field)
    for name in values:
        if name not in columns:
            raise UnknownNameError(unknown_name(f"joint {name!r} of {field}", name, columns), subjects=(field, name))
    return np.array([values.get(name, 0.0) for name in columns]) if values else None


def table_from_message(values: Sequence[float], columns: Sequence[str], field: str, limit: int) -> Rows | None:
    """Return a block of numbers as rows (k, n); None for an empty block.

    Raises:
        InvalidRequestError: The size of the block is not a multiple of n, or a number is not finite.
        LimitExceededError: There are more than `limit` rows.
    """
    block = np.asarray(values, dtype=np.float64)
    if not block.size:
        return None
    if not columns or block.size % len(columns):
        text = f"{field} has {block.size} numbers, expected a multiple of {len(columns)} joints"
        raise InvalidRequestError(text, subjects=(field,))
    rows = block.reshape(-1, len(columns))
    check_count(len(rows), limit, field, "rows")
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        row, column = (int(index) for index in bad[0])
        text = f"{field}[{row}]: joint {columns[column]} is {rows[row, column]}, expected a finite number"
        raise InvalidRequestError(text, subjects=(field, columns[column]))
    return rows


def spread_over(rows: Rows, names: Sequence[str], variables: Sequence[str], default: Rows) -> Rows:
    """Return rows (k, n) of all `variables` from rows of some of them; others are those of `default` (n,).

    Raises:
        UnknownNameError: A name is not among the variables.
    """
    result = np.tile(default, (len(rows), 1))
    for column, name in enumerate(names):
        if name not in variables:
            raise UnknownNameError(unknown_name(f"joint {name!r}", name, variables), subjects=(name,))
        result[:, list(variables).index(name)] = rows[:, column]
    return result


def batches(
    cell: RobotCell, state: RobotCellState, names: tuple[str, ...], rows: Rows, columns: tuple[str, ...]
) -> Iterator[tuple[RobotCellState, Rows | None]]:
    """Configurations (k, len(names)) as states, each with rows (m, n) of the joints `columns`, in their order.

    One state with all rows where they name only such joints, else a state for each; without names the state itself.

    Raises:
        UnknownNameError: A name is not a joint of the cell.
    """
    model = cell_model(cell, state)
    model.indices(names)
    if not names:
        yield state, None
    elif set(names) <= set(columns):
        yield state, spread_over(rows, names, columns, model.values(state, columns))
    else:
        for full in spread_over(rows, names, model.variables, model.configuration(state)):
            yield model.with_configuration(state, full), None


def check_scale(native_scale: float) -> None:
    """Check a unit of length.

    Raises:
        InvalidRequestError: The scale is not between MIN_SCALE and MAX_SCALE [m].
    """
    if not MIN_SCALE <= native_scale <= MAX_SCALE:
        text = f"native_scale is {native_scale:g} m, expected {MIN_SCALE:g} to {MAX_SCALE:g}"
        raise InvalidRequestError(text, subjects=("native_scale",))


def poses_to_messages(transforms: Rows, native_scale: float) -> list[Pose]:
    """Return the messages of transforms (k, 4, 4), with positions in units of `native_scale` [m].

    Raises:
        InvalidRequestError: The scale is not a finite number above zero.
    """
    check_scale(native_scale)
    numbers = chain_kernels.positions_and_quaternions(np.ascontiguousarray(transforms))
    numbers[:, :3] /= native_scale
    messages = []
    for row in numbers.tolist():
        message = Pose()
        position, orientation = message.position, message.orientation
        position.x, position.y, position.z, orientation.x, orientation.y, orientation.z, orientation.w = row
        messages.append(message)
    return messages


def twist_to_message(twist: Rows) -> Twist:
    """Return the message of a twist (6,), linear first."""
    return Twist(linear=vector_to_message(twist[:3]), angular=vector_to_message(twist[3:]))


def twist_from_message(message: Twist, field: str) -> Rows:
    """Return the twist (6,), linear first.

    Raises:
        InvalidRequestError: A number is not finite.
    """
    return _six(message.linear, message.angular, field)


def wrenches_from_message(messages: Sequence[WrenchStamped], field: str) -> dict[str, Rows]:
    """Return wrenches (6,) by frame, force first; those at the same frame are summed.

    Raises:
        InvalidRequestError: A number is not finite, or a wrench names no frame.
    """
    wrenches: dict[str, Rows] = {}
    for index, message in enumerate(messages):
        frame = message.header.frame_id
        if not frame or frame == WORLD:
            text = f"{field}[{index}] has frame_id {frame!r}, expected a link, tool or body"
            raise InvalidRequestError(text, subjects=(field,))
        wrench = _six(message.wrench.force, message.wrench.torque, f"{field}[{index}]")
        wrenches[frame] = wrenches.get(frame, np.zeros(AXES_OF_TWIST)) + wrench
    return wrenches


def _six(first: Vector3, second: Vector3, field: str) -> Rows:
    numbers = np.array((*position_from_message(first), *position_from_message(second)))
    if not np.isfinite(numbers).all():
        raise InvalidRequestError(f"{field} contains a non-finite number: {numbers.tolist()}", subjects=(field,))
    return numbers
