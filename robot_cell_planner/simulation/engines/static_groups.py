"""Groups of static bodies that are one object of an engine, which takes time for each of its objects in each step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...collision.geometry.collision_geometry import local_bounds
from ...model.pose import IDENTITY, Pose
from ...model.value import Vector3
from ..multibody.multibodies import Multibody, Part
from ..multibody.solids import MAX_SHAPES_PER_GROUP, PlacedGeometry, SolidGroup, is_points

MIN_COUNT = 100  # bodies from which on they are grouped
MAX_OPEN = 8  # groups with room that the next body may join
GRID_BITS = 12  # of a coordinate in the grid that orders bodies
GAP = 2e-3  # [m] min distance between the bounding boxes of the bodies of a group, so that a point of contact is in one


class Member(NamedTuple):
    """Body of a group: number of its multibody, name, pose in the world, geometries at their poses in the world, and
    the corners of their bounding box [m]."""

    number: int
    name: str
    pose: Pose
    solids: SolidGroup
    lower: Vector3
    upper: Vector3

    def is_near(self, other: Member) -> bool:
        """Return whether the distance of the bounding boxes along each axis is less than GAP."""
        one, two = zip(self.lower, self.upper, strict=True), zip(other.lower, other.upper, strict=True)
        return all(a < d + GAP and c < b + GAP for (a, b), (c, d) in zip(one, two, strict=True))

    def beyond(self, point: Vector3) -> float:
        """Return how far a point is beyond a face of the bounding box [m]; at most 0 inside."""
        rows = zip(self.lower, point, self.upper, strict=True)
        return max(max(lower - at, at - upper) for lower, at, upper in rows)


Group = list[Member]


class StaticGroups:
    """Which static bodies are in a group, and in which.

    Args:
        enabled: Whether there are any groups.

    Attributes:
        members: Members of each group, by the number of its body in the engine.
        poses: world_T_body of the members, by the numbers of their multibodies.
    """

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
        self.members: dict[int, Sequence[Member]] = {}
        self.poses: dict[int, Pose] = {}
        self._alone: dict[int, Multibody] = {}  # those that can join a group

    def split(self, multibodies: Mapping[int, Multibody]) -> tuple[dict[int, Multibody], list[Group]]:
        """Return the multibodies that are not in a group, by number, and the groups of the others."""
        joining = {number: item for number, item in multibodies.items() if self._enabled and _can_join(item)}
        if len(joining) < MIN_COUNT:
            joining = {}
        return {k: v for k, v in multibodies.items() if k not in joining}, _groups_of(joining)

    def with_another(self, number: int, multibody: Multibody) -> list[Group]:
        """Return the groups of those that are not in one, once there are enough of them with another multibody."""
        if not (self._enabled and _can_join(multibody)):
            return []
        self._alone[number] = multibody
        return _groups_of(self._alone) if len(self._alone) >= MIN_COUNT else []

    def take(self, body: int, members: Sequence[Member]) -> dict[int, int]:
        """Take note of a group that is a body in the engine; return that body by the numbers of the members."""
        self.members[body] = members
        for member in members:
            self._alone.pop(member.number, None)
            self.poses[member.number] = member.pose
        return dict.fromkeys((member.number for member in members), body)

    def without(self, body: int, number: int) -> list[Group]:
        """Take note that a body of the engine and a multibody in it are gone; return what remains of its group."""
        self._alone.pop(number, None)
        self.poses.pop(number, None)
        others = [member for member in self.members.pop(body, ()) if member.number != number]
        return [others] if others else []

    def name_at(self, body: int, point: Vector3) -> str:
        """Return the name of the object that a point of contact [m] with a body of the engine belongs to."""
        return min(self.members.get(body, ()), key=lambda member: member.beyond(point)).name


def as_multibody(members: Iterable[Member]) -> Multibody:
    """Return the multibody of a group, whose object has no name."""
    solids = tuple(solid for member in members for solid in member.solids)
    return Multibody("", True, True, [Part("", -1, IDENTITY, geometries=solids)])


def _can_join(multibody: Multibody) -> bool:
    """Return whether a multibody can be in a group: a static one of primitives."""
    geometries = multibody.parts[0].geometries
    alone = multibody.still and len(multibody.parts) == 1
    return alone and bool(geometries) and not any(is_points(entry.solid) for entry in geometries)


def _groups_of(multibodies: Mapping[int, Multibody]) -> list[Group]:
    """Return groups of multibodies that can be in one, by number; those of a group are close to each other, because the
    engine compares each pair of its objects whose bounding boxes overlap."""
    found: list[Group] = []
    opened: list[Group] = []
    for member in _in_spatial_order([_member(number, each.parts[0]) for number, each in multibodies.items()]):
        group = next((group for group in opened if _takes(group, member)), None)
        if group is None:
            group = []
            found.append(group)
            opened = [*opened, group][-MAX_OPEN:]
        group.append(member)
        if _count(group) >= MAX_SHAPES_PER_GROUP:
            opened.remove(group)
    return found


def _in_spatial_order(members: Sequence[Member]) -> list[Member]:
    """Return members in the order of a curve through a grid of their centres, on which neighbours are close.

    Source: Morton, A computer oriented geodetic data base, 1966.
    """
    if not members:
        return []
    centres = np.array([0.5 * np.add(member.lower, member.upper) for member in members])
    lower = centres.min(axis=0)
    cells = ((centres - lower) * (2**GRID_BITS - 1) / max(float(np.max(centres - lower)), GAP)).astype(np.int64)
    bits = cells[:, None, :] >> np.arange(GRID_BITS - 1, -1, -1)[:, None] & 1  # the highest first, of all axes
    codes = bits.reshape(len(members), -1) @ (1 << np.arange(3 * GRID_BITS - 1, -1, -1))
    return [members[index] for index in np.argsort(codes, kind="stable")]


def _takes(group: Group, member: Member) -> bool:
    """Return whether a group has room for a body, and none that is near it."""
    return _count([*group, member]) <= MAX_SHAPES_PER_GROUP and not any(map(member.is_near, group))


def _count(group: Group) -> int:
    """Return the number of shapes of a group."""
    return sum(len(member.solids) for member in group)


def _member(number: int, part: Part) -> Member:
    solids = tuple(PlacedGeometry(entry.solid, part.pose @ entry.pose) for entry in part.geometries)
    corners = []
    for solid, pose in solids:
        lower, upper = local_bounds(solid)
        rotation = pose.matrix[:3, :3]
        centre = rotation @ (0.5 * (lower + upper)) + np.array(pose.position)
        half = np.abs(rotation) @ (0.5 * (upper - lower))
        corners.append((centre - half, centre + half))
    lowers, uppers = zip(*corners, strict=True)
    lower, upper = np.min(lowers, axis=0).tolist(), np.max(uppers, axis=0).tolist()
    box = (lower[0], lower[1], lower[2]), (upper[0], upper[1], upper[2])
    return Member(number, part.object_name, part.pose, solids, *box)
