"""Joint commands as ros2_control's topic-based hardware interfaces send them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import InvalidRequestError

STAGE = "joint command"


@dataclass(frozen=True)
class JointCommand:
    """Commands for some joints. positions [rad or m], velocities [per s], efforts [Nm or N], by joint.

    A joint with a position is driven there, with its velocity if there is one. An effort beside a position bounds the
    force of a tool's joint, 0 leaving it to its own limit; for a robot's joint it says nothing that the motor doesn't
    know. A joint with a velocity but no position is driven at that velocity; one with an effort alone by that effort.
    """

    positions: Mapping[str, float] = field(default_factory=dict)
    velocities: Mapping[str, float] = field(default_factory=dict)
    efforts: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.positions or self.velocities or self.efforts)


def read_command(
    names: Sequence[str],
    positions: Sequence[float],
    velocities: Sequence[float],
    efforts: Sequence[float],
    known: Collection[str],
) -> tuple[JointCommand, tuple[str, ...]]:
    """The command in the lists of a message, and the values in it that are not finite, as sentences.

    A list is empty or has a value for each name. Joints that are not known are passed over, since they may be another
    robot's. A value that is not finite commands nothing: its joint keeps its last command.

    Raises:
        InvalidRequestError: lists of different lengths, or a joint named twice.
    """
    if len(set(names)) != len(names):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        text = f"joint {', '.join(twice[:5])} is named more than once"
        raise InvalidRequestError(text, stage=STAGE, subjects=tuple(twice))
    found: dict[str, dict[str, float]] = {}
    problems: list[str] = []
    for what, values in (("position", positions), ("velocity", velocities), ("effort", efforts)):
        if len(values) not in (0, len(names)):
            text = f"there are {len(names)} names and {len(values)} values of {what}"
            raise InvalidRequestError(text, stage=STAGE, subjects=(what,))
        entries = [(name, value) for name, value in zip(names, values, strict=False) if name in known]
        found[what] = {name: value for name, value in entries if math.isfinite(value)}
        problems.extend(f"{what} of joint {name} is {value}" for name, value in entries if not math.isfinite(value))
    # A joint whose position was given, but cannot be used, is not driven by its velocity or effort instead.
    for name in [name for name in names if len(positions) and name not in found["position"]]:
        found["velocity"].pop(name, None)
        found["effort"].pop(name, None)
    return JointCommand(found["position"], found["velocity"], found["effort"]), tuple(problems)
