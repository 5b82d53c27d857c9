"""The latest measurement of every joint, merged from the messages of any number of publishers."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from copy import copy
from typing import NamedTuple

from ...model.value import MAX_JOINT_VALUE
from .clock_monitor import CLOCK_STEP

MAX_JOINTS = 5000  # of all publishers together
SILENT_AFTER = 60.0  # [s] since the last message with a name, after which other names may replace it
CLEAN_UP_PERIOD = 1.0  # [s] at least between two searches for silent names


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


class JointNames:
    """Names of joints that were published, at most MAX_JOINTS of them and those of the robot.

    A new name beyond this replaces the one that has been waiting longest for a second message, or else one without a
    message for SILENT_AFTER. Robots publish their joints repeatedly: names that somebody published once do not keep
    joints of robots out.
    """

    def __init__(self, own: Collection[str], on_removed: Callable[[str], object]) -> None:
        """own: names that always have room; on_removed: called for each name that is replaced."""
        self._own = frozenset(own)
        self._on_removed = on_removed
        self._heard_at: dict[str, float] = {}  # [s]
        self._once: dict[str, None] = {}  # names in one message so far, oldest first
        self._cleaned_at = -math.inf

    @property
    def is_full(self) -> bool:
        """Whether there are MAX_JOINTS already."""
        return len(self._heard_at) >= MAX_JOINTS

    def admit(self, name: str, now: float) -> bool:
        """Return whether there is room for a name that is in a message; now: steady clock [s]."""
        if name in self._heard_at:
            self._once.pop(name, None)
        elif name not in self._own:
            if self.is_full and not self._make_room(now):
                return False
            self._once[name] = None
        self._heard_at[name] = now
        return True

    def _make_room(self, now: float) -> bool:
        if self._once:
            self.remove(next(iter(self._once)))
        elif now - self._cleaned_at >= CLEAN_UP_PERIOD:
            self._cleaned_at = now
            silent = [name for name, heard_at in self._heard_at.items() if now - heard_at > SILENT_AFTER]
            for name in silent:
                if name not in self._own:
                    self.remove(name)
        return not self.is_full

    def remove(self, name: str) -> None:
        """Remove a name."""
        del self._heard_at[name]
        self._once.pop(name, None)
        self._on_removed(name)


class JointStates:
    """Merges joint states.

    A message whose lists differ in length, a position that is not finite or beyond MAX_JOINT_VALUE, a measurement that
    is not newer than the latest one, and joints beyond MAX_JOINTS or replaced by others (`JointNames`) are skipped and
    counted.
    """

    def __init__(
        self, *, repeats: bool, own: Collection[str] = (), on_removed: Callable[[str], None] | None = None
    ) -> None:
        """repeats: whether a measurement with the same stamp is newer; own: joints that always have room; on_removed:
        called for each joint that another one replaces."""
        self._repeats = repeats
        self._on_removed = on_removed
        self._names = JointNames(own, self._remove)
        self.latest: dict[str, Measurement] = {}
        self.skipped = 0
        self.invalid: list[tuple[str, float]] = []  # joints and positions skipped as invalid

    def copy(self) -> JointStates:
        """Return one with the measurements of now, to read."""
        found = copy(self)
        found.latest = dict(self.latest)
        return found

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
            elif (last is not None and self._is_old(stamp, last.stamp)) or not self._names.admit(name, arrival):
                self.skipped += 1
            else:
                self.latest[name] = Measurement(position, velocity, effort, stamp, arrival, paused)
                updated.append((name, last, self.latest[name]))
        if not self.is_full:
            return updated
        return [each for each in updated if each[0] in self.latest]  # others of the message may have replaced it

    @property
    def is_full(self) -> bool:
        """Whether further joints replace others, or are skipped."""
        return self._names.is_full

    def retain(self, names: Collection[str]) -> None:
        """Remove all joints but the named ones."""
        skipped = self.skipped
        for name in [name for name in self.latest if name not in names]:
            self._names.remove(name)
        self.skipped = skipped

    def _remove(self, name: str) -> None:
        del self.latest[name]
        self.skipped += 1
        if self._on_removed is not None:
            self._on_removed(name)

    def _is_old(self, stamp: int, last: int) -> bool:
        """Return whether a stamp is not newer than the last one."""
        return is_older(stamp, last) or (stamp == last and not self._repeats)

    def take_invalid(self) -> list[tuple[str, float]]:
        """Return the joints and positions skipped as not finite or too large since the last call."""
        invalid, self.invalid = self.invalid, []
        return invalid
