"""The latest measurement of every joint, merged from the messages of any number of publishers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...model.value import MAX_JOINT_VALUE
from .clock_monitor import CLOCK_STEP

MAX_JOINTS = 5000  # of all publishers together


class Measurement(NamedTuple):
    """A measured joint.

    position [rad or m]; velocity [rad/s or m/s] and effort [Nm or N], NaN if not measured. stamp: of the message [ns].
    arrival: on the steady clock [s]. paused: total time until then in which messages were not read [s].
    """

    position: float
    velocity: float
    effort: float
    stamp: int
    arrival: float
    paused: float


def is_older(stamp: int, last: int) -> bool:
    """Return whether a stamp is older than the last one [ns]; a much older one belongs to a clock that was set back."""
    return last - CLOCK_STEP <= stamp < last


class JointStates:
    """Merges joint states.

    A message whose lists differ in length, a position that is not finite or beyond MAX_JOINT_VALUE, a measurement that
    is not newer than the latest one, and joints beyond MAX_JOINTS are skipped and counted. repeats: whether a
    measurement with the same stamp is newer.
    """

    def __init__(self, *, repeats: bool) -> None:
        self._repeats = repeats
        self.latest: dict[str, Measurement] = {}
        self.skipped = 0
        self.invalid: list[tuple[str, float]] = []  # joints and positions skipped as invalid

    def merge(
        self,
        names: Sequence[str | None],
        positions: Sequence[float],
        stamp: int,
        velocities: Sequence[float] = (),
        efforts: Sequence[float] = (),
        arrival: float = 0.0,
        paused: float = 0.0,
    ) -> list[tuple[str, Measurement | None, Measurement]]:
        """Merge a message. names: None for joints to ignore; velocities and efforts may be empty; others as of
        `Measurement`. Returns the joints that it updates, with the previous and the new measurement."""
        if len(positions) != len(names):
            self.skipped += 1
            return []
        unknown = [math.nan] * len(names)
        velocities = velocities if len(velocities) == len(names) else unknown
        efforts = efforts if len(efforts) == len(names) else unknown
        updated = []
        for name, position, velocity, effort in zip(names, positions, velocities, efforts, strict=True):
            if name is None:
                continue
            last = self.latest.get(name)
            if not abs(position) <= MAX_JOINT_VALUE:  # also false for NaN
                self.skipped += 1
                self.invalid.append((name, position))
            elif self._is_old(stamp, last.stamp) if last is not None else self.is_full:
                self.skipped += 1
            else:
                self.latest[name] = Measurement(position, velocity, effort, stamp, arrival, paused)
                updated.append((name, last, self.latest[name]))
        return updated

    @property
    def is_full(self) -> bool:
        """Whether no further joint is accepted."""
        return len(self.latest) >= MAX_JOINTS

    def _is_old(self, stamp: int, last: int) -> bool:
        """Return whether a stamp is not newer than the last one."""
        return is_older(stamp, last) or (stamp == last and not self._repeats)

    def take_invalid(self) -> list[tuple[str, float]]:
        """Return the joints and positions skipped as not finite or too large since the last call."""
        invalid, self.invalid = self.invalid, []
        return invalid
