"""Collision objects: links, tool links and bodies, the objects they are attached to, and whether they move."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ...model.cell import RobotCell
from ...model.frames import FrameKind, FrameTree, path_to_known
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
        index: Position in `ObjectTable.objects`.
        name: Frame in the cell: a robot link, "tool/link", or a body.
        kind: Link, tool or body.
        model: Name of the robot, tool or body that it is part of.
        link: Name within the model.
        shapes: Collision shapes.
        rigid_frame: Outermost frame that it is connected to without a movable joint; "world" if it never moves.
        parent_rigid_frame: Nearest such frame beyond the joint above that has shapes of the same model, or "".
        parent_object: Nearest object of another model that it is fixed to, or "".
        holding_tool: Tool that holds the body, or "".
        hidden: Whether it is excluded from all checks.
    """

    index: int
    name: str
    kind: ObjectKind
    model: str
    link: str
    shapes: tuple[Shape, ...]
    rigid_frame: str
    parent_rigid_frame: str
    parent_object: str
    holding_tool: str
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
        self._rigid = {name: name for name in (WORLD, *self._jointed)}
        for name in self._parents:
            path, frame = path_to_known(name, self._rigid, self._parents.__getitem__)
            self._rigid.update(dict.fromkeys(path, self._rigid[frame]))
        self._shapes = _shapes_by_frame(cell)
        self._models = _models_by_frame(cell)
        objects: list[CollisionObject] = []
        for robot in cell.robots.values():
            for link in robot.mechanism.links:
                self._add(objects, link, ObjectKind.LINK, robot.name, link)
        for tool in cell.tools.values():
            hidden = state.tools[tool.name].hidden
            for link in tool.mechanism.links:
                self._add(objects, tool.frame_of(link), ObjectKind.TOOL, tool.name, link, hidden)
        for body in cell.bodies:
            placed = state.bodies[body]
            holding_tool = self._holding_tool(placed.attached_to) if placed.attached_to else ""
            self._add(objects, body, ObjectKind.BODY, body, body, placed.hidden, holding_tool)
        self.objects: tuple[CollisionObject, ...] = tuple(objects)
        self.by_name: dict[str, CollisionObject] = {obj.name: obj for obj in objects}

    def _add(
        self,
        objects: list[CollisionObject],
        name: str,
        kind: ObjectKind,
        model: str,
        link: str,
        hidden: bool = False,
        holding_tool: str = "",
    ) -> None:
        shapes = self._shapes.get(name, ())
        if shapes:
            rigid = self._rigid[name]
            parent = "" if kind is ObjectKind.BODY else self._parent_rigid_frame(model, rigid)
            parent_object = self._parent_object(name, model)
            parents = (rigid, parent, parent_object, holding_tool)
            objects.append(CollisionObject(len(objects), name, kind, model, link, shapes, *parents, hidden))

    def _parent_rigid_frame(self, model: str, rigid: str) -> str:
        """Return the nearest rigid frame beyond the joint above that has shapes of the same model, or ""."""
        frame = rigid
        while frame != WORLD and self._models.get(frame) == model:
            frame = self._parents[frame]
            if self._rigid[frame] != rigid and self._models.get(frame) == model and self._shapes.get(frame):
                return self._rigid[frame]
        return ""

    def _parent_object(self, name: str, model: str) -> str:
        frame = name
        while frame != WORLD and frame not in self._jointed:
            frame = self._parents[frame]
            if self._shapes.get(frame) and self._models[frame] != model:
                return frame
        return ""

    def _holding_tool(self, frame: str) -> str:
        """Return the tool that holds a body attached to `frame`, directly or through named frames, or ""."""
        while frame != WORLD and self._tree.kind(frame) is FrameKind.FRAME:
            frame = self._parents[frame]
        kind = self._tree.kind(frame)
        if kind in (FrameKind.TOOL, FrameKind.TOOL_LINK, FrameKind.TOOL_CENTRE_POINT):
            return self._models[frame]
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


def _models_by_frame(cell: RobotCell) -> dict[str, str]:
    units = {body: body for body in cell.bodies}
    for robot in cell.robots.values():
        units.update(dict.fromkeys(robot.mechanism.links, robot.name))
    for tool in cell.tools.values():
        units.update((tool.frame_of(link), tool.name) for link in tool.mechanism.links)
        units[tool.name] = units[tool.tcp_frame] = tool.name
    return units
