"""Allowed pairs: which pairs of collision objects of a cell are checked, and at what distance.

CC.1 to CC.5 are the steps of compas_fab's collision check; CC.6 and CC.7 are pairs that compas_fab does not check. The
pairs depend on attachments, touch lists, hidden objects and collision settings, never on joint values or poses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

from ...errors import InvalidValueError, LimitExceededError, Value
from ...model.arguments import checked_fields
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from .objects import CollisionObject, ObjectKind, ObjectTable
from .pair_settings import IgnoreGroups, Margins, common_group

MAX_EXTRA_MARGIN = 10.0  # [m]
MAX_FIXED_OBJECTS = 1000  # if fixed pairs are checked: their number grows with the square


class PairType(IntEnum):
    """Types of pairs: the steps of a collision check, `CC.1` to `CC.7`. The numbers are those of the ROS messages."""

    LINK_LINK = 1  # link and link
    LINK_TOOL = 2  # link and tool
    LINK_BODY = 3  # link and body
    BODY_BODY = 4  # attached body and body
    TOOL_BODY = 5  # tool and body
    TOOL_TOOL = 6  # tool and tool
    WITHIN_TOOL = 7  # links of one tool

    def __str__(self) -> str:
        return f"CC.{self.value}"


ALL_PAIR_TYPES = tuple(PairType)


@checked_fields
@dataclass(frozen=True)
class CollisionOptions:
    """Scope of a collision check.

    Attributes:
        extra_margin: Distance in addition to the margins of the cell [m].
        pair_types: Types of pairs to check.
        fixed_pairs: Also check objects that cannot move relative to each other and are not checked otherwise: two
            stationary objects, such as the base of a robot and a wall, a tool or body and what carries it, and links
            that are fixed to each other if the SRDF of their robot does not disable the pair. A tool and a body that it
            holds may touch in any case.

    Raises:
        InvalidValueError: The margin is not within 0 to 10 m.
    """

    extra_margin: float = 0.0
    pair_types: tuple[PairType, ...] = ALL_PAIR_TYPES
    fixed_pairs: bool = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.extra_margin <= MAX_EXTRA_MARGIN:
            raise InvalidValueError(f"extra_margin is {self.extra_margin} m, expected 0 to {MAX_EXTRA_MARGIN:g}")


DEFAULT_OPTIONS = CollisionOptions()


class CheckedPair(NamedTuple):
    """A pair to check; it collides if its distance is below `margin` [m]."""

    pair_type: PairType
    first: str
    second: str
    margin: float


class SkippedPair(NamedTuple):
    """A pair that is not checked, with the reason."""

    pair_type: PairType
    first: str
    second: str
    reason: str


class Partner(NamedTuple):
    """Index of a moving collision object that a stationary one is checked against, and the margin [m]."""

    moving: int
    margin: float


@dataclass(frozen=True)
class StaticRow:
    """Stationary collision objects that are checked against the same moving objects at the same margins."""

    objects: tuple[int, ...]
    partners: tuple[Partner, ...]


_PAIR_TYPES = {
    (ObjectKind.LINK, ObjectKind.LINK): PairType.LINK_LINK,
    (ObjectKind.LINK, ObjectKind.TOOL): PairType.LINK_TOOL,
    (ObjectKind.LINK, ObjectKind.BODY): PairType.LINK_BODY,
    (ObjectKind.BODY, ObjectKind.BODY): PairType.BODY_BODY,
    (ObjectKind.TOOL, ObjectKind.BODY): PairType.TOOL_BODY,
    (ObjectKind.TOOL, ObjectKind.TOOL): PairType.TOOL_TOOL,
}


def pair_type(first: ObjectKind, second: ObjectKind, *, same_model: bool) -> PairType:
    """Return the type of a pair of objects of these kinds in the order link, tool, body. same_model: whether they are
    parts of the same robot, tool or body."""
    if first is ObjectKind.TOOL and second is ObjectKind.TOOL and same_model:
        return PairType.WITHIN_TOOL
    return _PAIR_TYPES[first, second]


class AllowedPairs:
    """Allowed pairs of a cell for one attachment topology.

    A pair is checked unless one of these conditions holds; the first that does is reported as the reason:

    - the pair type is not requested;
    - one object is hidden;
    - neither object can move in the world, unless `fixed_pairs` are requested;
    - both are links of one robot: its SRDF disables the pair, or they are fixed to each other, unless `fixed_pairs` are
      requested; a robot without an SRDF skips these in any case, and links that are neighbours at a joint;
    - both are links of one tool: fixed to each other, or neighbours at a joint;
    - one is attached to the other: the nearest object with shapes that a tool or body is fixed to; unless
      `fixed_pairs` are requested;
    - a tool holds the body;
    - a touch list of either object names the other, or its robot or tool;
    - an ignore group contains both.
    """

    def __init__(self, cell: RobotCell, state: RobotCellState, options: CollisionOptions = DEFAULT_OPTIONS) -> None:
        self._options = options
        table = ObjectTable(cell, state)
        self.objects, self.by_name = table.objects, table.by_name
        self._ignored = IgnoreGroups(cell)
        self._margins = Margins(cell)
        self._groups = {obj.index: self._ignored.of(obj) for obj in self.objects}
        self._touching = {obj.index: _touch_list(state, obj) for obj in self.objects}
        self._disabled = {
            robot.name: {frozenset((pair.first, pair.second)): pair.reason for pair in robot.disabled_pairs}
            for robot in cell.robots.values()
        }
        self._without_srdf = {
            name for name, robot in cell.robots.items() if not robot.disabled_pairs and not robot.sources.srdf
        }
        shown = [obj for obj in self.objects if not obj.hidden]
        self.moving = tuple(obj.index for obj in shown if obj.moves or options.fixed_pairs)
        self.static = tuple(obj.index for obj in shown if not (obj.moves or options.fixed_pairs))
        if options.fixed_pairs and len(self.moving) > MAX_FIXED_OBJECTS:
            number = Value("objects", len(self.moving), MAX_FIXED_OBJECTS)
            raise LimitExceededError("too many objects for fixed_pairs", stage="collision", values=(number,))

    def pair_type(self, first: CollisionObject, second: CollisionObject) -> PairType:
        """Return the type of a pair; the objects are in index order."""
        return pair_type(first.kind, second.kind, same_model=first.model == second.model)

    def _reason_to_skip(self, pair_type: PairType, first: CollisionObject, second: CollisionObject) -> str:
        """Return why a pair is not checked; "" if it is checked."""
        if pair_type not in self._options.pair_types:
            return "its pair type is not requested"
        if first.hidden or second.hidden:
            return f"{(first if first.hidden else second).name} is hidden"
        if not (first.moves or second.moves or self._options.fixed_pairs):
            return "neither moves"
        if first.kind is not ObjectKind.BODY and first.kind is second.kind and first.model == second.model:
            reason = self._reason_within(first, second)
        else:
            attached = _reason_held(first, second)
            if not attached and not self._options.fixed_pairs:
                attached = _reason_attached(first, second)
            reason = attached or self._reason_touching(first, second)
        if reason:
            return reason
        group = common_group(self._groups[first.index], self._groups[second.index])
        return f"ignore group {group}" if group else ""

    def _reason_within(self, first: CollisionObject, second: CollisionObject) -> str:
        """Return why two links of one robot or tool are not checked; "" if they are."""
        disabled = self._disabled.get(first.model, {}) if first.kind is ObjectKind.LINK else {}
        pair = frozenset((first.name, second.name))
        if pair in disabled:
            return f"SRDF: {disabled[pair]}" if disabled[pair] else "SRDF"
        without_pairs = first.kind is ObjectKind.TOOL or first.model in self._without_srdf
        if first.rigid_frame == second.rigid_frame and (without_pairs or not self._options.fixed_pairs):
            return "fixed to each other"
        by_joint = first.rigid_frame == second.parent_rigid_frame or second.rigid_frame == first.parent_rigid_frame
        return "neighbours at a joint" if without_pairs and by_joint else ""

    def _reason_touching(self, first: CollisionObject, second: CollisionObject) -> str:
        for one, other in ((first, second), (second, first)):
            for name in (other.name, other.model):
                if name in self._touching[one.index]:
                    return f"touch list of {one.model}"
        return ""

    def pair(self, first: str, second: str) -> CheckedPair | SkippedPair:
        """Return how two collision objects, given by name in any order, are treated.

        Raises:
            KeyError: One of the names has no collision shape.
        """
        one, other = sorted((self.by_name[first], self.by_name[second]), key=lambda obj: obj.index)
        return self._verdict(one, other)

    def _verdict(self, one: CollisionObject, other: CollisionObject) -> CheckedPair | SkippedPair:
        pair_type = self.pair_type(one, other)
        reason = self._reason_to_skip(pair_type, one, other)
        if reason:
            return SkippedPair(pair_type, one.name, other.name, reason)
        margin = self._margins.between(one, other) + self._options.extra_margin
        return CheckedPair(pair_type, one.name, other.name, margin)

    @cached_property
    def moving_pairs(self) -> tuple[tuple[int, int, float], ...]:
        """Checked pairs of two moving objects: both indices and the margin [m]."""
        pairs: list[tuple[int, int, float]] = []
        for place, i in enumerate(self.moving):
            for j in self.moving[place + 1 :]:
                verdict = self._verdict(self.objects[i], self.objects[j])
                if isinstance(verdict, CheckedPair):
                    pairs.append((i, j, verdict.margin))
        return tuple(pairs)

    @cached_property
    def static_rows(self) -> tuple[StaticRow, ...]:
        """Stationary objects, grouped by the moving objects that they are checked against.

        Objects without a checked pair are omitted. Objects that the rules treat alike are evaluated once, so that a
        thousand similar obstacles cost little more than one.
        """
        partners_of: dict[tuple[object, ...], tuple[Partner, ...]] = {}
        rows: dict[tuple[Partner, ...], list[int]] = {}
        mentioned = self._mentioned_names()
        for index in self.static:
            obj = self.objects[index]
            signature = self._signature(obj, mentioned)
            if signature not in partners_of:
                partners_of[signature] = self._partners(obj)
            rows.setdefault(partners_of[signature], []).append(index)
        return tuple(StaticRow(tuple(objects), partners) for partners, objects in rows.items() if partners)

    def _mentioned_names(self) -> set[str]:
        names = {name for index in self.moving for name in self._touching[index]}
        return names

    def _signature(self, obj: CollisionObject, mentioned: set[str]) -> tuple[object, ...]:
        """Return all properties that the rules depend on; objects with equal signatures have equal rows."""
        if obj.kind is not ObjectKind.BODY or obj.name in mentioned:
            return (obj.name,)
        return (
            obj.holding_tool,
            self._touching[obj.index],
            self._groups[obj.index],
            self._margins.of(obj),
            self._margins.paired_names(obj),
        )

    def _partners(self, obj: CollisionObject) -> tuple[Partner, ...]:
        partners: list[Partner] = []
        for index in self.moving:
            one, other = sorted((obj, self.objects[index]), key=lambda side: side.index)
            verdict = self._verdict(one, other)
            if isinstance(verdict, CheckedPair):
                partners.append(Partner(index, verdict.margin))
        return tuple(partners)

    def checked(self) -> list[CheckedPair]:
        """Return all checked pairs, by step and then by names."""
        pairs = list(self.moving_pairs)
        for row in self.static_rows:
            pairs.extend((obj, partner.moving, partner.margin) for obj in row.objects for partner in row.partners)
        return sorted(self.as_pair(i, j, margin) for i, j, margin in pairs)

    @cached_property
    def pair_count(self) -> int:
        """Number of checked pairs."""
        static = sum(len(row.objects) * len(row.partners) for row in self.static_rows)
        return len(self.moving_pairs) + static

    @property
    def skipped_count(self) -> int:
        """Number of pairs that are not checked."""
        return len(self.objects) * (len(self.objects) - 1) // 2 - self.pair_count

    def as_pair(self, first: int, second: int, margin: float) -> CheckedPair:
        """Return a pair of collision objects, given by index, with its step."""
        one, other = self.objects[min(first, second)], self.objects[max(first, second)]
        return CheckedPair(self.pair_type(one, other), one.name, other.name, margin)

    def skipped(self) -> Iterator[SkippedPair]:
        """Yield the pairs that are not checked, in index order; n objects have up to n (n - 1) / 2 of them."""
        for i, one in enumerate(self.objects):
            for other in self.objects[i + 1 :]:
                verdict = self._verdict(one, other)
                if isinstance(verdict, SkippedPair):
                    yield verdict


def _reason_held(first: CollisionObject, second: CollisionObject) -> str:
    for one, other in ((first, second), (second, first)):
        if other.holding_tool and one.kind is ObjectKind.TOOL and other.holding_tool == one.model:
            return f"{one.model} holds {other.name}"
    return ""


def _reason_attached(first: CollisionObject, second: CollisionObject) -> str:
    for one, other in ((first, second), (second, first)):
        if other.parent_object == one.name:
            return f"{one.name} carries {other.name}"
    return ""


def _touch_list(state: RobotCellState, obj: CollisionObject) -> tuple[str, ...]:
    """Return the names that a collision object may touch. Links of robots have no touch list of their own."""
    if obj.kind is ObjectKind.LINK:
        return ()
    placed = state.tools[obj.model] if obj.kind is ObjectKind.TOOL else state.bodies[obj.model]
    return (*placed.touch_links, *placed.touch_bodies)
