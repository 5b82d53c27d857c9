"""Conversions of states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from frozendict import frozendict

from robot_cell_planner.msg import BodyState as BodyStateMessage
from robot_cell_planner.msg import NamedPose
from robot_cell_planner.msg import RobotCellState as StateMessage
from robot_cell_planner.msg import ToolState as ToolStateMessage

from ...errors import InvalidRequestError
from ...model.state import BodyState, RobotCellState, ToolState
from .basic import (
    configuration_from_message,
    configuration_to_message,
    names_from_message,
    pose_from_message,
    pose_to_message,
)
from .cached_messages import CachedMessages


def state_to_message(state: RobotCellState) -> StateMessage:
    return StateWriter().message(state)


class StateWriter:
    """Converts successive states to messages; only changed parts are converted again."""

    def __init__(self) -> None:
        self._tools: CachedMessages[ToolState, ToolStateMessage] = CachedMessages(_tool_to_message)
        self._bodies: CachedMessages[BodyState, BodyStateMessage] = CachedMessages(_body_to_message)

    def message(self, state: RobotCellState) -> StateMessage:
        return StateMessage(
            base_poses=[NamedPose(name=n, pose=pose_to_message(pose)) for n, pose in state.base_poses.items()],
            configuration=configuration_to_message(state.configuration),
            tools=self._tools.messages(state.tools),
            bodies=self._bodies.messages(state.bodies),
        )


def state_from_message(message: StateMessage, field: str) -> RobotCellState:
    """Convert a state, without a check against a cell.

    Raises:
        InvalidRequestError: Malformed poses, joint values or lists; names the field.
    """
    return RobotCellState(
        base_poses=frozendict(
            (name, pose_from_message(entry.pose, f"{field}.base_poses[{name}]"))
            for name, entry in _by_name(message.base_poses, f"{field}.base_poses").items()
        ),
        configuration=configuration_from_message(message.configuration, f"{field}.configuration"),
        tools=frozendict(
            (name, _tool_from_message(entry, f"{field}.tools[{name}]"))
            for name, entry in _by_name(message.tools, f"{field}.tools").items()
        ),
        bodies=frozendict(
            (name, _body_from_message(entry, f"{field}.bodies[{name}]"))
            for name, entry in _by_name(message.bodies, f"{field}.bodies").items()
        ),
    )


class _Named(Protocol):
    name: str


N = TypeVar("N", bound=_Named)


def _by_name(entries: Iterable[N], field: str) -> dict[str, N]:
    result: dict[str, N] = {}
    for entry in entries:
        if entry.name in result:
            raise InvalidRequestError(f"{field} lists {entry.name!r} twice", subjects=(field, entry.name))
        result[entry.name] = entry
    return result


def _tool_to_message(name: str, tool: ToolState) -> ToolStateMessage:
    return ToolStateMessage(
        name=name,
        attached_to=tool.attached_to,
        pose=pose_to_message(tool.pose),
        touch_links=list(tool.touch_links),
        touch_bodies=list(tool.touch_bodies),
        configuration=configuration_to_message(tool.configuration),
        hidden=tool.hidden,
    )


def _tool_from_message(message: ToolStateMessage, field: str) -> ToolState:
    return ToolState(
        pose=pose_from_message(message.pose, f"{field}.pose"),
        attached_to=message.attached_to,
        configuration=configuration_from_message(message.configuration, f"{field}.configuration"),
        touch_links=names_from_message(message.touch_links, f"{field}.touch_links"),
        touch_bodies=names_from_message(message.touch_bodies, f"{field}.touch_bodies"),
        hidden=message.hidden,
    )


def _body_to_message(name: str, body: BodyState) -> BodyStateMessage:
    return BodyStateMessage(
        name=name,
        attached_to=body.attached_to,
        pose=pose_to_message(body.pose),
        touch_links=list(body.touch_links),
        touch_bodies=list(body.touch_bodies),
        hidden=body.hidden,
    )


def _body_from_message(message: BodyStateMessage, field: str) -> BodyState:
    return BodyState(
        pose=pose_from_message(message.pose, f"{field}.pose"),
        attached_to=message.attached_to,
        touch_links=names_from_message(message.touch_links, f"{field}.touch_links"),
        touch_bodies=names_from_message(message.touch_bodies, f"{field}.touch_bodies"),
        hidden=message.hidden,
    )
