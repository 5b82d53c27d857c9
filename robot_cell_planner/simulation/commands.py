"""Joint commands in the form of ros2_control's topic-based hardware interfaces."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import InvalidRequestError
from ..model.arguments import checked_fields

STAGE = "joint command"


SLACK = 1e-3  # [rad or m] by which positions may be beyond a limit, at which the joint stops
ROUNDING = 1e-3  # fraction of its limit by which a velocity beside a position may be beyond it


class CommandLimits(NamedTuple):
    """Limits of a joint's commands: positions [rad or m], max velocity [rad/s or m/s] and max effort [Nm or N]."""

    lower: float
    upper: float
    velocity: float
    effort: float

    def of(self, what: str) -> tuple[float, float]:
        """Return the range of "position", "velocity" or "effort"."""
        if what == "position":
            return self.lower - SLACK, self.upper + SLACK
        size = self.velocity if what == "velocity" else self.effort
        return -size, size


NO_LIMITS: Mapping[str, CommandLimits] = {}


@checked_fields
@dataclass(frozen=True)
class JointCommand:
    """Commands for some joints: positions [rad or m], velocities [rad/s or m/s] and efforts [Nm or N], by joint.

    A joint with a position is position-controlled, with its velocity if given. An effort in addition to
    a position bounds the force of a tool joint, with 0 selecting the joint's own limit; for a robot joint it is
    ignored. A joint with a velocity but no position is velocity-controlled; a joint with only an effort is
    effort-controlled.
    """

    positions: Mapping[str, float] = field(default_factory=dict)
    velocities: Mapping[str, float] = field(default_factory=dict)
    efforts: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether no joint is commanded."""
        return not (self.positions or self.velocities or self.efforts)

    @property
    def joints(self) -> frozenset[str]:
        """Joints that are commanded."""
        return frozenset((*self.positions, *self.velocities, *self.efforts))

    def without(self, joints: Collection[str]) -> JointCommand:
        """Return the command of the other joints."""
        positions, velocities, efforts = (
            {name: value for name, value in values.items() if name not in joints}
            for values in (self.positions, self.velocities, self.efforts)
        )
        return JointCommand(positions, velocities, efforts)


def read_command(
    names: Sequence[str],
    positions: Sequence[float],
    velocities: Sequence[float],
    efforts: Sequence[float],
    known: Collection[str],
    waiting: Collection[str] = (),
    limits: Mapping[str, CommandLimits] = NO_LIMITS,
) -> tuple[JointCommand, tuple[str, ...]]:
    """Read a command from the lists of a message.

    Each list is empty or has one value per name. Unknown joints are ignored, because they may belong to another robot.
    Values that are not finite are ignored: the joint keeps its last command. NaN is no problem of joints that are
    `waiting` for their first command: ros2_control sends it until a controller is active. Values beyond `limits` are
    ignored, too, but for an effort beside a position or a velocity, which at most bounds forces. A position whose
    velocity is ignored is commanded without a velocity.

    Returns:
        The command, and a sentence for each value that is ignored.

    Raises:
        InvalidRequestError: The lists have different lengths, or a joint is named twice.
    """
    _check_named_once(names)
    found: dict[str, dict[str, float]] = {}
    problems: list[str] = []
    for what, values in (("position", positions), ("velocity", velocities), ("effort", efforts)):
        if len(values) not in (0, len(names)):
            text = f"there are {len(names)} names and {len(values)} values of {what}"
            raise InvalidRequestError(text, stage=STAGE, subjects=(what,))
        found[what] = {}
        for name, value in zip(names, values, strict=False):
            if name not in known:
                continue
            if math.isfinite(value):
                found[what][name] = value
            elif not (name in waiting and math.isnan(value)):
                problems.append(f"{what} of joint {name} is {value}")
    problems += _beyond_limits(found, limits)
    # A joint whose position is given but ignored is not controlled by its velocity or effort instead.
    for name in [name for name in names if len(positions) and name not in found["position"]]:
        found["velocity"].pop(name, None)
        found["effort"].pop(name, None)
    return JointCommand(found["position"], found["velocity"], found["effort"]), tuple(problems)


def _check_named_once(names: Sequence[str]) -> None:
    """Raise InvalidRequestError if a joint is named twice."""
    if len(set(names)) == len(names):
        return
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    text = f"joint {', '.join(twice[:5])} is named more than once"
    raise InvalidRequestError(text, stage=STAGE, subjects=tuple(twice))


def _beyond_limits(found: dict[str, dict[str, float]], limits: Mapping[str, CommandLimits]) -> list[str]:
    """Delete the commands beyond limits; return a sentence for each."""
    problems: list[str] = []
    commanded: set[str] = set()
    for what in ("position", "velocity", "effort"):
        # A position is extrapolated with the velocity beside it, which therefore has its limit, too.
        checked = {name for name in found[what] if what != "effort" or name not in commanded}
        own = {name: value for name, value in found[what].items() if name in limits and name in checked}
        for name, value in own.items():
            lower, upper = limits[name].of(what)
            allowed = ROUNDING * upper if name in commanded else 0.0
            if not lower - allowed <= value <= upper + allowed:
                del found[what][name]
                end = lower if value < lower else upper
                problems.append(f"{what} of joint {name} is {value:g}, beyond its limit {end:g}")
        commanded.update(own)
    return problems
