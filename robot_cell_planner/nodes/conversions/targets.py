"""Conversions of targets."""

from __future__ import annotations

from typing import Any

from robot_cell_planner import msg

from ...errors import InvalidRequestError
from ...kinematics.targets import DEFAULT_TOLERANCE, FrameTarget, PointAxisTarget, TargetMode
from .basic import pose_from_message, position_from_message

MODES = {
    msg.Target.ROBOT: TargetMode.ROBOT,
    msg.Target.TOOL: TargetMode.TOOL,
    msg.Target.WORKPIECE: TargetMode.WORKPIECE,
    msg.Target.FRAME: TargetMode.FRAME,
}


def target_from_message(message: msg.Target, field: str) -> FrameTarget | PointAxisTarget:
    """Convert a target.

    Raises:
        InvalidRequestError: An unknown mode or type, malformed numbers.
    """
    if message.mode not in MODES:
        raise InvalidRequestError(f"{field}: unknown mode {message.mode}, expected 0 to 3", subjects=(field,))
    common: dict[str, Any] = {
        "mode": MODES[message.mode],
        "frame": message.frame,
        "reference_frame": message.reference_frame or "world",
        "tolerance_position": message.position_tolerance or None,
        "tolerance_angle": message.orientation_tolerance or DEFAULT_TOLERANCE,
        "native_scale": message.native_scale,
    }
    try:
        about_axes = position_from_message(message.axis_tolerances)
        if message.type == msg.Target.POSE:
            if any(about_axes):
                angle = common.pop("tolerance_angle")
                common["tolerance_angles"] = tuple(about_axis or angle for about_axis in about_axes)
            return FrameTarget(pose=pose_from_message(message.pose, f"{field}.pose"), **common)
        if message.type == msg.Target.POINT_AXIS:
            if any(about_axes):
                raise ValueError(f"axis_tolerances are {list(about_axes)}, expected zeros for the type POINT_AXIS")
            point, axis = position_from_message(message.pose.position), position_from_message(message.axis)
            return PointAxisTarget(point=point, axis=axis, **common)
    except ValueError as error:
        raise InvalidRequestError(f"{field}: {error}", subjects=(field,)) from error
    raise InvalidRequestError(f"{field}: unknown type {message.type}, expected 0 or 1", subjects=(field,))
