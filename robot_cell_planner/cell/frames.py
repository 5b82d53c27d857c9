"""The tree of frames that a cell and a state span: who is carried by whom."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from ..errors import FrameCycleError, UnknownNameError
from .cell import RobotCell
from .state import RobotCellState
from .suggestions import unknown_name
from .value import WORLD


class FrameKind(str, Enum):
    WORLD = "world"
    LINK = "link"  # of a robot
    TOOL = "tool"
    TOOL_LINK = "tool link"
    TOOL_CENTRE_POINT = "tool centre point"
    BODY = "body"
    FRAME = "frame"  # a named one


class FrameTree:
    """Parents and kinds of all frames of a cell in a state.

    Raises:
        UnknownNameError: something is attached to a frame that is not there.
        FrameCycleError: attachments close a loop.
    """

    def __init__(self, cell: RobotCell, state: RobotCellState) -> None:
        self.parents: dict[str, str] = {}
        self.kinds: dict[str, FrameKind] = {WORLD: FrameKind.WORLD}
        self._add_robots(cell)
        self._add_tools(cell, state)
        for name, body in state.bodies.items():
            self._add(name, body.attached_to or WORLD, FrameKind.BODY)
        for frame in cell.frames.values():
            self._add(frame.name, frame.attached_to or WORLD, FrameKind.FRAME)
        self._check()

    def _add(self, name: str, parent: str, kind: FrameKind) -> None:
        self.parents[name] = parent
        self.kinds[name] = kind

    def _add_robots(self, cell: RobotCell) -> None:
        for robot in cell.robots.values():
            mechanism = robot.mechanism
            self._add(mechanism.root, WORLD, FrameKind.LINK)
            for joint in mechanism.tree_order:
                self._add(joint.child, joint.parent, FrameKind.LINK)

    def _add_tools(self, cell: RobotCell, state: RobotCellState) -> None:
        for name, tool in cell.tools.items():
            group = state.tools[name].attached_to
            self._add(name, cell.tip_link(group) if group else WORLD, FrameKind.TOOL)
            self._add(tool.frame_of(tool.mechanism.root), name, FrameKind.TOOL_LINK)
            for joint in tool.mechanism.tree_order:
                self._add(tool.frame_of(joint.child), tool.frame_of(joint.parent), FrameKind.TOOL_LINK)
            carrier = tool.frame_of(tool.tcp_link or tool.mechanism.root)
            self._add(tool.tcp_frame, carrier, FrameKind.TOOL_CENTRE_POINT)

    def _check(self) -> None:
        safe = {WORLD}
        for name in self.parents:
            trail: dict[str, None] = {}
            frame = name
            while frame not in safe:
                if frame in trail:
                    loop = [*list(trail)[list(trail).index(frame) :], frame]
                    raise FrameCycleError(f"attachments form a loop: {' -> '.join(loop)}", subjects=tuple(loop))
                trail[frame] = None
                parent = self.parents[frame]
                if parent not in self.kinds:
                    text = unknown_name(f"frame {parent!r}, to which {frame} is attached,", parent, self.kinds)
                    raise UnknownNameError(text, subjects=(parent, frame))
                frame = parent
            safe.update(trail)

    def check(self, name: str) -> str:
        """The name.

        Raises:
            UnknownNameError: there is no such frame.
        """
        if name not in self.kinds:
            raise UnknownNameError(unknown_name(f"frame {name!r}", name, self.kinds), subjects=(name,))
        return name

    def ancestors(self, name: str) -> Iterator[str]:
        """The frames that carry `name`, nearest first, the world last."""
        frame = self.check(name)
        while frame != WORLD:
            frame = self.parents[frame]
            yield frame

    def carried_by(self, name: str) -> tuple[str, ...]:
        """All frames below `name`."""
        self.check(name)
        return tuple(frame for frame in self.parents if name in self.ancestors(frame))
