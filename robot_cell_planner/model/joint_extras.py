"""Elements of a joint in its description that do not affect kinematics."""

from __future__ import annotations

import msgspec
from frozendict import frozendict

from .arguments import check_fields


class JointExtras(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Elements of a URDF joint that do not affect kinematics.

    Attributes:
        damping: Damping [N s/m or Nm s/rad].
        friction: Static friction [N or Nm].
        calibration: Attributes of the element.
        safety_controller: Attributes of the element.
        blocks: All other elements of the joint, as XML text.
    """

    damping: float = 0.0
    friction: float = 0.0
    calibration: frozendict[str, float] = frozendict()
    safety_controller: frozendict[str, float] = frozendict()
    blocks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)
