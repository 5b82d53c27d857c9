"""Parts of states that processes share: they are sent once, and found again by identity where they arrive.

Requests for one scene differ in joint values, and scenes that follow each other in the poses of few of their bodies.
Caches go by identity, and each message brings new objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from frozendict import frozendict

from ...model.state import RobotCellState
from ...model.value import changed_items

PARTS = ("base_poses", "tools", "bodies")
MAX_PARTS = 4  # of each kind that a process retains
MAX_CHANGED = 64  # number of entries from which on a part is sent whole


class Changed(NamedTuple):
    """Part that differs from the one at a place in the values of some keys."""

    place: int
    entries: dict[str, Any]


class StateMessage(NamedTuple):
    """State as it is sent. parts: for each of `PARTS` its place among those that the receiver retains, and its content,
    which may be `Changed`; None if the receiver has it there."""

    configuration: frozendict[str, float]
    parts: tuple[tuple[int, Any], ...]


class SentStates:
    """Parts of states that a receiver has, by place. Its `ReceivedStates` must get each message that is noted, in this
    order."""

    def __init__(self) -> None:
        self._retained: dict[str, list[Any]] = {name: [None] * MAX_PARTS for name in PARTS}
        self._places = {name: list(range(MAX_PARTS)) for name in PARTS}  # the one used least recently first

    def message(self, state: RobotCellState) -> StateMessage:
        """Return the message of a state. Parts are compared by identity."""
        return StateMessage(state.configuration, tuple(self._part(name, getattr(state, name)) for name in PARTS))

    def _part(self, name: str, part: Any) -> tuple[int, Any]:
        places = self._places[name]
        for place in reversed(places):
            if self._retained[name][place] is part:
                return place, None
        for place in reversed(places):
            retained = self._retained[name][place]
            changed = None if retained is None else changed_items(retained, part, MAX_CHANGED)
            if changed is not None and retained.keys() == part.keys():
                return places[0], Changed(place, {key: part[key] for key in changed})
        return places[0], part

    def note(self, state: RobotCellState, message: StateMessage) -> None:
        """Note that the message of a state was sent."""
        for name, (place, _) in zip(PARTS, message.parts, strict=True):
            self._retained[name][place] = getattr(state, name)
            self._places[name].remove(place)
            self._places[name].append(place)


class ReceivedStates:
    """Parts of the states that have arrived, by place. Equal ones share one object."""

    def __init__(self) -> None:
        self._retained: dict[str, list[Any]] = {name: [None] * MAX_PARTS for name in PARTS}

    def state(self, message: StateMessage) -> RobotCellState:
        """Return the state of a message."""
        parts = {name: self._part(name, *sent) for name, sent in zip(PARTS, message.parts, strict=True)}
        return RobotCellState(configuration=message.configuration, **parts)

    def _part(self, name: str, place: int, content: Any) -> Any:
        retained = self._retained[name]
        if isinstance(content, Changed):
            content = frozendict({**retained[content.place], **content.entries})
        if content is not None:
            retained[place] = _shared(retained, content)
        return retained[place]


class RecentStates:
    """Makes whole states that arrive one by one share their equal parts."""

    def __init__(self) -> None:
        self._retained: dict[str, list[Any]] = {name: [] for name in PARTS}

    def shared(self, state: RobotCellState) -> RobotCellState:
        """Return an equal state with those parts of recent states that are equal to its own."""
        return msgspec.structs.replace(state, **{name: self._recent(name, getattr(state, name)) for name in PARTS})

    def _recent(self, name: str, part: Any) -> Any:
        retained = self._retained[name]
        found = _shared(retained, part)
        retained[:] = [found, *(other for other in retained if other is not found)][:MAX_PARTS]
        return found


def _shared(retained: Iterable[Any], part: Any) -> Any:
    """Return the retained part that equals a new one, or the new one."""
    return next((other for other in retained if other == part), part)
