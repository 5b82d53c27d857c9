"""Ignore groups and safety margins of a cell, resolved for single collision objects."""

from __future__ import annotations

from collections.abc import Iterable

from ...model.bodies import PairMargin
from ...model.cell import RobotCell
from .objects import CollisionObject

EVERYTHING = "*"


def unknown_names(cell: RobotCell) -> tuple[str, ...]:
    """Return the sorted names in the collision settings that do not exist in the cell.

    Such names have no effect, so that an object that is removed and added again keeps its settings. In a cell file they
    usually are spelling mistakes.
    """
    settings = cell.collision
    known = {EVERYTHING, *cell.robots, *cell.tools, *cell.bodies, *settings.ignore_groups}
    for robot in cell.robots.values():
        known.update(robot.mechanism.links)
    for tool in cell.tools.values():
        known.update(tool.frame_of(link) for link in tool.mechanism.links)
    used = {name for members in settings.ignore_groups.values() for name in members}
    used.update(settings.margins)
    used.update(name for pair in settings.pair_margins for name in (pair.first, pair.second))
    return tuple(sorted(used - known))


class IgnoreGroups:
    """Ignore groups of each name, with nested groups resolved.

    A name that is both an object and a group refers to both. Groups may contain each other in a cycle.
    """

    def __init__(self, cell: RobotCell) -> None:
        self._groups = cell.collision.ignore_groups
        self._of_name: dict[str, list[str]] = {}
        for group in sorted(self._groups):
            for name in self._members(group):
                self._of_name.setdefault(name, []).append(group)

    def _members(self, group: str) -> list[str]:
        names: dict[str, None] = {}
        pending = [group]
        opened = {group}
        while pending:
            for name in self._groups[pending.pop()]:
                names[name] = None
                if name in self._groups and name not in opened:
                    opened.add(name)
                    pending.append(name)
        return list(names)

    def of(self, obj: CollisionObject) -> tuple[str, ...]:
        """Return the groups of a collision object, by its own name or that of its robot or tool."""
        return tuple(sorted({g for name in (obj.name, obj.model) for g in self._of_name.get(name, ())}))


def common_group(first: Iterable[str], second: Iterable[str]) -> str:
    """Return the first group in alphabetical order that both have, or ""."""
    shared = sorted(set(first) & set(second))
    return shared[0] if shared else ""


class Margins:
    """Safety margins [m]. The most specific name applies: the object's own, that of its robot or tool, then "*"."""

    def __init__(self, cell: RobotCell) -> None:
        self._single = cell.collision.margins
        self._pairs = cell.collision.pair_margins
        self._paired_names = {name for pair in self._pairs for name in (pair.first, pair.second)}

    def of(self, obj: CollisionObject) -> float:
        """Return the margin [m] of a collision object; 0 if none applies."""
        return self.of_names(obj.name, obj.model)

    def of_names(self, name: str, model: str) -> float:
        """Return the margin [m] of a link or body of a robot, tool or body (`model`); 0 if none applies."""
        for each in (name, model, EVERYTHING):
            if each in self._single:
                return self._single[each]
        return 0.0

    @property
    def bound(self) -> float:
        """Upper bound of the margins of all pairs [m]."""
        return max(2.0 * max(self._single.values(), default=0.0), *(pair.margin for pair in self._pairs), 0.0)

    def paired_names(self, obj: CollisionObject) -> tuple[str, ...]:
        """Return those names of a collision object that pair margins mention."""
        return tuple(name for name in (obj.name, obj.model) if name in self._paired_names)

    def between(self, first: CollisionObject, second: CollisionObject) -> float:
        """Return the margin [m] of a pair: the pair margin if there is one, else the sum of both objects' margins.

        If several pair margins match, the one with the most specific names applies; if these are equal, the largest
        margin.
        """
        fitting = [(near, pair.margin) for pair in self._pairs if (near := _nearness(pair, first, second)) > 0]
        if fitting:
            return max(fitting)[1]
        return self.of(first) + self.of(second)


def _nearness(pair: PairMargin, first: CollisionObject, second: CollisionObject) -> int:
    """Return how specifically the names of a pair margin match two collision objects; 0: no match."""
    straight = _fit(pair.first, first) * _fit(pair.second, second)
    crossed = _fit(pair.first, second) * _fit(pair.second, first)
    return max(straight, crossed)


def _fit(name: str, obj: CollisionObject) -> int:
    if name == obj.name:
        return 3
    if name == obj.model:
        return 2
    return 1 if name == EVERYTHING else 0
