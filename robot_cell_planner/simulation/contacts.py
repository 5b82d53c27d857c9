"""Contacts between named things: those of the present step, and a log of all since the start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..model.value import Vector3


@dataclass(frozen=True, order=True)
class Contact:
    """Two things that touch now, the smaller name first. depth: deepest overlap [m]; force: sum of the amounts of the
    normal forces [N]; push: what they do to the first thing, as a vector in the world [N]."""

    first: str
    second: str
    depth: float
    force: float
    push: Vector3

    @property
    def pair(self) -> tuple[str, str]:
        return self.first, self.second


@dataclass(frozen=True)
class ContactRecord:
    """Two things that have touched. begin, end: time at the end of the first and of the latest step in which they
    did [s]; steps: how many there were; max_depth [m] and max_force [N]: the largest of a step."""

    first: str
    second: str
    begin: float
    end: float
    steps: int
    max_depth: float
    max_force: float


class ContactLog:
    """Every pair that has touched, except those that rest on each other from the start."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], ContactRecord] = {}
        self.resting: frozenset[tuple[str, str]] = frozenset()

    def restart(self, resting: Iterable[Contact]) -> None:
        """Forget all records; the contacts given are those of things at rest, which are not logged."""
        self._records.clear()
        self.resting = frozenset(contact.pair for contact in resting)

    def add(self, contacts: Iterable[Contact], time: float) -> None:
        """Take in the contacts of a step that ends at `time` [s]."""
        for contact in contacts:
            if contact.pair in self.resting:
                continue
            known = self._records.get(contact.pair)
            if known is None:
                known = ContactRecord(contact.first, contact.second, time, time, 0, 0.0, 0.0)
            self._records[contact.pair] = replace(
                known,
                end=time,
                steps=known.steps + 1,
                max_depth=max(known.max_depth, contact.depth),
                max_force=max(known.max_force, contact.force),
            )

    @property
    def records(self) -> tuple[ContactRecord, ...]:
        """By time of the first touch, then by names."""
        return tuple(sorted(self._records.values(), key=lambda record: (record.begin, record.first, record.second)))
