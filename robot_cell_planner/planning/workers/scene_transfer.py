"""Transfer of scenes to another process: what that has already is not sent again.

Requests for one scene differ in joint values, and scenes that follow each other in few of their bodies. Caches go by
identity, and each message brings new objects, so that the receiver has to find those that it has.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec
from frozendict import frozendict

from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...model.value import changed_items

MAX_CELLS = 4  # that a process retains
PARTS = ("base_poses", "tools", "bodies")  # of a state
MAX_PARTS = 4  # of each kind that a process retains
MAX_CHANGED = 64  # number of entries of a mapping from which on it is sent whole


class MappingDifference(NamedTuple):
    """Entries of a mapping that another one lacks or has with other values, and the keys that it has in addition."""

    entries: dict[str, Any]
    removed: tuple[str, ...]

    def applied_to(self, before: Mapping[str, Any]) -> frozendict[str, Any]:
        """Return the mapping that differs so from an earlier one. Other values are the same objects."""
        return frozendict({**{key: before[key] for key in before if key not in self.removed}, **self.entries})


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> MappingDifference | None:
    """Return how a mapping differs from an earlier one. Values are compared by identity.

    None: too many entries differ, or the others are in another order.
    """
    changed = changed_items(before, after)
    if len(changed) > MAX_CHANGED:
        return None
    entries = {key: after[key] for key in changed if key in after}
    found = MappingDifference(entries, tuple(key for key in changed if key not in after))
    return found if [*found.applied_to(before)] == [*after] else None


class CellMessage(NamedTuple):
    """Cell as it is sent: whole, or as the fields that differ from those of the cell with the digest `base`."""

    content: RobotCell | dict[str, Any]
    base: str = ""


class SentCells:
    """Cells that a receiver has, by digest. Its `ReceivedCells` must get each message of a cell that is noted."""

    def __init__(self) -> None:
        self._cells: OrderedDict[str, RobotCell] = OrderedDict()

    def __contains__(self, digest: object) -> bool:
        return digest in self._cells

    def message(self, digest: str, cell: RobotCell) -> CellMessage | None:
        """Return the message of a cell; None if the receiver has it."""
        if digest in self._cells:
            return None
        for base in reversed(self._cells):
            changed = _changed_fields(self._cells[base], cell)
            if changed is not None:
                return CellMessage(changed, base)
        return CellMessage(cell)

    def note(self, digest: str, cell: RobotCell) -> None:
        """Note that the message of a cell was sent."""
        if digest not in self._cells:
            _add(self._cells, digest, cell)


class ReceivedCells:
    """Cells that have arrived."""

    def __init__(self) -> None:
        self._cells: OrderedDict[str, RobotCell] = OrderedDict()

    def cell(self, digest: str, message: CellMessage | None) -> RobotCell:
        """Return the cell of a digest, with its message if there is one."""
        if message is not None:
            _add(self._cells, digest, self._read(message))
        return self._cells[digest]

    def _read(self, message: CellMessage) -> RobotCell:
        if isinstance(message.content, RobotCell):
            return message.content
        base = self._cells[message.base]
        fields = {
            name: value.applied_to(getattr(base, name)) if isinstance(value, MappingDifference) else value
            for name, value in message.content.items()
        }
        return msgspec.structs.replace(base, **fields)


def _add(cells: OrderedDict[str, RobotCell], digest: str, cell: RobotCell) -> None:
    cells[digest] = cell
    if len(cells) > MAX_CELLS:
        cells.popitem(last=False)


def _changed_fields(before: RobotCell, after: RobotCell) -> dict[str, Any] | None:
    """Return the fields of a cell that differ from those of an earlier one, mappings as `MappingDifference`; None if
    one of these differs too much."""
    found: dict[str, Any] = {}
    for name in after.__struct_fields__:
        one, other = getattr(before, name), getattr(after, name)
        if one is other:
            continue
        found[name] = difference(one, other) if isinstance(other, frozendict) else other
        if found[name] is None:
            return None
    return found


class StateMessage(NamedTuple):
    """State as it is sent. parts: for each of `PARTS` its place among those that the receiver retains, and its content;
    None if the receiver has it there, or the place of another one and the `MappingDifference` from that."""

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
        places, retained = self._places[name], self._retained[name]
        for place in reversed(places):
            if retained[place] is part:
                return place, None
        for place in reversed(places):
            changed = None if retained[place] is None else difference(retained[place], part)
            if changed is not None:
                return places[0], (place, changed)
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
        if isinstance(content, tuple):
            base, changed = content
            content = changed.applied_to(retained[base])
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
