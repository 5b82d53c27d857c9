"""Contacts between named objects: those of the current step, and a log of all contacts since the start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import msgspec

from .engines.base import ObjectContact

StampT = TypeVar("StampT")


class ContactRecord(msgspec.Struct, frozen=True):
    """Contact record of two objects.

    Attributes:
        begin, end: Times at the end of the first and of the latest step in contact [s].
        steps: Number of steps in contact.
        max_depth: Max penetration in a step [m].
        max_force: Max force in a step [N].
    """

    first: str
    second: str
    begin: float
    end: float
    steps: int
    max_depth: float
    max_force: float


class ContactLog:
    """Log of all pairs that were in contact, except those that rest on each other from the start.

    It has no more records than there are pairs of objects, also if bodies are added and removed for days.
    """

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], ContactRecord] = {}
        self.resting: frozenset[tuple[str, str]] = frozenset()

    def restart(self, resting: Iterable[ObjectContact]) -> None:
        """Delete all records. The given contacts are of resting objects and are not logged."""
        self._records.clear()
        self.resting = frozenset(contact.pair for contact in resting)

    def remove(self, name: str) -> None:
        """Delete the records of a body that is removed; those of a later one of this name are others."""
        self._records = {pair: record for pair, record in self._records.items() if name not in pair}
        self.resting = frozenset(pair for pair in self.resting if name not in pair)

    def add(self, contacts: Iterable[ObjectContact], time: float) -> None:
        """Add the contacts of a step that ends at `time` [s]."""
        for contact in contacts:
            first, second, depth, force = contact.first, contact.second, contact.depth, contact.force
            pair = first, second
            if pair in self.resting:
                continue
            known = self._records.get(pair) or ContactRecord(first, second, time, time, 0, 0.0, 0.0)
            depth, force = max(known.max_depth, depth), max(known.max_force, force)
            self._records[pair] = ContactRecord(first, second, known.begin, time, known.steps + 1, depth, force)

    @property
    def records(self) -> tuple[ContactRecord, ...]:
        """Return the records, sorted by time of the first contact, then by names."""
        return tuple(sorted(self._records.values(), key=lambda record: (record.begin, record.first, record.second)))


class ContactStamps(Generic[StampT]):
    """Stamps of the begin and end of contacts, which stay the same when the clock of the stamps is set later.

    Args:
        stamp: Returns the present stamp of a time of the records.
    """

    def __init__(self, stamp: Callable[[float], StampT]) -> None:
        self._stamp = stamp
        self._known: dict[tuple[str, str], dict[float, StampT]] = {}

    def of(self, records: Iterable[ContactRecord]) -> list[tuple[StampT, StampT]]:
        """Return the stamps of all records that there are. Call it before the clock is set, too."""
        known, self._known = self._known, {}
        stamps = []
        for record in records:
            before = known.get((record.first, record.second), {})
            found = {time: before[time] if time in before else self._stamp(time) for time in (record.begin, record.end)}
            self._known[record.first, record.second] = found
            stamps.append((found[record.begin], found[record.end]))
        return stamps
