"""Disturbances: what can be injected into a simulation, and what is in force."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ..errors import DisturbanceError
from ..model.arguments import checked_fields
from ..model.value import Vector3, vector3

SEED = 0  # of encoder noise
ZERO: Vector3 = (0.0, 0.0, 0.0)


class DisturbanceKind(str, Enum):
    """Kinds of disturbances. Their name is a frame, a joint, or nothing; their value has the unit in brackets.

    WRENCH: force and torque at the origin of a frame, in world axes. PAYLOAD: mass added at the centre of mass of a
    link or body [kg]. STUCK_JOINT: a joint does not move. ENCODER_BIAS: error of a measured position [rad or m].
    ENCODER_NOISE: standard deviation of measured positions, of one joint or of all [rad or m]. COMMAND_LOSS:
    probability with which a command message is lost. COMMAND_LATENCY: delay of command messages [s].
    """

    WRENCH = "wrench"
    PAYLOAD = "payload"
    STUCK_JOINT = "stuck_joint"
    ENCODER_BIAS = "encoder_bias"
    ENCODER_NOISE = "encoder_noise"
    COMMAND_LOSS = "command_loss"
    COMMAND_LATENCY = "command_latency"


OF_JOINTS = (DisturbanceKind.STUCK_JOINT, DisturbanceKind.ENCODER_BIAS, DisturbanceKind.ENCODER_NOISE)
OF_FRAMES = (DisturbanceKind.WRENCH, DisturbanceKind.PAYLOAD)
BOUNDS = {
    DisturbanceKind.PAYLOAD: (0.0, 1e4),
    DisturbanceKind.ENCODER_BIAS: (-1.0, 1.0),
    DisturbanceKind.ENCODER_NOISE: (0.0, 0.1),
    DisturbanceKind.COMMAND_LOSS: (0.0, 1.0),
    DisturbanceKind.COMMAND_LATENCY: (0.0, 10.0),
}
MAX_WRENCH = 1e6  # [N or Nm]
MAX_DURATION = 1e6  # [s]


@checked_fields
@dataclass(frozen=True)
class Disturbance:
    """Disturbance of a simulation.

    Attributes:
        kind: What is disturbed.
        name: Frame or joint, see `DisturbanceKind`; "" for all joints or none.
        value: Size, see `DisturbanceKind`.
        force, torque: Of a WRENCH [N, Nm].
        duration: How long it lasts [s]; 0 until it is replaced or cleared.

    Raises:
        DisturbanceError: A number is out of range.
    """

    kind: DisturbanceKind
    name: str = ""
    value: float = 0.0
    force: Vector3 = ZERO
    torque: Vector3 = ZERO
    duration: float = 0.0

    def __post_init__(self) -> None:
        lower, upper = BOUNDS.get(self.kind, (-math.inf, math.inf))
        if not lower <= self.value <= upper:
            self._refuse(f"value is {self.value}, expected {lower:g} to {upper:g}")
        for what in ("force", "torque"):
            try:
                size = math.hypot(*vector3(getattr(self, what), what))
            except ValueError as error:
                raise DisturbanceError(str(error), subjects=(what,)) from error
            if size > MAX_WRENCH:
                self._refuse(f"{what} is {size:g}, expected at most {MAX_WRENCH:g}")
        if not 0.0 <= self.duration <= MAX_DURATION:
            self._refuse(f"duration is {self.duration}, expected 0 to {MAX_DURATION:g} s")

    def _refuse(self, text: str) -> None:
        raise DisturbanceError(f"{self.kind.value}: {text}", subjects=(self.kind.value,))


class ActiveDisturbances:
    """Disturbances in force, one of each kind for each name."""

    def __init__(self) -> None:
        self._ends: dict[Disturbance, float] = {}
        self._random = np.random.default_rng(SEED)

    @property
    def all(self) -> tuple[Disturbance, ...]:
        """Disturbances in force, in the order of their start."""
        return tuple(self._ends)

    def add(self, disturbances: Iterable[Disturbance], time: float) -> None:
        """Add disturbances at a time [s]; each replaces the one of its kind and name."""
        for new in disturbances:
            self._ends = {old: end for old, end in self._ends.items() if (old.kind, old.name) != (new.kind, new.name)}
            self._ends[new] = time + new.duration if new.duration > 0.0 else math.inf

    def end(self, frames: Collection[str]) -> None:
        """End the disturbances of some frames."""
        kept = self._ends.items()
        self._ends = {each: end for each, end in kept if each.kind not in OF_FRAMES or each.name not in frames}

    def clear(self) -> None:
        """End all disturbances."""
        self._ends.clear()

    def expire(self, time: float) -> bool:
        """End the disturbances whose duration has passed at a time [s]; return whether there are any."""
        remaining = {each: end for each, end in self._ends.items() if end > time}
        changed = len(remaining) < len(self._ends)
        self._ends = remaining
        return changed

    def of(self, kind: DisturbanceKind) -> list[Disturbance]:
        """Return the disturbances of a kind."""
        return [each for each in self._ends if each.kind is kind]

    def value(self, kind: DisturbanceKind) -> float:
        """Return the largest value of the disturbances of a kind; 0 without one."""
        return max((each.value for each in self.of(kind)), default=0.0)

    def noise(self, deviation: float) -> float:
        """Return a normally distributed random number."""
        return float(self._random.normal(0.0, deviation))
