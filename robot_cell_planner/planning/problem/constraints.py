"""Path constraints: linear combinations of joints that stay constant, and sets that frames stay in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from frozendict import frozendict

from ...errors import InvalidRequestError, Value
from ...kinematics.targets import TargetMode
from ...model.arguments import checked_fields, public
from ...model.pose import Pose
from ...model.value import WORLD, Vector3

STAGE = "request"
COMBINATION_TOLERANCE = 1e-6
FRAME_TOLERANCE = 1e-3
MAX_CONSTRAINTS = 32


@checked_fields
@dataclass(frozen=True)
class JointCombination:
    """The sum of coefficient times joint value is constant along the path, within `tolerance` [rad or m].

    Each combination reduces the dimension of the search space by one, so it adds no cost and holds exactly between
    waypoints. The tolerance applies to goals that were measured or computed.

    Raises:
        InvalidRequestError: All coefficients are zero, or a number is not finite.
    """

    coefficients: Mapping[str, float]
    tolerance: float = COMBINATION_TOLERANCE

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", frozendict(self.coefficients))
        for joint, value in self.coefficients.items():
            if not math.isfinite(value):
                text = f"coefficient of joint {joint} is {value}, expected a finite number"
                raise InvalidRequestError(text, stage=STAGE, subjects=(joint,))
        if not any(self.coefficients.values()):
            raise InvalidRequestError("a combination of joints has no coefficient but zero", stage=STAGE)
        _check_tolerance(self.tolerance)


class FrameRule(str, Enum):
    """Set in which a frame has to stay."""

    AXIS_IN_CONE = "axis in cone"  # its z axis stays within `tolerance` rad of `axis`
    ORIENTATION = "orientation"  # its orientation stays within `tolerance` rad of that of `pose`
    POSITION_IN_BOX = "position in box"  # its origin stays within +- `extent` of `pose`, along the axes of `pose`
    POSITION_ON_PLANE = "position on plane"  # within `tolerance` m of the plane through `pose`, normal to `axis`
    POSITION_ON_LINE = "position on line"  # within `tolerance` m of the line through `pose`, along `axis`


@checked_fields
@dataclass(frozen=True)
class FrameConstraint:
    """A frame that moves with the group stays in a set. Paths are projected onto the set.

    Attributes:
        rule: Type of the set.
        mode, frame: The constrained frame, as in a target.
        reference_frame: Frame of `pose` and `axis`, with its pose at the start of the path.
        extent: Half sizes of a box [m]; infinite for a free direction.
        tolerance: Allowed distance from the set [rad or m].

    Raises:
        InvalidRequestError: An axis of zero length, a negative extent, or a number that is not finite.
    """

    rule: FrameRule
    mode: TargetMode = TargetMode.TOOL
    frame: str = ""
    reference_frame: str = WORLD
    pose: Pose = field(default_factory=Pose)
    axis: Vector3 = (0.0, 0.0, 1.0)
    extent: Vector3 = (math.inf, math.inf, math.inf)
    tolerance: float = FRAME_TOLERANCE

    def __post_init__(self) -> None:
        if not all(math.isfinite(value) for value in self.axis) or math.hypot(*self.axis) < 1e-9:
            raise InvalidRequestError(f"axis {list(self.axis)} of a constraint has no direction", stage=STAGE)
        if any(not value >= 0.0 for value in self.extent):
            text = f"extent {list(self.extent)} of a constraint, expected numbers from 0"
            raise InvalidRequestError(text, stage=STAGE)
        if self.mode is TargetMode.FRAME and not self.frame:
            raise InvalidRequestError("a constraint of mode FRAME names no frame", stage=STAGE)
        if self.frame and self.mode in (TargetMode.ROBOT, TargetMode.TOOL):
            text = f"a constraint of mode {self.mode.name} names frame {self.frame!r}, expected none"
            raise InvalidRequestError(text, stage=STAGE, subjects=(self.frame,))
        _check_tolerance(self.tolerance)


PathConstraint: TypeAlias = JointCombination | FrameConstraint


@public
def upright(angle: float = FRAME_TOLERANCE, mode: TargetMode = TargetMode.TOOL, frame: str = "") -> FrameConstraint:
    """Return the constraint that the z axis of a frame stays within `angle` [rad] of the world's, e.g. for open
    containers.
    """
    return FrameConstraint(FrameRule.AXIS_IN_CONE, mode, frame, tolerance=angle)


def _check_tolerance(tolerance: float) -> None:
    if not 1e-9 <= tolerance <= 10.0:
        text = f"tolerance of a constraint is {tolerance:g}, expected 1e-9 to 10"
        limit = 10.0 if tolerance > 10.0 else 1e-9
        raise InvalidRequestError(text, stage=STAGE, values=(Value("tolerance", tolerance, limit),))
