"""The allowed collision matrix of MoveIt and the ignore groups of the cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from moveit_msgs.msg import AllowedCollisionEntry, AllowedCollisionMatrix, LinkPadding, LinkScale

from robot_cell_planner.msg import IgnoreGroup, SafetyMargin, SceneChange

from ...collision.pairs.link_pairs import unchecked_link_pairs
from ...errors import InvalidRequestError, LimitExceededError, NotSupportedError, UnknownNameError, Value
from ...model.cell import RobotCell
from ...model.name_suggestions import unknown_name
from ..conversions.basic import check_count

PREFIX = "moveit: "  # of the names of ignore groups that represent an entry of a matrix
MAX_NAMES = 1_000
MAX_CHANGED = 20_000
MAX_PADDING = 10.0  # [m]
Pair = frozenset[str]


def group_name(pair: Pair) -> str:
    """Return the name of the ignore group of an allowed pair."""
    return PREFIX + " - ".join(sorted(pair))


class CollisionRules:
    """The rules of a cell that allow pairs to collide: those of the SRDF and ignore groups of any size.

    pairs: those of the SRDF, each with its rule; groups: members of the ignore groups, by name; unchecked: pairs of
    links of one robot or tool that need no rule, since they are fixed to each other or neighbours at a joint, each with
    the reason. MoveIt's services never check these.
    """

    def __init__(self, cell: RobotCell) -> None:
        self.pairs: dict[Pair, str] = {}
        for robot in cell.robots.values():
            for pair in robot.disabled_pairs:
                self.pairs.setdefault(frozenset((pair.first, pair.second)), f"the SRDF of {robot.name}")
        found = [unchecked_link_pairs(robot) for robot in cell.robots.values()]
        found += [unchecked_link_pairs(tool) for tool in cell.tools.values()]
        self.unchecked = {pair: why for pairs in found for pair, why in pairs.items() if pair not in self.pairs}
        self.groups = {name: _members(cell, name) for name in sorted(cell.collision.ignore_groups)}
        self._groups_of: dict[str, set[str]] = {}
        for name, members in self.groups.items():
            for member in members:
                self._groups_of.setdefault(member, set()).add(name)

    def rule(self, pair: Pair) -> str:
        """Return the rule that allows a pair of two objects, "" if none does."""
        if pair in self.pairs:
            return self.pairs[pair]
        first, second = (self._groups_of.get(name, set()) for name in pair)
        return f"ignore group {min(first & second)}" if first & second else self.unchecked.get(pair, "")

    @property
    def names(self) -> set[str]:
        """Return the objects of allowed pairs."""
        grouped = (name for members in self.groups.values() if len(members) > 1 for name in members)
        return {*grouped, *(name for pair in self.pairs for name in pair)}


def _members(cell: RobotCell, group: str) -> set[str]:
    """Return the links and bodies of an ignore group, with those of its robots, tools and nested groups."""
    members, pending, opened = set[str](), [group], {group}
    while pending:
        for name in cell.collision.ignore_groups[pending.pop()]:
            members.update(_objects_of(cell, name))
            if name in cell.collision.ignore_groups and name not in opened:
                opened.add(name)
                pending.append(name)
    return members


def _objects_of(cell: RobotCell, name: str) -> Iterator[str]:
    if name in cell.robots:
        yield from cell.robots[name].mechanism.links
    elif name in cell.tools:
        yield from map(cell.tools[name].frame_of, cell.tools[name].mechanism.links)
    else:
        yield name


def collision_names(cell: RobotCell) -> list[str]:
    """Return the links of robots and tools that have a collision shape, in the order of the models."""
    names: list[str] = []
    for robot in cell.robots.values():
        names += [link for link, model in robot.mechanism.links.items() if model.collisions]
    for tool in cell.tools.values():
        names += [tool.frame_of(link) for link, model in tool.mechanism.links.items() if model.collisions]
    return names


def matrix_names(cell: RobotCell) -> list[str]:
    """Return the names in the matrix of a cell: the links, and those bodies that a rule names."""
    named = CollisionRules(cell).names
    return [*collision_names(cell), *(body for body in cell.bodies if body in named)]


def matrix_message(cell: RobotCell) -> AllowedCollisionMatrix:
    """Return the matrix of a cell; an empty one if it would have more than MAX_NAMES names."""
    rules, names = CollisionRules(cell), matrix_names(cell)
    if len(names) > MAX_NAMES:
        return AllowedCollisionMatrix()
    columns = {name: column for column, name in enumerate(names)}
    allowed = np.zeros((len(names), len(names)), bool)
    for members in (*rules.pairs, *rules.unchecked, *rules.groups.values()):
        inside = [columns[name] for name in members if name in columns]
        allowed[np.ix_(inside, inside)] = True
    np.fill_diagonal(allowed, val=False)
    rows = [AllowedCollisionEntry(enabled=row) for row in allowed.tolist()]
    return AllowedCollisionMatrix(entry_names=names, entry_values=rows)


def requested_pairs(message: AllowedCollisionMatrix, known: Sequence[str], field: str) -> dict[Pair, bool]:
    """Return whether each pair of a matrix is allowed. known: names that default entries apply to.

    Raises:
        InvalidRequestError: Rows of a wrong length, or a matrix that is not symmetric.
        LimitExceededError: Too many names.
    """
    names = list(message.entry_names)
    check_count(len(names), MAX_NAMES, f"{field}.entry_names", "names")
    check_count(len(message.default_entry_names), MAX_NAMES, f"{field}.default_entry_names", "names")
    if len(message.entry_values) != len(names) or any(len(row.enabled) != len(names) for row in message.entry_values):
        text = f"{field} has {len(names)} names, expected as many rows of as many values"
        raise InvalidRequestError(text, subjects=(field,))
    if len(message.default_entry_names) != len(message.default_entry_values):
        counts = f"{len(message.default_entry_names)} default_entry_names"
        text = f"{field} has {counts} and {len(message.default_entry_values)} default_entry_values, expected as many"
        raise InvalidRequestError(text, subjects=(field,))
    requested: dict[Pair, bool] = {}
    for name, value in zip(message.default_entry_names, message.default_entry_values, strict=True):
        requested.update({frozenset((name, other)): bool(value) for other in known if other != name})
    rows = [row.enabled for row in message.entry_values]
    for (i, first), (j, second) in combinations(enumerate(names), 2):
        if rows[i][j] != rows[j][i]:
            text = f"{field} allows {first} - {second} in one order only; the matrix is to be symmetric"
            raise InvalidRequestError(text, subjects=(first, second))
        if first != second:
            requested[frozenset((first, second))] = bool(rows[i][j])
    return requested


def matrix_changes(
    cell: RobotCell, message: AllowedCollisionMatrix, bodies: Sequence[str], field: str = "allowed_collision_matrix"
) -> list[SceneChange]:
    """Return the change that makes the allowed pairs those of a matrix: an ignore group for each new pair.

    bodies: those of the cell at that time. Pairs that the matrix does not contain are left alone, as are links that are
    never checked, which a matrix that a client makes of an SRDF need not allow.

    Raises:
        UnknownNameError: The cell does not have an object of a new pair.
        NotSupportedError: A pair is to be checked that another rule of the cell allows.
    """
    rules = CollisionRules(cell)
    known = {*_all_names(cell), *bodies}
    groups: list[IgnoreGroup] = []
    for pair, allowed in requested_pairs(message, sorted(known), field).items():
        rule = rules.rule(pair)
        if allowed == bool(rule) or pair in rules.unchecked:
            continue
        for name in sorted(pair - known):
            raise UnknownNameError(unknown_name(f"{field}: {name!r}", name, sorted(known)), subjects=(name,))
        name = group_name(pair)
        if not allowed and rule != f"ignore group {name}":
            text = f"{field}: {' - '.join(sorted(pair))} cannot be checked: {rule} allows it"
            raise NotSupportedError(text, subjects=tuple(sorted(pair)))
        groups.append(IgnoreGroup(name=name, members=sorted(pair) if allowed else []))
    if len(groups) > MAX_CHANGED:
        number = Value("pairs", len(groups), MAX_CHANGED)
        raise LimitExceededError(f"{field} changes too many pairs", subjects=(field,), values=(number,))
    if not groups:
        return []
    change = SceneChange(operation=SceneChange.SET_COLLISION)
    change.models.collision.ignore_groups = groups
    return [change]


def _all_names(cell: RobotCell) -> list[str]:
    """Return all links of robots and tools, with or without a shape."""
    names = [link for robot in cell.robots.values() for link in robot.mechanism.links]
    return names + [tool.frame_of(link) for tool in cell.tools.values() for link in tool.mechanism.links]


# Padding and scale.


def paddings(cell: RobotCell) -> dict[str, float]:
    """Return the safety margin of each link with a collision shape [m]."""
    margins = cell.collision.margins
    found: dict[str, float] = {}
    for name in collision_names(cell):
        found[name] = margins.get(name, 0.0)
    return found


def padding_messages(cell: RobotCell) -> tuple[list[LinkPadding], list[LinkScale]]:
    """Return padding and scale of all links."""
    padding = paddings(cell)
    scales = [LinkScale(link_name=name, scale=1.0) for name in padding]
    return [LinkPadding(link_name=name, padding=value) for name, value in padding.items()], scales


def padding_changes(cell: RobotCell, padding: Sequence[LinkPadding], scale: Sequence[LinkScale]) -> list[SceneChange]:
    """Return the change that makes the safety margins of links those of a message.

    Raises:
        UnknownNameError: A link is unknown.
        InvalidRequestError: A padding is not within 0 to 10 m.
        NotSupportedError: A scale other than 1.
    """
    known, present = _all_names(cell), paddings(cell)
    check_count(len(padding) + len(scale), MAX_CHANGED, "link_padding", "links")
    for name in (*(entry.link_name for entry in padding), *(entry.link_name for entry in scale)):
        if name not in known:
            raise UnknownNameError(unknown_name(f"link {name!r}", name, known), subjects=(name,))
    for resized in scale:
        if resized.scale != 1.0:
            text = f"link_scale of {resized.link_name} is {resized.scale:g}, expected 1; use link_padding"
            raise NotSupportedError(text, subjects=(resized.link_name,))
    requested: Mapping[str, float] = {entry.link_name: entry.padding for entry in padding}
    for link, value in requested.items():
        if not 0.0 <= value <= MAX_PADDING:
            text = f"link_padding of {link} is {value:g} m, expected 0 to {MAX_PADDING:g} m"
            raise InvalidRequestError(text, subjects=(link,), values=(Value("padding", value, MAX_PADDING, "m"),))
    changed = {link: value for link, value in requested.items() if value != present.get(link, 0.0)}
    if not changed:
        return []
    change = SceneChange(operation=SceneChange.SET_COLLISION)
    change.models.collision.margins = [SafetyMargin(name=link, margin=value) for link, value in changed.items()]
    return [change]
