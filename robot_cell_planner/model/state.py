"""States: where everything in a cell is. Values, never the hidden state of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import msgspec
from frozendict import frozendict

from ..errors import InvalidValueError
from .arguments import check_fields
from .digest import digest_of
from .pose import IDENTITY, Pose
from .value import MAX_JOINT_VALUE, check_joint_value, with_item

NO_NAMES: tuple[str, ...] = ()


def _names(names: tuple[str, ...]) -> None:
    if len(set(names)) != len(names):
        raise InvalidValueError(f"names are listed twice: {', '.join(names)}")


class ToolState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """Where a tool is.

    attached_to: the planning group whose tip link carries it; "" if it stands free. pose: of the tool frame in that
    link, or in the world. configuration: values of its joints. touch_links, touch_bodies: robot links and bodies that
    it may touch. hidden: not there for any check.
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
        """Kept because states share the entries that have not changed."""
        return digest_of(self)

    def with_configuration(self, values: Mapping[str, float]) -> ToolState:
        """The state with some of the tool's joint values replaced."""
        return msgspec.structs.replace(self, configuration=frozendict({**self.configuration, **values}))


class BodyState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """Where a body is.

    attached_to: the frame that carries it (robot link, tool, tool link, body or named frame); "" if it stands free.
    pose: in that frame, or in the world. touch_links: robot or tool links, touch_bodies: bodies or tools that it may
    touch. hidden: not there for any check.
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
        """Kept because states share the entries that have not changed."""
        return digest_of(self)


class RobotCellState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True, cache_hash=True):
    """Everything that moves in a cell, by name.

    base_poses: of each robot's root link in the world. configuration: value of every variable of every robot [rad, m].
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
        """A quick look at types that most states pass; what fails it is looked at closely."""
        kinds = (Pose, float, ToolState, BodyState)
        mappings = (self.base_poses, self.configuration, self.tools, self.bodies)
        return all(
            type(mapping) is frozendict
            and (not mapping or (set(map(type, mapping.values())) == {kind} and set(map(type, mapping)) == {str}))
            for mapping, kind in zip(mappings, kinds, strict=True)
        )

    def with_configuration(self, values: Mapping[str, float]) -> RobotCellState:
        """The state with some joint values replaced; names are not checked here but by `RobotCell.check_state`."""
        merged = frozendict({**self.configuration, **values})
        return msgspec.structs.replace(self, configuration=merged)

    def with_tool(self, name: str, tool: ToolState) -> RobotCellState:
        return msgspec.structs.replace(self, tools=with_item(self.tools, name, tool))

    def with_body(self, name: str, body: BodyState) -> RobotCellState:
        return msgspec.structs.replace(self, bodies=with_item(self.bodies, name, body))

    def digest(self) -> str:
        """Sixteen hexadecimal digits that tell states apart in any process."""
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
        if not abs(value) <= MAX_JOINT_VALUE:  # NaN neither
            check_joint_value(value, f"joint {name}")
