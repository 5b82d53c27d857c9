"""Targets of inverse kinematics and motion planning, and target modes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum

import msgspec

from ..errors import InvalidValueError, TargetModeMismatchError, UnknownNameError
from ..model.angles import FREE_ANGLE, tolerance_doubt
from ..model.arguments import check_fields
from ..model.cell import RobotCell
from ..model.name_suggestions import unknown_name
from ..model.pose import Pose
from ..model.state import RobotCellState
from ..model.value import WORLD, Vector3, positive, vector3
from ..system.cache import IdentityCache
from .model import CellModel, cell_model

DEFAULT_TOLERANCE = 1e-6  # [m, rad]
ALL_FREE, NONE_FREE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)  # weights of rotations


class TargetMode(str, Enum):
    """Frame of a planning group that a target applies to."""

    ROBOT = "robot"  # planner frame: the tip link of the group
    TOOL = "tool"  # tool centre point of the attached tool
    WORKPIECE = "workpiece"  # frame of the body attached to the tool
    FRAME = "frame"  # any frame, by name


class _Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Common fields of all targets, see `FrameTarget`."""

    mode: TargetMode = TargetMode.ROBOT
    frame: str = ""
    reference_frame: str = WORLD
    tolerance_position: float | None = None
    tolerance_angle: float = DEFAULT_TOLERANCE
    native_scale: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self)
        if not isinstance(self.mode, TargetMode):
            raise InvalidValueError(f"mode is {self.mode!r}, expected a TargetMode")
        if self.tolerance_position is not None:
            positive(self.tolerance_position, "tolerance_position")
        positive(self.tolerance_angle, "tolerance_angle")
        positive(self.native_scale, "native_scale")
        if self.mode is TargetMode.FRAME and not self.frame:
            raise InvalidValueError("a target of mode FRAME names no frame")
        if self.frame and self.mode in (TargetMode.ROBOT, TargetMode.TOOL):
            text = f"a target of mode {self.mode.name} names frame {self.frame!r}, expected none"
            raise InvalidValueError(f"{text}; mode FRAME applies to the frame that it names")

    @property
    def tolerances(self) -> tuple[float, float]:
        """Max position error [m] and max angle [rad]."""
        position = self.tolerance_position
        return DEFAULT_TOLERANCE if position is None else position * self.native_scale, self.tolerance_angle

    @property
    def free_axes(self) -> tuple[int, ...]:
        """Axes of the target (0, 1, 2) about which the rotation is free."""
        return free_axes_of(self.rotation_weights)

    @property
    def rotation_weights(self) -> Vector3:
        """Weights of rotations about the axes of the target: 0 for free ones, 1 for the smallest tolerance."""
        return ALL_FREE if self.tolerance_angle >= FREE_ANGLE else NONE_FREE

    @property
    def doubt(self) -> str:
        """Sentence about an angular tolerance that is probably in degrees; "" without one."""
        return tolerance_doubt((self.tolerance_angle,))


def tolerances_of_free(axes: str) -> Vector3 | None:
    """Return the `tolerance_angles` of targets and waypoints with free rotations about axes, letters of "xyz"; None for
    no letters.

    Raises:
        InvalidValueError: Other letters are given.
    """
    if not set(axes) <= set("xyz"):
        raise InvalidValueError(f"free axes are {axes!r}, expected letters of 'xyz'")
    if not axes:
        return None
    x, y, z = (math.pi if axis in axes else DEFAULT_TOLERANCE for axis in "xyz")
    return x, y, z


def free_axes_of(rotation_weights: Vector3) -> tuple[int, ...]:
    """Return the axes (0, 1, 2) of a target about which the rotation is free, for its weights of rotations."""
    if rotation_weights is NONE_FREE:  # almost always
        return ()
    return tuple(axis for axis, weight in enumerate(rotation_weights) if not weight)


class FrameTarget(_Target, frozen=True, forbid_unknown_fields=True, tag="frame_target"):
    """Pose target: reference_frame_T_target.

    Attributes:
        pose: Pose of the target in the reference frame; its position is in units of `native_scale`.
        mode: Frame that the target applies to.
        frame: Frame name for mode FRAME; body for mode WORKPIECE, required only if several are attached to the tool;
            otherwise "".
        reference_frame: Frame in which the target is expressed, at its pose in the state that the target is used with.
        tolerance_position: Max position error, in the target's unit; None: 1e-6 m.
        tolerance_angle: Max angle [rad] between the orientations, or between the axes. From 3.14 on, every rotation is
            within the tolerance, and inverse kinematics searches for all of them: the target is a position only.
        native_scale: Metres per unit of the target's positions.
        tolerance_angles: Tolerances of the rotations about the x, y and z axes of the target [rad], in place of
            `tolerance_angle`. From 3.14 on, the rotation about the axis is free, and inverse kinematics searches over
            it: the frame may be rotated by any rotation vector along the free axes. The rotation that is left, as a
            rotation vector in the axes of the frame, lies in the ellipsoid that has the other tolerances as semi-axes.
    """

    pose: Pose
    tolerance_angles: Vector3 | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        super().__post_init__()
        if not isinstance(self.pose, Pose):
            raise InvalidValueError(f"pose is a {type(self.pose).__name__}, expected a Pose")
        if self.tolerance_angles is not None:
            for axis, angle in zip("xyz", vector3(self.tolerance_angles, "tolerance_angles"), strict=True):
                positive(angle, f"tolerance_angles about {axis}")
            if self.tolerance_angle != DEFAULT_TOLERANCE:
                text = f"tolerance_angle {self.tolerance_angle:g} and tolerance_angles are given, expected one of them"
                raise InvalidValueError(text)

    @property
    def tolerances(self) -> tuple[float, float]:
        """Max position error [m] and max angle [rad], the smallest of those that are not free."""
        position, angles = self.tolerance_position, self.tolerance_angles
        position = DEFAULT_TOLERANCE if position is None else position * self.native_scale
        return position, self.tolerance_angle if angles is None else min(angles)

    @property
    def rotation_weights(self) -> Vector3:
        """Weights of rotations about the axes of the target: 0 for free ones, 1 for the smallest tolerance."""
        if self.tolerance_angles is None:
            return ALL_FREE if self.tolerance_angle >= FREE_ANGLE else NONE_FREE
        smallest = min(self.tolerance_angles)
        x, y, z = (0.0 if angle >= FREE_ANGLE else smallest / angle for angle in self.tolerance_angles)
        return x, y, z

    @property
    def doubt(self) -> str:
        """Sentence about an angular tolerance that is probably in degrees; "" without one."""
        return tolerance_doubt(self.tolerance_angles or (self.tolerance_angle,))


class PointAxisTarget(_Target, frozen=True, forbid_unknown_fields=True, tag="point_axis_target"):
    """Position target with a direction for the z axis; the rotation about the axis is free.

    Attributes:
        point: Position of the target in the reference frame, in units of `native_scale`.
        axis: Direction of the z axis in the reference frame; it may have any length except zero.

    The other attributes are those of `FrameTarget`.
    """

    point: Vector3
    axis: Vector3

    @property
    def rotation_weights(self) -> Vector3:
        """Weights of rotations about the axes of the target: 0 for free ones, 1 for the others."""
        x, y, _ = super().rotation_weights
        return x, y, 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        super().__post_init__()
        vector3(self.point, "point")
        if math.hypot(*vector3(self.axis, "axis")) < 1e-9:
            raise InvalidValueError(f"axis {list(self.axis)} has no direction")


Target = FrameTarget | PointAxisTarget


def doubts_of(targets: Iterable[Target]) -> tuple[str, ...]:
    """Return the doubts about targets, equal ones once."""
    return tuple(dict.fromkeys(target.doubt for target in targets if target.doubt))


TARGET_TYPES = (FrameTarget, PointAxisTarget)

_frames: IdentityCache[str] = IdentityCache(size=256)


def target_frame(
    cell: RobotCell, state: RobotCellState, group: str = "", mode: TargetMode = TargetMode.ROBOT, frame: str = ""
) -> str:
    """Return the frame that a target mode selects for a group in a state.

    frame: As in a target.

    Raises:
        TargetModeMismatchError: The state does not support the mode.
        UnknownNameError: The group, body or frame does not exist.
        ModelError: The group is not a chain.
    """
    model = cell_model(cell, state)
    return _frames.get((model,), (group, mode, frame), lambda: _find(model, state, group, mode, frame))


def _find(model: CellModel, state: RobotCellState, group: str, mode: TargetMode, frame: str) -> str:
    cell = model.cell
    if mode is TargetMode.FRAME:
        model.frame(frame)
        return frame
    if mode is TargetMode.ROBOT:
        return cell.tip_link(group)
    if mode is TargetMode.WORKPIECE and frame:
        return _attached_body(cell, state, group, frame)
    tool = cell.tool_of_group(state, group)
    name = cell.group(group).name
    if not tool:
        tip = f"its tip {found}" if (found := cell.group(group).tip_link) else "the tip of a chain"
        text = f"mode {mode.name} needs a tool, and none is attached to group {name}"
        others = f"Mode ROBOT applies to {tip}, mode FRAME to any frame that the group moves."
        raise TargetModeMismatchError(text, subjects=(name,), remedy=f"{others} {TargetModeMismatchError.remedy}")
    if mode is TargetMode.TOOL:
        return cell.tools[tool].tcp_frame
    fixed = [body for body in state.bodies if _parent_frame(cell, state, body) in cell.tools[tool].frames]
    if len(fixed) != 1:
        listed = f"{len(fixed)}: {', '.join(fixed[:6])}; name one" if fixed else "none"
        raise TargetModeMismatchError(
            f"mode WORKPIECE needs one body held by tool {tool} of group {name}, found {listed}",
            subjects=(name, tool, *fixed),
        )
    return fixed[0]


def _parent_frame(cell: RobotCell, state: RobotCellState, body: str) -> str:
    """Return the parent of a body, skipping named frames."""
    parent_frame = state.bodies[body].attached_to
    while parent_frame in cell.frames:
        parent_frame = cell.frames[parent_frame].attached_to
    return parent_frame or WORLD


def _attached_body(cell: RobotCell, state: RobotCellState, group: str, body: str) -> str:
    if body not in state.bodies:
        raise UnknownNameError(unknown_name(f"body {body!r}", body, state.bodies), subjects=(body,))
    parent_frame = _parent_frame(cell, state, body)
    while parent_frame in state.bodies:
        parent_frame = _parent_frame(cell, state, parent_frame)
    tip, tool = cell.tip_link(group), cell.tool_of_group(state, group)
    if parent_frame != tip and not (tool and parent_frame in cell.tools[tool].frames):
        name = cell.group(group).name
        raise TargetModeMismatchError(f"group {name} does not carry body {body}", subjects=(name, body))
    return body
