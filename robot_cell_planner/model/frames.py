"""Frame tree of a cell in a state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping
from enum import Enum
from functools import cached_property
from itertools import compress
from operator import attrgetter
from typing import Protocol

from ..errors import FrameCycleError, NotSupportedError, UnknownNameError
from .bodies import NamedFrame, Tool
from .name_suggestions import unknown_name
from .robot import Robot
from .state import RobotCellState
from .value import WORLD

ATTACHED_TO = attrgetter("attached_to")


class FrameKind(str, Enum):
    """Kind of object that a frame belongs to."""

    WORLD = "world"
    LINK = "link"  # of a robot
    TOOL = "tool"
    TOOL_LINK = "tool link"
    TOOL_CENTRE_POINT = "tool centre point"
    BODY = "body"
    FRAME = "frame"  # named frame


class Framed(Protocol):
    """Interface of a cell that the frame tree needs; see `cell.RobotCell`."""

    @property
    def robots(self) -> Mapping[str, Robot]: ...

    @property
    def tools(self) -> Mapping[str, Tool]: ...

    @property
    def frames(self) -> Mapping[str, NamedFrame]: ...

    @property
    def mechanism_frames(self) -> Mapping[str, str]: ...

    @property
    def tool_links(self) -> Collection[str]: ...

    @property
    def tool_centre_points(self) -> Collection[str]: ...

    @property
    def moved_frames(self) -> Collection[str]: ...

    def tip_link(self, group: str = "") -> str: ...


def path_to_known(name: str, known: Container[str], parent: Callable[[str], str]) -> tuple[list[str], str]:
    """Return a frame and its ancestors, nearest first, before the first one that is known; and that one.

    Raises:
        FrameCycleError: The parents form a cycle.
    """
    path: dict[str, None] = {}
    frame = name
    while frame not in known:
        if frame in path:
            cycle = (*list(path)[list(path).index(frame) :], frame)
            raise FrameCycleError(f"parents of frames form a loop: {' -> '.join(cycle)}", subjects=cycle)
        path[frame] = None
        frame = parent(frame)
    return list(path), frame


class FrameTree:
    """Parents and kinds of all frames of a cell in a state.

    Raises:
        UnknownNameError: A parent frame does not exist.
        FrameCycleError: The attachments form a cycle.
        NotSupportedError: A robot is attached to a tool, directly or by bodies and frames.
    """

    def __init__(self, cell: Framed, state: RobotCellState) -> None:
        self._cell = cell
        self._state = state
        # Unattached objects always have the world as an ancestor, and frames of mechanisms unless a robot is attached.
        known = {WORLD, *cell.mechanism_frames}
        # Most are attached to frames of mechanisms, which is found without a step of the interpreter for each.
        for objects in (state.bodies, cell.frames):
            known.update(compress(objects, map(known.__contains__, map(ATTACHED_TO, objects.values()))))
        for name in (*compress(state.bodies, map(ATTACHED_TO, state.bodies.values())), *cell.frames):
            if name not in known:
                known.update(path_to_known(name, known, self._existing_parent)[0])
        for robot in cell.robots.values():
            if robot.attached_to:
                self._check_base(robot)

    def _check_base(self, robot: Robot) -> None:
        path, _ = path_to_known(robot.mechanism.root, {WORLD}, self._existing_parent)
        for frame in path[1:]:
            if frame in self._cell.tools:
                text = f"robot {robot.name} is attached to {robot.attached_to}, which tool {frame} moves: expected a "
                text += "link of a robot, a body or a named frame that no tool moves"
                raise NotSupportedError(text, stage="frames", subjects=(robot.name, robot.attached_to, frame))
            if self.kind(frame) is FrameKind.LINK:
                return  # of another robot, whose own base is checked

    def _existing_parent(self, name: str) -> str:
        parent = self.parent(name)
        if parent not in self:
            text = unknown_name(f"frame {parent!r}, to which {name} is attached,", parent, self)
            raise UnknownNameError(text, subjects=(parent, name))
        return parent

    def __contains__(self, name: str) -> bool:
        state, cell = self._state, self._cell
        return (
            name in state.bodies
            or name in cell.mechanism_frames
            or name in cell.frames
            or name in cell.tools
            or name == WORLD
        )

    def __iter__(self) -> Iterator[str]:
        yield WORLD
        yield from self._cell.mechanism_frames
        yield from self._cell.tools
        yield from self._state.bodies
        yield from self._cell.frames

    def parent(self, name: str) -> str:
        """Return the parent frame of an existing frame other than the world."""
        state, cell = self._state, self._cell
        if name in state.bodies:
            return state.bodies[name].attached_to or WORLD
        if name in cell.frames:
            return cell.frames[name].attached_to or WORLD
        if name in cell.tools:
            group = state.tools[name].attached_to
            return cell.tip_link(group) if group else WORLD
        return cell.mechanism_frames[name]

    @cached_property
    def parents(self) -> dict[str, str]:
        """Parents of all frames except the world."""
        return {name: self.parent(name) for name in self if name != WORLD}

    def kind(self, name: str) -> FrameKind:
        """Return the kind of object that a frame belongs to.

        Raises:
            UnknownNameError: The frame does not exist.
        """
        if self.check(name) == WORLD:
            return FrameKind.WORLD
        for names, kind in (
            (self._state.bodies, FrameKind.BODY),
            (self._cell.frames, FrameKind.FRAME),
            (self._cell.tools, FrameKind.TOOL),
            (self._cell.tool_links, FrameKind.TOOL_LINK),
            (self._cell.tool_centre_points, FrameKind.TOOL_CENTRE_POINT),
        ):
            if name in names:
                return kind
        return FrameKind.LINK

    def check(self, name: str) -> str:
        """Return the name if the frame exists.

        Raises:
            UnknownNameError: The frame does not exist.
        """
        if name not in self:
            raise UnknownNameError(unknown_name(f"frame {name!r}", name, self), subjects=(name,))
        return name

    def ancestors(self, name: str) -> Iterator[str]:
        """Return the ancestors of `name`, nearest first, ending with the world."""
        frame = self.check(name)
        while frame != WORLD:
            frame = self.parent(frame)
            yield frame

    def is_moving(self, name: str) -> bool:
        """Return whether the pose of the frame in the world depends on joint values."""
        moved = self._cell.moved_frames
        return name in moved or any(frame in moved for frame in self.ancestors(name))

    def descendants(self, name: str) -> tuple[str, ...]:
        """Return all descendants of frame `name`."""
        self.check(name)
        return tuple(frame for frame in self if frame != WORLD and name in self.ancestors(frame))
