"""Recordings: the states of a cell over time, and the named segments that they belong to."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
from frozendict import frozendict

from ..errors import InvalidValueError
from ..model.state import BodyState, RobotCellState, ToolState


class Moment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The state of the cell at a time [s]."""

    time: float
    state: RobotCellState


class Segment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a recording from `start` to `end` [s]. facts: what a table shows of it, text by column."""

    name: str
    start: float
    end: float
    facts: frozendict[str, str] = frozendict()

    def __post_init__(self) -> None:
        if not (math.isfinite(self.start) and math.isfinite(self.end) and self.start <= self.end):
            raise InvalidValueError(f"segment {self.name!r} goes from {self.start} to {self.end} s")


class Recording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What happened in a cell. moments: in the order of time, at least one.

    summary: results of the whole, text by name.

    Raises:
        InvalidValueError: no moment, or times that are not finite or go back.
    """

    moments: tuple[Moment, ...]
    segments: tuple[Segment, ...] = ()
    summary: frozendict[str, str] = frozendict()

    def __post_init__(self) -> None:
        if not self.moments:
            raise InvalidValueError("a recording needs at least one moment")
        last = -math.inf
        for index, moment in enumerate(self.moments):
            if not (math.isfinite(moment.time) and moment.time >= last):
                raise InvalidValueError(
                    f"moment {index} is at {moment.time} s, expected a finite time of at least {last} s"
                )
            last = moment.time

    @property
    def duration(self) -> float:
        """From the first moment to the last [s]."""
        return self.moments[-1].time - self.moments[0].time

    def from_first_segment(self, lead: float) -> Recording:
        """The recording without what was more than `lead` [s] before its first segment; times stay what they are."""
        if not self.segments:
            return self
        begin = min(segment.start for segment in self.segments) - lead
        before = [moment for moment in self.moments if moment.time < begin]
        kept = [moment for moment in self.moments if moment.time >= begin]
        first = [Moment(begin, before[-1].state)] if before else []
        return msgspec.structs.replace(self, moments=(*first, *kept))

    def thinned(self, rate: float) -> Recording:
        """The recording with at most about `rate` moments a second [Hz].

        Kept are the first and the last moment, and both sides of a change of what is attached or hidden, so that
        nothing glides from one carrier to the next.
        """
        kept: list[Moment] = []
        last = len(self.moments) - 1
        for index, moment in enumerate(self.moments):
            due = not kept or moment.time - kept[-1].time >= (1.0 - 1e-6) / rate
            changes = index > 0 and _arrangement(moment.state) != _arrangement(self.moments[index - 1].state)
            if changes and kept[-1] is not self.moments[index - 1]:
                kept.append(self.moments[index - 1])
            if due or changes or index == last:
                kept.append(moment)
        return msgspec.structs.replace(self, moments=tuple(kept))


def _arrangement(state: RobotCellState) -> tuple[tuple[str, str, bool], ...]:
    things: dict[str, ToolState | BodyState] = {**state.tools, **state.bodies}
    return tuple((name, thing.attached_to, thing.hidden) for name, thing in things.items())


class Recorder:
    """Collects a recording while it happens."""

    def __init__(self) -> None:
        self._moments: list[Moment] = []
        self._segments: list[Segment] = []

    def add(self, time: float, state: RobotCellState) -> None:
        """Note the state at a time [s]."""
        self._moments.append(Moment(time, state))

    def segment(self, name: str, start: float, end: float, facts: Mapping[str, str] = frozendict()) -> None:
        """Name the part from `start` to `end` [s]."""
        self._segments.append(Segment(name, start, end, frozendict(facts)))

    def recording(self, summary: Mapping[str, str] = frozendict()) -> Recording:
        """What was collected.

        Raises:
            InvalidValueError: nothing was, or the times go back.
        """
        return Recording(tuple(self._moments), tuple(self._segments), frozendict(summary))
