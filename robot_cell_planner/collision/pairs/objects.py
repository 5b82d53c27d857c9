"""Collision objects: links, tool links and bodies, the objects they are attached to, and whether they move."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ...model.cell import RobotCell
from ...model.frames import FrameKind, FrameTree
from ...model.geometry import Shape
from ...model.mechanism import JointKind, Mechanism
from ...model.state import RobotCellState
from ...model.value import WORLD


class ObjectKind(str, Enum):
    """Kind of a collision object: link of a robot, link of a tool, or body."""

    LINK = "link"
    TOOL = "tool"
    BODY = "body"


@dataclass(frozen=True)
class CollisionObject:
    """A link, tool link or body with collision shapes.

    Attributes:
        index: position in `ObjectTable.owners`.
        name: frame in the cell: a robot link, "tool/link", or a body.
        kind: link, tool or body.
        unit: name of the robot, tool or body that it is part of.
        link: name within the unit.
        shapes: collision shapes.
        rigid_frame: outermost frame that it is connected to without a movable joint; "world" if it never moves.
        parent_rigid_frame: nearest such frame beyond the joint above that has shapes of the same unit, or "".
        carrier: nearest object of another unit that it is fixed to, or "".
        held_by: tool that holds the body, or "".
        hidden: whether it is excluded from all checks.
    """

    index: int
    name: str
    kind: ObjectKind
    unit: str
    link: str
    shapes: tuple[Shape, ...]
    rigid_frame: str
    parent_rigid_frame: str
    carrier: str
    held_by: str
    hidden: bool

    @property
    def moves(self) -> bool:
        """Whether a joint can move the object in the world."""
        return self.rigid_frame != WORLD


class ObjectTable:
    """All collision objects of a cell in one attachment topology: robot links first, then tool links, then bodies.

    Objects without collision shapes are omitted.
    """

    def __init__(self, cell: RobotCell, state: RobotCellState) -> None:
        self._tree = FrameTree(cell, state)
        self._parents = self._tree.parents
        self._jointed = _jointed_frames(cell)
        self._rigid: dict[str, str] = {WORLD: WORLD}
        for name in self._parents:
            self._find_rigid_frame(name)
        self._shapes = _shapes_by_frame(cell)
        self._units = _units_by_frame(cell)
        owners: list[CollisionObject] = []
        for robot in cell.robots.values():
            for link in robot.mechanism.links:
                self._add(owners, link, ObjectKind.LINK, robot.name, link)
        for tool in cell.tools.values():
            hidden = state.tools[tool.name].hidden
            for link in tool.mechanism.links:
                self._add(owners, tool.frame_of(link), ObjectKind.TOOL, tool.name, link, hidden)
        for body in cell.bodies:
            placed = state.bodies[body]
            held_by = self._holder(placed.attached_to) if placed.attached_to else ""
            self._add(owners, body, ObjectKind.BODY, body, body, placed.hidden, held_by)
        self.owners: tuple[CollisionObject, ...] = tuple(owners)
        self.by_name: dict[str, CollisionObject] = {owner.name: owner for owner in owners}

    def _find_rigid_frame(self, name: str) -> None:
        trail: list[str] = []
        frame = name
        while frame not in self._rigid:
            trail.append(frame)
            if frame in self._jointed:
                self._rigid[frame] = frame
                break
            frame = self._parents[frame]
        for passed in trail:
            self._rigid[passed] = self._rigid[frame]

    def _add(
        self,
        owners: list[CollisionObject],
        name: str,
        kind: ObjectKind,
        unit: str,
        link: str,
        hidden: bool = False,
        held_by: str = "",
    ) -> None:
        shapes = self._shapes.get(name, ())
        if shapes:
            rigid = self._rigid[name]
            parent = "" if kind is ObjectKind.BODY else self._parent_rigid_frame(unit, rigid)
            carrier = self._carrier(name, unit)
            owners.append(
                CollisionObject(len(owners), name, kind, unit, link, shapes, rigid, parent, carrier, held_by, hidden)
            )

    def _parent_rigid_frame(self, unit: str, rigid: str) -> str:
        """Return the nearest rigid frame beyond the joint above that has shapes of the same unit, or ""."""
        frame = rigid
        while frame != WORLD and self._units.get(frame) == unit:
            frame = self._parents[frame]
            if self._rigid[frame] != rigid and self._units.get(frame) == unit and self._shapes.get(frame):
                return self._rigid[frame]
        return ""

    def _carrier(self, name: str, unit: str) -> str:
        frame = name
        while frame != WORLD and frame not in self._jointed:
            frame = self._parents[frame]
            if self._shapes.get(frame) and self._units[frame] != unit:
                return frame
        return ""

    def _holder(self, frame: str) -> str:
        """Return the tool that holds a body attached to `frame`, directly or through named frames, or ""."""
        while frame != WORLD and self._tree.kind(frame) is FrameKind.FRAME:
            frame = self._parents[frame]
        kind = self._tree.kind(frame)
        if kind in (FrameKind.TOOL, FrameKind.TOOL_LINK, FrameKind.TOOL_CENTRE_POINT):
            return self._units[frame]
        return ""


def _jointed_frames(cell: RobotCell) -> set[str]:
    """Return the frames that a movable joint connects to their parent frame."""
    names: set[str] = set()
    for robot in cell.robots.values():
        names.update(_moved_links(robot.mechanism))
    for tool in cell.tools.values():
        names.update(tool.frame_of(link) for link in _moved_links(tool.mechanism))
    return names


def _moved_links(mechanism: Mechanism) -> list[str]:
    return [joint.child for joint in mechanism.joints.values() if joint.kind is not JointKind.FIXED]


def _shapes_by_frame(cell: RobotCell) -> dict[str, tuple[Shape, ...]]:
    shapes = {body.name: body.collisions for body in cell.bodies.values()}
    for robot in cell.robots.values():
        shapes.update((link.name, link.collisions) for link in robot.mechanism.links.values())
    for tool in cell.tools.values():
        shapes.update((tool.frame_of(link.name), link.collisions) for link in tool.mechanism.links.values())
    return shapes


def _units_by_frame(cell: RobotCell) -> dict[str, str]:
    units = {body: body for body in cell.bodies}
    for robot in cell.robots.values():
        units.update(dict.fromkeys(robot.mechanism.links, robot.name))
    for tool in cell.tools.values():
        units.update((tool.frame_of(link), tool.name) for link in tool.mechanism.links)
        units[tool.name] = units[tool.tcp_frame] = tool.name
    return units
