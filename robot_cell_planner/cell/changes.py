"""Changes of a scene: small operations, applied as one atomic list to a cell and its state.

Every operation is a value with an `apply`; a list of them either applies whole or not at all, and given the same
scene it gives the same result in any process, which is what lets replicas follow by operations alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec
from frozendict import frozendict

from ..errors import InvalidRequestError, RobotCellError, UnknownNameError
from .cell import RobotCell
from .frames import FrameTree
from .pose import IDENTITY, Pose
from .state import BodyState, RobotCellState, ToolState
from .suggestions import unknown_name
from .things import TCP, NamedFrame, PairMargin, RigidBody, Tool
from .value import WORLD, with_item, without_item

WorldPose = Callable[[RobotCell, RobotCellState, str], Pose]
replace = msgspec.structs.replace


class Scene(msgspec.Struct, frozen=True):
    """A cell and a state that fits it."""

    cell: RobotCell
    state: RobotCellState


class Change(Protocol):
    """One operation."""

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        """The scene after the operation; world_pose tells where a frame is in the world."""
        ...


class _Operation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="operation", tag=True):
    """Base of the operations; the tag is the name of the class."""


def apply_changes(scene: Scene, changes: Sequence[Change], world_pose: WorldPose) -> Scene:
    """The scene after all changes, in their order.

    Raises:
        RobotCellError: of the first change that cannot be applied; its stage names the change's place in the list.
    """
    for index, change in enumerate(changes):
        try:
            scene = change.apply(scene, world_pose)
        except RobotCellError as error:
            error.stage = f"change {index} ({type(change).__name__})"
            raise
        except ValueError as error:
            raise InvalidRequestError(str(error), stage=f"change {index} ({type(change).__name__})") from error
    scene.cell.check_state(scene.state)
    return scene


def _state_of(scene: Scene, name: str) -> ToolState | BodyState:
    if name in scene.state.tools:
        return scene.state.tools[name]
    if name in scene.state.bodies:
        return scene.state.bodies[name]
    things = [*scene.state.tools, *scene.state.bodies]
    raise UnknownNameError(unknown_name(f"tool or body {name!r}", name, things), subjects=(name,))


def _with_state(scene: Scene, name: str, state: ToolState | BodyState) -> Scene:
    if isinstance(state, ToolState):
        return replace(scene, state=scene.state.with_tool(name, state))
    return replace(scene, state=scene.state.with_body(name, state))


def _carrier(scene: Scene, name: str, to: str) -> str:
    """The frame that carries a thing attached to `to`: a group's tip link for a tool, else the frame itself."""
    if not to:
        return WORLD
    return scene.cell.tip_link(to) if name in scene.state.tools else to


def _between(scene: Scene, world_pose: WorldPose, parent: str, child: str) -> Pose:
    """parent_T_child."""
    return world_pose(scene.cell, scene.state, parent).inverse() @ world_pose(scene.cell, scene.state, child)


class AddBody(_Operation, frozen=True):
    """A new body, and where it is."""

    body: RigidBody
    state: BodyState = BodyState()

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        _refuse_existing(scene.cell.bodies, self.body.name, "body")
        cell = replace(scene.cell, bodies=with_item(scene.cell.bodies, self.body.name, self.body))
        return Scene(cell, scene.state.with_body(self.body.name, self.state))


class AddTool(_Operation, frozen=True):
    """A new tool, and where it is; joints that the state leaves out start at zero or the nearest allowed value."""

    tool: Tool
    state: ToolState = ToolState()

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        _refuse_existing(scene.cell.tools, self.tool.name, "tool")
        cell = replace(scene.cell, tools=with_item(scene.cell.tools, self.tool.name, self.tool))
        configuration = frozendict({**self.tool.mechanism.neutral(), **self.state.configuration})
        return Scene(cell, scene.state.with_tool(self.tool.name, replace(self.state, configuration=configuration)))


class Remove(_Operation, frozen=True):
    """A tool or body leaves the cell; what it carries must have been detached before."""

    name: str

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        cell, state = scene.cell, scene.state
        _state_of(scene, self.name)
        _refuse_carrier(scene, self.name)
        if self.name in state.tools:
            cell = replace(cell, tools=without_item(cell.tools, self.name))
            return Scene(cell, replace(state, tools=without_item(state.tools, self.name)))
        cell = replace(cell, bodies=without_item(cell.bodies, self.name))
        return Scene(cell, replace(state, bodies=without_item(state.bodies, self.name)))


class Move(_Operation, frozen=True):
    """A tool or body goes to a pose seen from `relative_to`; what carries it stays the same."""

    name: str
    pose: Pose
    relative_to: str = WORLD

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        old = _state_of(scene, self.name)
        carrier = _carrier(scene, self.name, old.attached_to)
        reference = self.relative_to or WORLD
        tree = FrameTree(scene.cell, scene.state)
        if self.name == tree.check(reference) or self.name in tree.ancestors(reference):
            raise InvalidRequestError(f"{self.name} cannot be placed relative to {reference}, which it carries")
        pose = self.pose if carrier == reference else _between(scene, world_pose, carrier, reference) @ self.pose
        return _with_state(scene, self.name, replace(old, pose=pose))


class Attach(_Operation, frozen=True):
    """A tool is put on a planning group, or a body on any frame.

    pose: of the thing in the frame that carries it; None keeps it where it is in the world (a grip). touch_links and
    touch_bodies: None keeps the lists that it has.
    """

    name: str
    to: str
    pose: Pose | None = None
    touch_links: tuple[str, ...] | None = None
    touch_bodies: tuple[str, ...] | None = None

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        old = _state_of(scene, self.name)
        if not self.to:
            raise InvalidRequestError(f"{self.name} is attached to nothing; use Detach to set it free")
        carrier = FrameTree(scene.cell, scene.state).check(_carrier(scene, self.name, self.to))
        pose = self.pose if self.pose is not None else _between(scene, world_pose, carrier, self.name)
        new = replace(old, attached_to=self.to, pose=pose)
        if self.touch_links is not None:
            new = replace(new, touch_links=self.touch_links)
        if self.touch_bodies is not None:
            new = replace(new, touch_bodies=self.touch_bodies)
        scene = _with_state(scene, self.name, new)
        FrameTree(scene.cell, scene.state)
        return scene


class Detach(_Operation, frozen=True):
    """A tool or body is set free. pose: in the world, None keeps it where it is."""

    name: str
    pose: Pose | None = None

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        old = _state_of(scene, self.name)
        if not old.attached_to:
            raise InvalidRequestError(f"{self.name} is not attached to anything", subjects=(self.name,))
        pose = self.pose if self.pose is not None else world_pose(scene.cell, scene.state, self.name)
        return _with_state(scene, self.name, replace(old, attached_to="", pose=pose))


class SetHidden(_Operation, frozen=True):
    """Tools and bodies are taken out of every check, or come back."""

    names: tuple[str, ...]
    hidden: bool

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        for name in self.names:
            scene = _with_state(scene, name, replace(_state_of(scene, name), hidden=self.hidden))
        return scene


class SetTouch(_Operation, frozen=True):
    """Who a tool or body may touch; None leaves a list as it is."""

    name: str
    touch_links: tuple[str, ...] | None = None
    touch_bodies: tuple[str, ...] | None = None

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        state = _state_of(scene, self.name)
        if self.touch_links is not None:
            state = replace(state, touch_links=self.touch_links)
        if self.touch_bodies is not None:
            state = replace(state, touch_bodies=self.touch_bodies)
        return _with_state(scene, self.name, state)


class SetJoints(_Operation, frozen=True):
    """Joint values of robots, or of one tool where it is named [rad, m]; NaN leaves a joint as it is."""

    values: frozendict[str, float]
    tool: str = ""

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        values = frozendict({name: value for name, value in self.values.items() if not math.isnan(value)})
        if not self.tool:
            known = scene.cell.variables
            for name in self.values:
                if name not in known:
                    raise UnknownNameError(unknown_name(f"joint {name!r}", name, known), subjects=(name,))
            return replace(scene, state=scene.state.with_configuration(values))
        if self.tool not in scene.cell.tools:
            text = unknown_name(f"tool {self.tool!r}", self.tool, scene.cell.tools)
            raise UnknownNameError(text, subjects=(self.tool,))
        mechanism = scene.cell.tools[self.tool].mechanism
        neutral = {name: 0.0 for name in self.values}
        mechanism.check_configuration({**neutral, **values}, f"tool {self.tool}")
        old = scene.state.tools[self.tool]
        return _with_state(scene, self.tool, replace(old, configuration=frozendict({**old.configuration, **values})))


class SetBasePose(_Operation, frozen=True):
    """A robot's root link is moved in the world; "" names the only robot."""

    pose: Pose
    robot: str = ""

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        name = self.robot or scene.cell.robot.name
        if name not in scene.cell.robots:
            raise UnknownNameError(unknown_name(f"robot {name!r}", name, scene.cell.robots), subjects=(name,))
        poses = with_item(scene.state.base_poses, name, self.pose)
        return replace(scene, state=replace(scene.state, base_poses=poses))


class AddFrame(_Operation, frozen=True):
    """A new named frame that moves with `attached_to`; pose: seen from `relative_to` at this moment ("" for the same)."""

    name: str
    attached_to: str = WORLD
    pose: Pose = IDENTITY
    relative_to: str = ""

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        _refuse_existing(scene.cell.frames, self.name, "frame")
        tree = FrameTree(scene.cell, scene.state)
        attached_to, reference = tree.check(self.attached_to), self.relative_to or self.attached_to
        pose = self.pose
        if tree.check(reference) != attached_to:
            pose = _between(scene, world_pose, attached_to, reference) @ self.pose
        frame = NamedFrame(self.name, attached_to, pose)
        return replace(scene, cell=replace(scene.cell, frames=with_item(scene.cell.frames, self.name, frame)))


class RemoveFrame(_Operation, frozen=True):
    """A named frame leaves the cell; nothing may be attached to it."""

    name: str

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        if self.name not in scene.cell.frames:
            text = unknown_name(f"frame {self.name!r}", self.name, scene.cell.frames)
            raise UnknownNameError(text, subjects=(self.name,))
        _refuse_carrier(scene, self.name)
        return replace(scene, cell=replace(scene.cell, frames=without_item(scene.cell.frames, self.name)))


class SetIgnoreGroup(_Operation, frozen=True):
    """A collision ignore group is set; no members removes it."""

    name: str
    members: tuple[str, ...]

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        rules, groups = scene.cell.collision, scene.cell.collision.ignore_groups
        if not self.members and self.name not in groups:
            text = unknown_name(f"collision ignore group {self.name!r}", self.name, groups)
            raise UnknownNameError(text, subjects=(self.name,))
        _check_owners(scene, self.members, {*groups, self.name})
        changed = with_item(groups, self.name, self.members) if self.members else without_item(groups, self.name)
        return replace(scene, cell=replace(scene.cell, collision=replace(rules, ignore_groups=changed)))


class SetMargin(_Operation, frozen=True):
    """Safety margin [m] of a thing ("*": all), or of a pair where `second` is given; negative takes it away."""

    first: str
    margin: float
    second: str = ""

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        rules = scene.cell.collision
        _check_owners(scene, tuple(name for name in (self.first, self.second) if name), {"*"})
        if self.second:
            pair = sorted((self.first, self.second))
            kept = tuple(p for p in rules.pair_margins if sorted((p.first, p.second)) != pair)
            added = (PairMargin(self.first, self.second, self.margin),) if self.margin >= 0.0 else ()
            rules = replace(rules, pair_margins=kept + added)
        elif self.margin < 0.0:
            rules = replace(rules, margins=without_item(rules.margins, self.first))
        else:
            rules = replace(rules, margins=with_item(rules.margins, self.first, self.margin))
        return replace(scene, cell=replace(scene.cell, collision=rules))


AnyChange = (
    AddBody
    | AddTool
    | Remove
    | Move
    | Attach
    | Detach
    | SetHidden
    | SetTouch
    | SetJoints
    | SetBasePose
    | AddFrame
    | RemoveFrame
    | SetIgnoreGroup
    | SetMargin
)


def _refuse_existing(existing: frozendict[str, RigidBody] | frozendict[str, Tool] | frozendict[str, NamedFrame],
                     name: str, what: str) -> None:
    if name in existing:
        raise InvalidRequestError(f"{what} {name} is in the cell already", subjects=(name,))


def _refuse_carrier(scene: Scene, name: str) -> None:
    """Refuse to take away what carries something else."""
    links = scene.cell.tools[name].mechanism.links if name in scene.cell.tools else ()
    own = {name, f"{name}/{TCP}", *(f"{name}/{link}" for link in links)}
    carried = [other for other, body in scene.state.bodies.items() if body.attached_to in own]
    carried += [other for other, frame in scene.cell.frames.items() if frame.attached_to in own]
    if carried:
        raise InvalidRequestError(f"{name} carries {', '.join(carried[:5])}", subjects=(name, *carried))


def _check_owners(scene: Scene, names: tuple[str, ...], also: set[str]) -> None:
    """Every name is one of a robot, a link, a tool, a tool link or a body."""
    known = {*scene.cell.robots, *FrameTree(scene.cell, scene.state).kinds, *also}
    for name in names:
        if name not in known:
            raise UnknownNameError(unknown_name(f"{name!r}", name, known), subjects=(name,))
