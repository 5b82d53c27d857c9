"""Conversions of path constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robot_cell_planner import msg

from ...errors import InvalidRequestError, RobotCellError
from ...planning.problem.constraints import (
    COMBINATION_TOLERANCE,
    FRAME_TOLERANCE,
    FrameConstraint,
    FrameRule,
    JointCombination,
    PathConstraint,
)
from .basic import configuration_from_message, pose_from_message, position_from_message
from .targets import MODES

RULES = {
    msg.PathConstraint.AXIS_IN_CONE: FrameRule.AXIS_IN_CONE,
    msg.PathConstraint.ORIENTATION: FrameRule.ORIENTATION,
    msg.PathConstraint.POSITION_IN_BOX: FrameRule.POSITION_IN_BOX,
    msg.PathConstraint.POSITION_ON_PLANE: FrameRule.POSITION_ON_PLANE,
    msg.PathConstraint.POSITION_ON_LINE: FrameRule.POSITION_ON_LINE,
}
WITH_AXIS = (FrameRule.AXIS_IN_CONE, FrameRule.POSITION_ON_PLANE, FrameRule.POSITION_ON_LINE)


def constraints_from_message(messages: Sequence[msg.PathConstraint], field: str) -> tuple[PathConstraint, ...]:
    """Return the constraints of a path.

    Raises:
        InvalidRequestError: An unknown type or mode, malformed numbers; names the field and the index.
    """
    return tuple(_constraint(message, f"{field}[{index}]") for index, message in enumerate(messages))


def _constraint(message: msg.PathConstraint, field: str) -> PathConstraint:
    try:
        if message.type == msg.PathConstraint.JOINT_COMBINATION:
            coefficients = configuration_from_message(message.coefficients, f"{field}.coefficients")
            return JointCombination(coefficients, message.tolerance or COMBINATION_TOLERANCE)
        if message.type not in RULES:
            raise InvalidRequestError(f"unknown type {message.type}, expected 0 to 5", subjects=(field,))
        return _frame_constraint(message, RULES[message.type], field)
    except RobotCellError as error:
        if error.message.startswith(field):
            raise
        raise error.changed(f"{field}: {error.message}", subjects=(field, *error.subjects)) from error


def _frame_constraint(message: msg.PathConstraint, rule: FrameRule, field: str) -> FrameConstraint:
    if message.mode not in MODES:
        raise InvalidRequestError(f"unknown mode {message.mode}, expected 0 to 3", subjects=(field,))
    given: dict[str, Any] = {}
    if rule in WITH_AXIS:
        given["axis"] = position_from_message(message.axis)
    if rule is FrameRule.POSITION_IN_BOX:
        given["extent"] = position_from_message(message.extent)
    if rule is not FrameRule.AXIS_IN_CONE:
        given["pose"] = pose_from_message(message.pose, f"{field}.pose")
    return FrameConstraint(
        rule,
        MODES[message.mode],
        message.frame,
        message.reference_frame or "world",
        tolerance=message.tolerance or FRAME_TOLERANCE,
        **given,
    )
