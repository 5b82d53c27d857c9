"""Immutable state of a robot cell: joint values, poses and attachments."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cached_property
from typing import Any

import msgspec
from frozendict import frozendict

from ..errors import InvalidValueError
from .arguments import check_fields
from .digest import digest_of
from .name_suggestions import listed
from .pose import IDENTITY, Pose
from .shown_values import show
from .value import MAX_JOINT_VALUE, check_joint_value, with_item

NO_NAMES: tuple[str, ...] = ()


def _names(names: tuple[str, ...]) -> None:
    if len(set(names)) != len(names):
        raise InvalidValueError(f"names are listed twice: {', '.join(names)}")


class ToolState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """State of a tool.

    Attributes:
        pose: Pose of the tool frame in the tip link that it is attached to, or in the world.
        attached_to: Planning group whose tip link is the parent frame; "" if the tool is not attached.
        configuration: Joint values by variable [rad, m].
        touch_links: Links that the tool is allowed to touch, of robots and other tools.
        touch_bodies: Bodies, tools and robots (all of their links) that the tool is allowed to touch.
        hidden: Exclude the tool from all collision checks.
    """

    pose: Pose = IDENTITY
    attached_to: str = ""
    configuration: frozendict[str, float] = frozendict()
    touch_links: tuple[str, ...] = NO_NAMES
    touch_bodies: tuple[str, ...] = NO_NAMES
    hidden: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        _joint_values(self.configuration)
        _names(self.touch_links)
        _names(self.touch_bodies)

    @cached_property
    def _digest(self) -> str:
        """Cached, because states share the entries that did not change."""
        return digest_of(self)

    def with_configuration(self, values: Mapping[str, float]) -> ToolState:
        """Return a copy with the given joint values [rad, m] replaced."""
        return msgspec.structs.replace(self, configuration=frozendict({**self.configuration, **values}))


class BodyState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """State of a rigid body.

    Attributes:
        pose: Pose of the body in its parent frame, or in the world.
        attached_to: Parent frame (robot link, tool, tool link, body or named frame); "" if the body is not attached.
        touch_links: Links that the body is allowed to touch, of robots and tools.
        touch_bodies: Bodies, tools and robots (all of their links) that the body is allowed to touch.
        hidden: Exclude the body from all collision checks.
    """

    pose: Pose = IDENTITY
    attached_to: str = ""
    touch_links: tuple[str, ...] = NO_NAMES
    touch_bodies: tuple[str, ...] = NO_NAMES
    hidden: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        _names(self.touch_links)
        _names(self.touch_bodies)

    @cached_property
    def _digest(self) -> str:
        """Cached, because states share the entries that did not change."""
        return digest_of(self)


class RobotCellState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True, cache_hash=True):
    """State of a robot cell.

    Attributes:
        base_poses: Pose of each robot's root link in the frame that the robot is attached to, or in the world.
        configuration: Values of all robot variables [rad, m], by variable.
        tools: Tool states by tool.
        bodies: Body states by body.
    """

    base_poses: frozendict[str, Pose] = frozendict()
    configuration: frozendict[str, float] = frozendict()
    tools: frozendict[str, ToolState] = frozendict()
    bodies: frozendict[str, BodyState] = frozendict()

    def __post_init__(self) -> None:
        if not self._is_plainly_right():
            check_fields(self)
        _joint_values(self.configuration)

    def _is_plainly_right(self) -> bool:
        """Return whether the exact types are correct; if not, every field is checked in full."""
        kinds = (Pose, float, ToolState, BodyState)
        mappings = (self.base_poses, self.configuration, self.tools, self.bodies)
        return all(
            type(mapping) is frozendict
            and (not mapping or (set(map(type, mapping.values())) == {kind} and set(map(type, mapping)) == {str}))
            for mapping, kind in zip(mappings, kinds, strict=True)
        )

    def __str__(self) -> str:
        attached = [(name, at.attached_to) for each in (self.tools, self.bodies) for name, at in each.items()]
        values = listed(f"{name} {value:.4g}" for name, value in self.configuration.items())
        return "; ".join((f"state: {values}", *(f"{name} attached to {to}" for name, to in attached if to)))

    def with_configuration(self, values: Mapping[str, float]) -> RobotCellState:
        """Return a copy with the given joint values [rad, m] replaced.

        Names are not checked here; see `RobotCell.check_state`.

        Raises:
            InvalidValueError: The values are no mapping, or not finite.
        """
        if not isinstance(values, Mapping):
            text = f"values is {show(values)}, expected a mapping from joints to values"
            raise InvalidValueError(text, subjects=("values",))
        merged = frozendict({**self.configuration, **values})
        if all(type(name) is str and type(value) is float for name, value in values.items()):
            _joint_values(values)
            return self._with("configuration", merged)
        return msgspec.structs.replace(self, configuration=merged)

    def with_tool(self, name: str, tool: ToolState) -> RobotCellState:
        """Return a copy with the state of a tool replaced."""
        tools = with_item(self.tools, name, tool)
        if type(name) is str and type(tool) is ToolState:
            return self._with("tools", tools)
        return msgspec.structs.replace(self, tools=tools)

    def with_body(self, name: str, body: BodyState) -> RobotCellState:
        """Return a copy with the state of a body replaced."""
        bodies = with_item(self.bodies, name, body)
        if type(name) is str and type(body) is BodyState:
            return self._with("bodies", bodies)
        return msgspec.structs.replace(self, bodies=bodies)

    def _with(self, field: str, entries: frozendict[str, Any]) -> RobotCellState:
        """Return a copy with the entries of a field, of which the new ones are checked: the others, which can be
        thousands, are those of this state."""
        found = copy(self)  # without cached properties
        msgspec.structs.force_setattr(found, field, entries)
        return found

    def digest(self) -> str:
        """Return the digest of the state: 16 hexadecimal digits, equal in every process."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        parts = {
            "base_poses": self.base_poses,
            "configuration": self.configuration,
            "tools": {name: tool._digest for name, tool in self.tools.items()},
            "bodies": {name: body._digest for name, body in self.bodies.items()},
        }
        return digest_of(parts)


def _joint_values(values: Mapping[str, float]) -> None:
    for name, value in values.items():
        if not abs(value) <= MAX_JOINT_VALUE:  # also refuses NaN
            check_joint_value(value, f"joint {name}")
