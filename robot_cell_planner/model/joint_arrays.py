"""Checks of arrays of joint values and lists of joint names, shared by kinematics, collision checking and planning."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRequestError, JointLimitError, Value
from .json_values import array_problem
from .mechanism import Variable
from .value import MAX_JOINT_VALUE

Array = NDArray[np.float64]


def check_distinct(joints: Collection[str], stage: str = "") -> None:
    """Refuse a list that contains a joint twice.

    Raises:
        InvalidRequestError: A joint is listed twice.
    """
    if len(set(joints)) != len(joints):
        raise InvalidRequestError(f"a joint is listed twice: {', '.join(joints)}", stage=stage, subjects=tuple(joints))


def checked_configurations(
    configurations: object,
    joints: tuple[str, ...],
    *,
    max_value: float = MAX_JOINT_VALUE,
    stage: str = "",
    what: str = "configurations",
    row: str = "configuration",
) -> Array:
    """Return configurations (k, n) as a C-contiguous, writable copy, n being the number of joints.

    Args:
        configurations: Values [rad or m] or their derivatives.
        joints: Names of the columns.
        max_value: Largest absolute value.
        stage: Stage of the errors; "": that of the error class.
        what: Name of the array in errors.
        row: Name of a row in errors.

    Raises:
        InvalidRequestError: The array has the wrong shape, or a number is not finite or exceeds `max_value`.
    """
    try:
        rows = np.array(configurations, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InvalidRequestError(f"{what}: not an array of numbers: {array_problem(error)}", stage=stage) from error
    if rows.ndim != 2 or rows.shape[1] != len(joints):
        text = f"{what}: the shape is {rows.shape}, expected (k, {len(joints)})"
        raise InvalidRequestError(text, stage=stage, subjects=joints)
    if not (np.abs(rows) <= max_value).all():  # also refuses NaN
        index, column = (int(value) for value in np.argwhere(~(np.abs(rows) <= max_value))[0])
        found = f"{row} {index}: joint {joints[column]} is {rows[index, column]:g}"
        text = f"{found}, expected a finite number of at most {max_value:g} in magnitude"
        raise InvalidRequestError(text, stage=stage, subjects=(joints[column],))
    return rows


def require_limits(variables: Sequence[Variable], configurations: Array) -> None:
    """Refuse configurations (k, n) with a value beyond the position limits of its joint.

    Raises:
        JointLimitError: A value is beyond a limit; `values` gives the first joint.
    """
    lower = np.array([variable.limits.lower for variable in variables])
    upper = np.array([variable.limits.upper for variable in variables])
    beyond = np.argwhere((configurations < lower) | (configurations > upper))
    if len(beyond):
        row, column = (int(index) for index in beyond[0])
        variable, value = variables[column], float(configurations[row, column])
        limit = variable.limits.lower if value < variable.limits.lower else variable.limits.upper
        text = f"configuration {row}: joint {variable.name} is beyond its limit"
        found = Value(variable.name, value, limit, variable.unit)
        raise JointLimitError(text, subjects=(variable.name,), values=(found,))
