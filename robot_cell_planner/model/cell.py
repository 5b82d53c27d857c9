"""Immutable model of a robot cell: robots, tools, rigid bodies and named frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import NoReturn

import msgspec
from frozendict import frozendict

from ..errors import (
    DuplicateNameError,
    InvalidRequestError,
    ModelError,
    NotSupportedError,
    StateError,
    UnknownNameError,
)
from .arguments import check_fields
from .bodies import CollisionSettings, NamedFrame, RigidBody, Tool
from .digest import digest_of, without_places
from .frames import FrameTree
from .group_chains import ancestors, chains_of, ends_of
from .joint_count import check_joint_count
from .mechanism import JointKind, Variable
from .name_suggestions import listed, unknown_name
from .pose import IDENTITY, Pose
from .robot import JOINED, NO_CHAIN, ROBOTS_REMEDY, CompositeGroup, PlanningGroup, Robot
from .state import BodyState, RobotCellState, ToolState
from .unknown_joints import unknown_joint
from .value import WORLD, check_keys


class RobotCell(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True, cache_hash=True):
    """Models of a robot cell.

    Robot links, tools, tool links ("tool/link"), bodies and named frames share one namespace.

    Attributes:
        name: Name of the cell.
        robots: Robots by name.
        tools: Tools by name.
        bodies: Rigid bodies by name.
        frames: Named frames by name.
        collision: Allowed collision groups and safety margins.
        groups: Composite groups over several robots, by name.

    Raises:
        DuplicateNameError: A name is used twice.
    """

    name: str = "cell"
    robots: frozendict[str, Robot] = frozendict()
    tools: frozendict[str, Tool] = frozendict()
    bodies: frozendict[str, RigidBody] = frozendict()
    frames: frozendict[str, NamedFrame] = frozendict()
    collision: CollisionSettings = CollisionSettings()
    groups: frozendict[str, CompositeGroup] = frozendict()

    def __post_init__(self) -> None:
        check_fields(self)
        check_keys(self.robots, "robot")
        check_keys(self.tools, "tool")
        check_keys(self.bodies, "body")
        check_keys(self.frames, "frame")
        check_keys(self.groups, "composite group")
        count = len(self.mechanism_frames) + len(self.tools) + len(self.bodies) + len(self.frames)
        links = sum(len(robot.mechanism.links) for robot in self.robots.values())
        inner = sum(len(tool.mechanism.links) + 1 for tool in self.tools.values())
        together = {WORLD, *self.mechanism_frames, *self.tools, *self.bodies, *self.frames}
        if len(self.mechanism_frames) < links + inner or len(together) <= count:
            self._refuse_double_names()
        owners: tuple[Robot | Tool, ...] = (*self.robots.values(), *self.tools.values())
        check_joint_count("the cell", sum(owner.mechanism.moving_joints for owner in owners))

    def __str__(self) -> str:
        named = [(kind, getattr(self, kind)) for kind in ("robots", "tools", "bodies", "frames", "groups")]
        return "; ".join((f"cell {self.name}", *(f"{kind}: {listed(names)}" for kind, names in named if names)))

    def _refuse_double_names(self) -> None:
        kinds: dict[str, str] = {WORLD: "the world frame"}
        for name, kind in self._names():
            if name in kinds:
                raise DuplicateNameError(f"{name!r} names {kinds[name]} and {kind}", subjects=(name,))
            kinds[name] = kind

    def _names(self) -> list[tuple[str, str]]:
        names = [(link, f"a link of {r.name}") for r in self.robots.values() for link in r.mechanism.links]
        for tool in self.tools.values():
            names.append((tool.name, "a tool"))
            names.append((tool.tcp_frame, f"the tool centre point of {tool.name}"))
            names.extend((tool.frame_of(link), f"a link of tool {tool.name}") for link in tool.mechanism.links)
        names.extend((name, "a body") for name in self.bodies)
        names.extend((name, "a frame") for name in self.frames)
        return names

    @property
    def robot(self) -> Robot:
        """The robot of a cell that has exactly one.

        Raises:
            NotSupportedError: The cell has no robot or several robots.
        """
        if len(self.robots) != 1:
            text = f"cell {self.name} has {len(self.robots) or 'no'} robots, expected one"
            raise NotSupportedError(text, remedy=ROBOTS_REMEDY)
        return next(iter(self.robots.values()))

    def digest(self) -> str:
        """Return the digest of the cell: 16 hexadecimal digits, equal in every process and on every machine.

        It covers the models as they were read and the contents of mesh files, but not the places of files.
        """
        return self._digest

    @cached_property
    def _digest(self) -> str:
        robots = {name: robot.content for name, robot in self.robots.items()}  # cells share most robots and bodies
        bodies = {name: body.content for name, body in self.bodies.items()}
        fields = (field for field in self.__struct_fields__ if field not in ("robots", "bodies"))
        others = {field: without_places(getattr(self, field)) for field in fields}
        return digest_of({**others, "robots": robots, "bodies": bodies})

    def digest_with_places(self) -> str:
        """Return the digest of the cell and of the places of its files, for caches of one machine."""
        return self._digest_with_places

    @cached_property
    def _digest_with_places(self) -> str:
        return digest_of(self)

    @cached_property
    def mechanism_frames(self) -> frozendict[str, str]:
        """Parent frame of each robot link, each tool link and each tool centre point, by frame name."""
        parents: dict[str, str] = {}
        for robot in self.robots.values():
            parents[robot.mechanism.root] = robot.attached_to or WORLD
            parents.update((joint.child, joint.parent) for joint in robot.mechanism.tree_order)
        for tool in self.tools.values():
            mechanism = tool.mechanism
            parents[tool.frame_of(mechanism.root)] = tool.name
            parents.update((tool.frame_of(j.child), tool.frame_of(j.parent)) for j in mechanism.tree_order)
            parents[tool.tcp_frame] = tool.frame_of(tool.tcp_link or mechanism.root)
        return frozendict(parents)

    @cached_property
    def tool_links(self) -> frozenset[str]:
        """Frame names of all tool links."""
        return frozenset(tool.frame_of(link) for tool in self.tools.values() for link in tool.mechanism.links)

    @cached_property
    def tool_centre_points(self) -> frozenset[str]:
        """Frame names of all tool centre points."""
        return frozenset(tool.tcp_frame for tool in self.tools.values())

    @cached_property
    def moved_frames(self) -> frozenset[str]:
        """Links of robots and tools whose parent joint is not fixed."""
        mechanisms = [("", robot.mechanism) for robot in self.robots.values()]
        mechanisms += [(f"{tool.name}/", tool.mechanism) for tool in self.tools.values()]
        return frozenset(
            prefix + joint.child
            for prefix, mechanism in mechanisms
            for joint in mechanism.joints.values()
            if joint.kind is not JointKind.FIXED
        )

    @cached_property
    def variables(self) -> frozendict[str, Variable]:
        """Variables of all robots, by name."""
        return frozendict({name: v for robot in self.robots.values() for name, v in robot.variables.items()})

    def group(self, name: str = "") -> PlanningGroup:
        """Return a planning group by name.

        An empty name selects the main group of the only robot. A composite group, or several groups joined with "+",
        gives a group with the variables of all. It is a chain if each robot is attached behind the tip of the group
        before, such as an arm on a rail.

        Raises:
            UnknownNameError: The group does not exist.
            NotSupportedError: The name is empty and the cell does not have exactly one robot.
            InvalidRequestError: Joined groups have a joint in common.
        """
        if not name:
            return self._main_group
        if name in self._robot_of_group:
            return self._robot_of_group[name].group(name)
        parts = self.group_parts(name)
        if len(parts) == 1:
            return self.robot_of_group(parts[0]).group(parts[0])
        return self._composite(name, parts)

    @cached_property
    def _main_group(self) -> PlanningGroup:
        return self.robot.group(self.robot.main_group)

    def group_parts(self, name: str = "") -> tuple[str, ...]:
        """Return the names of the robots' planning groups that a group consists of: its own, or those of a composite
        group or of names joined with "+", each once.

        Raises:
            UnknownNameError, NotSupportedError: As `group`.
        """
        if not name:
            return (self.robot.main_group,)
        parts: list[str] = []
        for part in (name,) if name in self._robot_of_group else name.split(JOINED):
            if part in self.groups:
                parts.extend(self.groups[part].groups)
            elif part in self._robot_of_group:
                parts.append(part)
            else:
                raise self._unknown_group(part)
        return tuple(dict.fromkeys(parts))

    def _composite(self, name: str, parts: tuple[str, ...]) -> PlanningGroup:
        groups = self._groups_of(parts)
        variables = tuple(variable for group in groups for variable in group.variables)
        if len(set(variables)) < len(variables):
            double = next(each for each in variables if variables.count(each) > 1)
            raise InvalidRequestError(f"two of the groups of {name} have joint {double}", subjects=(name, double))
        ends = ends_of(groups, self._ancestors(groups))
        return PlanningGroup(name, variables, tuple(chain.from_iterable(g.links for g in groups)), *ends)

    def _groups_of(self, parts: tuple[str, ...]) -> list[PlanningGroup]:
        return [self.robot_of_group(part).group(part) for part in parts]

    def _ancestors(self, groups: Sequence[PlanningGroup]) -> dict[str, tuple[str, ...]]:
        """Return the base links of groups and the ancestors of these as far as they do not depend on a state."""
        return {g.name: ancestors(g.base_link, self.mechanism_frames, self.frames) for g in groups}

    def target_groups(self, name: str = "") -> tuple[str, ...]:
        """Return the names of the groups that targets of a group are given for, one each: the group itself if it is a
        chain, or those of a composite group, of which those that form a chain are joined with "+".

        Raises:
            UnknownNameError, NotSupportedError: As `group`.
        """
        found = self.group(name)
        if found.tip_link:
            return (found.name,)
        groups = self._groups_of(self.group_parts(name))
        return tuple(JOINED.join(g.name for g in part) for part in chains_of(groups, self._ancestors(groups)))

    @cached_property
    def _robot_of_group(self) -> frozendict[str, Robot]:
        return frozendict({group: robot for robot in self.robots.values() for group in robot.groups})

    def robot_of_group(self, name: str = "") -> Robot:
        """Return the robot that a planning group belongs to.

        An empty name selects the only robot.

        Raises:
            UnknownNameError: The group does not exist.
            NotSupportedError: The name is empty and the cell does not have exactly one robot, or the group is
                composite.
        """
        if not name:
            return self.robot
        if name in self._robot_of_group:
            return self._robot_of_group[name]
        if name in self.groups or JOINED in name:
            parts = ", ".join(self.group_parts(name))
            text = f"group {name} consists of {parts}: one of them has to be named here"
            raise NotSupportedError(text, subjects=(name,))
        raise self._unknown_group(name)

    def _unknown_group(self, name: str) -> UnknownNameError:
        text = unknown_name(f"group {name!r}", name, (*self._robot_of_group, *self.groups))
        return UnknownNameError(text, subjects=(name,))

    def named_state(self, group: str, state: str) -> frozendict[str, float]:
        """Return the values by variable [rad, m] of a named state of a group; of a composite group, those of the
        named states of that name of all its groups.

        Raises:
            UnknownNameError: The group or the named state does not exist.
        """
        values: dict[str, float] = {}
        for part in self.group_parts(group):
            values.update(self.robot_of_group(part).named_state(part, state))
        return frozendict(values)

    def default_state(self) -> RobotCellState:
        """Return a state with all poses at the world origin and each joint at zero, or at the limit nearest to zero."""
        return RobotCellState(
            base_poses=frozendict(dict.fromkeys(self.robots, IDENTITY)),
            configuration=frozendict(
                {k: v for robot in self.robots.values() for k, v in robot.mechanism.neutral().items()}
            ),
            tools=frozendict(
                {name: ToolState(configuration=tool.mechanism.neutral()) for name, tool in self.tools.items()}
            ),
            bodies=frozendict(dict.fromkeys(self.bodies, BodyState())),
        )

    def check_state(self, state: RobotCellState) -> None:
        """Check that a state matches this cell. Joint limits and collisions are not checked.

        Raises:
            StateError: An entry is missing, or two tools are attached to the same tip link.
            UnknownNameError: The state contains a name that is not in the cell.
            FrameCycleError: The attachments form a cycle.
            NotSupportedError: A robot is attached to a tool.
            ModelError, DuplicateNameError: A composite group has an unknown group, or joints twice, or its name is used
                twice.
        """
        for what, have, want in (
            ("base pose of robot", state.base_poses, self.robots),
            ("joint", state.configuration, self.variables),
            ("tool", state.tools, self.tools),
            ("body", state.bodies, self.bodies),
        ):
            if have.keys() != want.keys():
                _refuse_other_names(self, what, have, want)
        self._check_groups()
        for name, tool in state.tools.items():
            self._check_tool_configuration(name, tool)
        self._check_one_tool_a_tip(state)
        FrameTree(self, state)

    def _check_groups(self) -> None:
        for name, composite in self.groups.items():
            if name in self._robot_of_group or name in self.robots or name in self._places:
                raise DuplicateNameError(f"{name!r} names a composite group and another object", subjects=(name,))
            for part in composite.groups:
                if part not in self._robot_of_group:
                    text = unknown_name(f"group {part!r} of composite group {name}", part, self._robot_of_group)
                    raise ModelError(text, subjects=(name, part))
            try:
                self.group(name)
            except InvalidRequestError as error:
                raise ModelError(error.message, subjects=error.subjects) from error

    @cached_property
    def _places(self) -> frozenset[str]:
        return frozenset((*self.tools, *self.bodies, *self.frames))

    def _check_tool_configuration(self, name: str, tool: ToolState) -> None:
        mechanism = self.tools[name].mechanism
        mechanism.check_configuration(tool.configuration, f"tool {name}")
        missing = [v.name for v in mechanism.variables if v.name not in tool.configuration]
        if missing:
            raise StateError(f"the state of tool {name} lacks joint {', '.join(missing)}", subjects=(name, *missing))

    def _check_one_tool_a_tip(self, state: RobotCellState) -> None:
        tool_at_link: dict[str, str] = {}
        for name, tool in state.tools.items():
            if not tool.attached_to:
                continue
            tip = self.tip_link(tool.attached_to)
            if tip in tool_at_link:
                text = f"tools {tool_at_link[tip]} and {name} are both attached at link {tip}"
                raise StateError(text, subjects=(tool_at_link[tip], name, tip))
            tool_at_link[tip] = name

    def tip_link(self, group: str = "") -> str:
        """Return the tip link of a planning group.

        Raises:
            ModelError: The group is not a chain.
        """
        found = self.group(group)
        if not found.tip_link:
            more = "" if found.name in self._robot_of_group else "; give each of its groups a goal of its own"
            text = f"group {found.name} is not a chain, so it has no tip link{more}"
            raise ModelError(text, subjects=(found.name,), remedy=NO_CHAIN)
        return found.tip_link

    def tool_of_group(self, state: RobotCellState, group: str = "") -> str:
        """Return the name of the tool attached to the tip link of a group, or "" if there is none."""
        tip = self.tip_link(group)
        for name, tool in state.tools.items():
            if tool.attached_to and self.tip_link(tool.attached_to) == tip:
                return name
        return ""

    def workpieces_of_tool(self, state: RobotCellState, tool: str) -> tuple[str, ...]:
        """Return the names of the bodies attached to a tool or to one of its links."""
        frames = self.tools[tool].frames
        return tuple(name for name, body in state.bodies.items() if body.attached_to in frames)

    def base_pose(self, state: RobotCellState, robot: str) -> Pose:
        """Return the pose of a robot's root link in the frame that the robot is attached to, or in the world."""
        return state.base_poses[robot]


def _refuse_other_names(cell: RobotCell, what: str, have: Mapping[str, object], want: Mapping[str, object]) -> NoReturn:
    """Raise an error for an unknown name, or for the missing names."""
    for name in have:
        if name not in want:
            if what == "joint":
                raise unknown_joint(cell, name, want)
            raise UnknownNameError(unknown_name(f"{what} {name!r}", name, want), subjects=(name,))
    missing = tuple(sorted(set(want) - set(have)))
    raise StateError(f"the state lacks {len(missing)} of the cell: {what} {', '.join(missing[:6])}", subjects=missing)
