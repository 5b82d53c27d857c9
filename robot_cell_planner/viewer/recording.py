"""Recordings: the states of a cell over time, and their named segments."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
from frozendict import frozendict

from ..errors import InvalidValueError
from ..model.state import BodyState, RobotCellState, ToolState

MAX_MOMENTS = 20_000  # of a page; longer recordings are thinned
MAX_DURATION = 1e9  # [s], 32 years; a clock that was set costs more, and pages have times of 32 bits


class Moment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """State of the cell at a time [s]."""

    time: float
    state: RobotCellState


class RecordedSegment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Segment of a recording from `start` to `end` [s]. `facts`: table entries of the segment, text by column."""

    name: str
    start: float
    end: float
    facts: frozendict[str, str] = frozendict()

    def __post_init__(self) -> None:
        if not (math.isfinite(self.start) and math.isfinite(self.end) and self.start <= self.end):
            raise InvalidValueError(f"segment {self.name!r} goes from {self.start} to {self.end} s")


class Recording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Recording of a cell.

    Attributes:
        moments: At least one, in order of time.
        segments: Named segments.
        summary: Results of the whole recording, text by name.

    Raises:
        InvalidValueError: There are no moments, or their times are not finite, decrease, or differ by more than
            MAX_DURATION.
    """

    moments: tuple[Moment, ...]
    segments: tuple[RecordedSegment, ...] = ()
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
        if self.duration > MAX_DURATION:
            raise InvalidValueError(
                f"a recording of {self.duration:g} s, expected at most {MAX_DURATION:g} s: was the clock set meanwhile?"
            )

    @property
    def duration(self) -> float:
        """Duration from the first moment to the last [s]."""
        return self.moments[-1].time - self.moments[0].time

    def from_first_segment(self, lead: float) -> Recording:
        """Return the recording without the part that ends `lead` [s] before its first segment; times are unchanged."""
        if not self.segments:
            return self
        begin = min(segment.start for segment in self.segments) - lead
        before = [moment for moment in self.moments if moment.time < begin]
        selected = [moment for moment in self.moments if moment.time >= begin]
        first = [Moment(begin, before[-1].state)] if before else []
        return msgspec.structs.replace(self, moments=(*first, *selected))

    def thinned(self, rate: float) -> Recording:
        """Return the recording with at most about `rate` moments per second [Hz].

        The first and the last moment are retained, and both moments around each change of attachment or visibility, so
        that nothing is interpolated between different parent frames.

        Raises:
            InvalidValueError: The rate is not positive.
        """
        if not rate > 0.0:
            raise InvalidValueError(f"the rate of moments is {rate:g} Hz, expected a positive number")
        selected: list[Moment] = []
        last = len(self.moments) - 1
        for index, moment in enumerate(self.moments):
            due = not selected or moment.time - selected[-1].time >= (1.0 - 1e-6) / rate
            changes = index > 0 and _attachments(moment.state) != _attachments(self.moments[index - 1].state)
            if changes and selected[-1] is not self.moments[index - 1]:
                selected.append(self.moments[index - 1])
            if due or changes or index == last:
                selected.append(moment)
        return msgspec.structs.replace(self, moments=tuple(selected))


def _attachments(state: RobotCellState) -> tuple[tuple[str, str, bool], ...]:
    scene_objects: dict[str, ToolState | BodyState] = {**state.tools, **state.bodies}
    return tuple((name, scene_object.attached_to, scene_object.hidden) for name, scene_object in scene_objects.items())


class Recorder:
    """Collects a recording at run time."""

    def __init__(self) -> None:
        self._moments: list[Moment] = []
        self._segments: list[RecordedSegment] = []

    def add(self, time: float, state: RobotCellState) -> None:
        """Add the state at a time [s]."""
        self._moments.append(Moment(time, state))

    def segment(self, name: str, start: float, end: float, facts: Mapping[str, str] = frozendict()) -> None:
        """Add a named segment from `start` to `end` [s]."""
        self._segments.append(RecordedSegment(name, start, end, frozendict(facts)))

    @property
    def empty(self) -> bool:
        """Whether no state was added."""
        return not self._moments

    def recording(self, summary: Mapping[str, str] = frozendict()) -> Recording:
        """Return the recording.

        Raises:
            InvalidValueError: No state was added, or the times decrease.
        """
        return Recording(tuple(self._moments), tuple(self._segments), frozendict(summary))
