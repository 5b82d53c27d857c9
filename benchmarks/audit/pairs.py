"""Pairs of links that an audit checks, and their margins: a second implementation of the table of docs/collision.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .description import WORLD, Description


@dataclass(frozen=True)
class Pair:
    """Two links that may not be closer than their margin [m]."""

    first: str
    second: str
    margin: float


class PairRules:
    """Decides about pairs of links that have shapes."""

    def __init__(self, cell: Description) -> None:
        self._cell = cell
        self._up = {joint.child: joint for joint in cell.joints.values()}
        self._body_of: dict[str, str] = {}
        self._groups = self._group_names()
        self.links = [name for name, link in cell.links.items() if link.shapes and cell.units[name] not in cell.hidden]

    def pairs(self) -> Iterator[Pair]:
        """All pairs to check."""
        for index, first in enumerate(self.links):
            for second in self.links[index + 1 :]:
                if self._checked(first, second):
                    yield Pair(first, second, self.margin(first, second))

    def rigid_body(self, link: str) -> str:
        """The outermost link that a link is fixed to without a joint between; "world" for links that never move."""
        found = self._body_of.get(link)
        if found is None:
            joint = self._up.get(link)
            found = link if joint is None or joint.kind != "fixed" else self.rigid_body(joint.parent)
            self._body_of[link] = found
        return found

    def margin(self, first: str, second: str) -> float:
        """The margin of a pair [m]: its own, or the sum of both sides'."""
        fitting = [
            (nearness, margin)
            for one, other, margin in self._cell.pair_margins
            if (
                nearness := max(
                    self._fit(one, first) * self._fit(other, second), self._fit(one, second) * self._fit(other, first)
                )
            )
        ]
        return max(fitting)[1] if fitting else self._own_margin(first) + self._own_margin(second)

    def _own_margin(self, link: str) -> float:
        for name in (link, self._cell.units[link], "*"):
            if name in self._cell.margins:
                return self._cell.margins[name]
        return 0.0

    def _fit(self, name: str, link: str) -> int:
        return 3 if name == link else 2 if name == self._cell.units[link] else 1 if name == "*" else 0

    def _checked(self, first: str, second: str) -> bool:
        cell = self._cell
        if self.rigid_body(first) == WORLD == self.rigid_body(second):
            return False
        if self._groups[first] & self._groups[second]:
            return False
        units = cell.units[first], cell.units[second]
        if units[0] == units[1] and cell.kinds[units[0]] != "body":
            return self._checked_within(units[0], first, second)
        for one, other in ((first, second), (second, first)):
            touching = cell.touching.get(cell.units[one], frozenset())
            if cell.kinds[cell.units[one]] != "robot" and touching & {other, cell.units[other]}:
                return False
            if self._carrier(other) == one or self._holder(other) == cell.units[one]:
                return False
        return True

    def _checked_within(self, unit: str, first: str, second: str) -> bool:
        """Two links of one robot or tool."""
        if unit in self._cell.disabled:
            return frozenset((first, second)) not in self._cell.disabled[unit]
        one, other = self.rigid_body(first), self.rigid_body(second)
        return one != other and one != self._body_above(unit, other) and other != self._body_above(unit, one)

    def _body_above(self, unit: str, body: str) -> str:
        """The rigid body with shapes of the same unit beyond the joint that moves a body; "": none."""
        link = body
        while (joint := self._up.get(link)) is not None and self._cell.units.get(joint.parent) == unit:
            link = joint.parent
            if self._cell.links[link].shapes and self.rigid_body(link) != body:
                return self.rigid_body(link)
        return ""

    def _carrier(self, link: str) -> str:
        """The nearest link with shapes of another unit that a link is fixed to; "": none."""
        unit, here = self._cell.units[link], link
        while (joint := self._up.get(here)) is not None and joint.kind == "fixed" and joint.parent != WORLD:
            here = joint.parent
            if self._cell.links[here].shapes and self._cell.units[here] != unit:
                return here
        return ""

    def _holder(self, link: str) -> str:
        """The tool that a body is attached to, by way of named frames or not; "": none."""
        if self._cell.kinds.get(self._cell.units[link]) != "body":
            return ""
        parent = self._up[link].parent
        while parent != WORLD and self._cell.units[parent] not in self._cell.kinds:
            parent = self._up[parent].parent
        unit = self._cell.units.get(parent, "")
        return unit if self._cell.kinds.get(unit) == "tool" else ""

    def _group_names(self) -> dict[str, set[str]]:
        members = {group: self._members(group, {group}) for group in self._cell.ignore_groups}
        return {
            link: {group for group, names in members.items() if names & {link, unit}}
            for link, unit in self._cell.units.items()
        }

    def _members(self, group: str, seen: set[str]) -> set[str]:
        names = set(self._cell.ignore_groups[group])
        for name in list(names):
            if name in self._cell.ignore_groups and name not in seen:
                names |= self._members(name, seen | {name})
        return names
