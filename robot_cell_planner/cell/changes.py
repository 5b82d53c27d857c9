"""Changes of a scene: small operations, applied as one atomic list to a cell and its state.

Every operation is a value with an `apply`; a list of them applies whole or not at all, and given the same scene it
gives the same result in any process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec
from frozendict import frozendict

from ..errors import DuplicateNameError, InvalidRequestError, RobotCellError, UnknownNameError
from .cell import RobotCell
from .frames import FrameTree
from .pose import Pose, Quaternion
from .state import BodyState, RobotCellState, ToolState
from .suggestions import unknown_name
from .things import TCP, NamedFrame, PairMargin, Tool
from .value import WORLD, Vector3, with_item, without_item

WorldPose = Callable[[RobotCell, RobotCellState, str], Pose]
KEEP: Vector3 = (math.nan, math.nan, math.nan)
T = TypeVar("T")
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


def apply_changes(scene: Scene, changes: Sequence[Change], world_pose: WorldPose) -> Scene:
    """The scene after all changes, in their order; the given one stays as it is.

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


class Add(msgspec.Struct, frozen=True):
    """New robots, tools, bodies and frames, in the places that `state` gives.

    What `state` leaves out stands free at the origin of the world, joints at zero or the nearest allowed value.
    """

    models: RobotCell
    state: RobotCellState = RobotCellState()

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        cell, new = scene.cell, self.models
        merged = replace(
            cell,
            robots=_merged(cell.robots, new.robots, "robot"),
            tools=_merged(cell.tools, new.tools, "tool"),
            bodies=_merged(cell.bodies, new.bodies, "body"),
            frames=_merged(cell.frames, new.frames, "frame"),
        )
        default = new.default_state()
        tools = {name: _with_neutral(new.tools[name], s) for name, s in self.state.tools.items() if name in new.tools}
        state = RobotCellState(
            base_poses=frozendict({**scene.state.base_poses, **default.base_poses, **self.state.base_poses}),
            configuration=frozendict(
                {**scene.state.configuration, **default.configuration, **self.state.configuration}
            ),
            tools=frozendict({**scene.state.tools, **default.tools, **self.state.tools, **tools}),
            bodies=frozendict({**scene.state.bodies, **default.bodies, **self.state.bodies}),
        )
        return Scene(merged, state)


class AddFrame(msgspec.Struct, frozen=True):
    """A new named frame that moves with `attached_to`; pose: seen from `relative_to` at this moment."""

    name: str
    attached_to: str
    pose: Pose
    relative_to: str

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        tree = FrameTree(scene.cell, scene.state)
        carrier, reference = tree.check(self.attached_to or WORLD), tree.check(self.relative_to or WORLD)
        frame = NamedFrame(self.name, carrier, _rewritten(scene, world_pose, carrier, reference, self.pose))
        frames = _merged(scene.cell.frames, {self.name: frame}, "frame")
        return replace(scene, cell=replace(scene.cell, frames=frames))


class Replace(msgspec.Struct, frozen=True):
    """Models take the place of those of the same name; where things are stays, as far as their joints still exist."""

    models: RobotCell

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        cell, new = scene.cell, self.models
        cell = replace(
            cell,
            robots=_replaced(cell.robots, new.robots, "robot"),
            tools=_replaced(cell.tools, new.tools, "tool"),
            bodies=_replaced(cell.bodies, new.bodies, "body"),
            frames=_replaced(cell.frames, new.frames, "frame"),
        )
        state = scene.state
        for name, tool in new.tools.items():
            joints = {variable.name for variable in tool.mechanism.variables}
            kept = frozendict({j: v for j, v in state.tools[name].configuration.items() if j in joints})
            state = state.with_tool(name, _with_neutral(tool, replace(state.tools[name], configuration=kept)))
        values = {**cell.default_state().configuration, **state.configuration}
        kept = frozendict({joint: values[joint] for joint in cell.variables})
        return Scene(cell, replace(state, configuration=kept))


class Remove(msgspec.Struct, frozen=True):
    """A robot, tool, body or named frame leaves the cell; what it carries must have been detached before."""

    name: str

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        cell, state, name = scene.cell, scene.state, self.name
        _refuse_carrier(scene, name)
        if name in cell.tools:
            cell = replace(cell, tools=without_item(cell.tools, name))
            return Scene(cell, replace(state, tools=without_item(state.tools, name)))
        if name in cell.bodies:
            cell = replace(cell, bodies=without_item(cell.bodies, name))
            return Scene(cell, replace(state, bodies=without_item(state.bodies, name)))
        if name in cell.frames:
            return replace(scene, cell=replace(cell, frames=without_item(cell.frames, name)))
        if name in cell.robots:
            cell = replace(cell, robots=without_item(cell.robots, name))
            values = frozendict({joint: v for joint, v in state.configuration.items() if joint in cell.variables})
            poses = without_item(state.base_poses, name)
            return Scene(cell, replace(state, configuration=values, base_poses=poses))
        things = [*cell.robots, *cell.tools, *cell.bodies, *cell.frames]
        raise UnknownNameError(unknown_name(f"{name!r}", name, things), subjects=(name,))


class Move(msgspec.Struct, frozen=True):
    """A tool, body or named frame goes to a pose seen from `relative_to`; what carries it stays the same.

    A position component that is NaN stays as it is, and so does the orientation where it is None.
    """

    name: str
    position: Vector3 = KEEP
    quaternion: Quaternion | None = None
    relative_to: str = WORLD

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        reference = self.relative_to or WORLD
        carrier = _carrier(scene, self.name)
        tree = FrameTree(scene.cell, scene.state)
        if self.name == tree.check(reference) or self.name in tree.ancestors(reference):
            raise InvalidRequestError(f"{self.name} cannot be placed relative to {reference}, which it carries")
        pose = _patched(_between(scene, world_pose, reference, self.name), self.position, self.quaternion)
        return _placed(scene, self.name, _rewritten(scene, world_pose, carrier, reference, pose))


class Attach(msgspec.Struct, frozen=True):
    """A tool is put on a planning group; a body or named frame on any frame.

    pose: of the thing, seen from `relative_to` ("": from the frame that carries it from now on); None keeps it where it
    is in the world, which is a grip. touch_links and touch_bodies: None keeps the lists that it has.
    """

    name: str
    to: str
    pose: Pose | None = None
    relative_to: str = ""
    touch_links: tuple[str, ...] | None = None
    touch_bodies: tuple[str, ...] | None = None

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        if not self.to:
            raise InvalidRequestError(f"{self.name} is attached to nothing; Detach sets it free")
        tree = FrameTree(scene.cell, scene.state)
        tree.check(self.name)
        carrier = tree.check(scene.cell.tip_link(self.to) if self.name in scene.cell.tools else self.to)
        pose, reference = self.pose, self.relative_to or carrier
        if pose is None:
            pose, reference = world_pose(scene.cell, scene.state, self.name), WORLD
        pose = _rewritten(scene, world_pose, carrier, reference, pose)
        scene = _touching(_placed(scene, self.name, pose, attached_to=self.to), self)
        FrameTree(scene.cell, scene.state)
        return scene


class Detach(msgspec.Struct, frozen=True):
    """A tool, body or named frame is set free into the world and stays where it is."""

    name: str
    touch_links: tuple[str, ...] | None = None
    touch_bodies: tuple[str, ...] | None = None

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        if _carrier(scene, self.name) == WORLD:
            raise InvalidRequestError(f"{self.name} is not attached to anything", subjects=(self.name,))
        pose = world_pose(scene.cell, scene.state, self.name)
        return _touching(_placed(scene, self.name, pose, attached_to=""), self)


class SetHidden(msgspec.Struct, frozen=True):
    """A tool or body is taken out of every check, or comes back."""

    name: str
    hidden: bool

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        return _with_state(scene, self.name, replace(_state_of(scene, self.name), hidden=self.hidden))


class SetTouch(msgspec.Struct, frozen=True):
    """Who a tool or body may touch; None leaves a list as it is."""

    name: str
    touch_links: tuple[str, ...] | None = None
    touch_bodies: tuple[str, ...] | None = None

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        _state_of(scene, self.name)
        return _touching(scene, self)


class SetJoints(msgspec.Struct, frozen=True):
    """Joint values [rad, m] by name, those of tools as "tool/joint"; NaN leaves a joint as it is."""

    values: Mapping[str, float]

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        state, tools = scene.state, dict[str, dict[str, float]]()
        known = joint_names(scene.cell)
        robots: dict[str, float] = {}
        for name, value in self.values.items():
            if name not in known:
                raise UnknownNameError(unknown_name(f"joint {name!r}", name, known), subjects=(name,))
            if math.isnan(value):
                continue
            if known[name]:
                tools.setdefault(known[name], {})[name[len(known[name]) + 1 :]] = value
            else:
                robots[name] = value
        for tool, values in tools.items():
            scene.cell.tools[tool].mechanism.check_configuration(values, f"tool {tool}")
            merged = frozendict({**state.tools[tool].configuration, **values})
            state = state.with_tool(tool, replace(state.tools[tool], configuration=merged))
        return replace(scene, state=state.with_configuration(robots) if robots else state)


class SetBasePose(msgspec.Struct, frozen=True):
    """A robot's root link is put at a pose seen from `relative_to`; NaN and None as in Move. "": the only robot."""

    robot: str = ""
    position: Vector3 = KEEP
    quaternion: Quaternion | None = None
    relative_to: str = WORLD

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        name, reference = self.robot or scene.cell.robot.name, self.relative_to or WORLD
        if name not in scene.cell.robots:
            raise UnknownNameError(unknown_name(f"robot {name!r}", name, scene.cell.robots), subjects=(name,))
        root = scene.cell.robots[name].mechanism.root
        tree = FrameTree(scene.cell, scene.state)
        if root == tree.check(reference) or root in tree.ancestors(reference):
            raise InvalidRequestError(f"robot {name} cannot be placed relative to {reference}, which it carries")
        pose = _patched(_between(scene, world_pose, reference, root), self.position, self.quaternion)
        pose = _rewritten(scene, world_pose, WORLD, reference, pose)
        return replace(scene, state=replace(scene.state, base_poses=with_item(scene.state.base_poses, name, pose)))


class SetIgnoreGroup(msgspec.Struct, frozen=True):
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


class SetMargin(msgspec.Struct, frozen=True):
    """Safety margin [m] of a thing ("*": all), or of a pair where `second` is given; None takes it away."""

    first: str
    margin: float | None
    second: str = ""

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        rules = scene.cell.collision
        _check_owners(scene, tuple(name for name in (self.first, self.second) if name), {"*"})
        if self.second:
            pair = sorted((self.first, self.second))
            kept = tuple(p for p in rules.pair_margins if sorted((p.first, p.second)) != pair)
            added = () if self.margin is None else (PairMargin(self.first, self.second, self.margin),)
            rules = replace(rules, pair_margins=kept + added)
        elif self.margin is None:
            rules = replace(rules, margins=without_item(rules.margins, self.first))
        else:
            rules = replace(rules, margins=with_item(rules.margins, self.first, self.margin))
        return replace(scene, cell=replace(scene.cell, collision=rules))


class SetState(msgspec.Struct, frozen=True):
    """Every entry of a state is taken over; what it does not name stays."""

    state: RobotCellState

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        old, new = scene.state, self.state
        tools = {
            name: replace(
                tool, configuration=frozendict({**_known(old.tools, name, "tool").configuration, **tool.configuration})
            )
            for name, tool in new.tools.items()
        }
        state = RobotCellState(
            base_poses=frozendict({**old.base_poses, **new.base_poses}),
            configuration=frozendict({**old.configuration, **new.configuration}),
            tools=frozendict({**old.tools, **tools}),
            bodies=frozendict({**old.bodies, **new.bodies}),
        )
        return replace(scene, state=state)


def joint_names(cell: RobotCell) -> dict[str, str]:
    """Every joint name that a configuration of the whole cell may use, and the tool it belongs to ("" for robots)."""
    names = dict.fromkeys(cell.variables, "")
    for tool in cell.tools.values():
        names.update({f"{tool.name}/{variable.name}": tool.name for variable in tool.mechanism.variables})
    return names


def _merged(old: Mapping[str, T], new: Mapping[str, T], what: str) -> frozendict[str, T]:
    for name in new:
        if name in old:
            raise DuplicateNameError(f"{what} {name} is in the cell already", subjects=(name,))
    return frozendict({**old, **new})


def _replaced(old: Mapping[str, T], new: Mapping[str, T], what: str) -> frozendict[str, T]:
    for name in new:
        _known(old, name, what)
    return frozendict({**old, **new})


def _known(mapping: Mapping[str, T], name: str, what: str) -> T:
    if name not in mapping:
        raise UnknownNameError(unknown_name(f"{what} {name!r}", name, mapping), subjects=(name,))
    return mapping[name]


def _with_neutral(tool: Tool, state: ToolState) -> ToolState:
    return replace(state, configuration=frozendict({**tool.mechanism.neutral(), **state.configuration}))


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


def _carrier(scene: Scene, name: str) -> str:
    """The frame that carries a tool, body or named frame."""
    if name in scene.cell.frames:
        return scene.cell.frames[name].attached_to or WORLD
    state = _state_of(scene, name)
    if isinstance(state, ToolState) and state.attached_to:
        return scene.cell.tip_link(state.attached_to)
    return state.attached_to or WORLD


def _placed(scene: Scene, name: str, pose: Pose, attached_to: str | None = None) -> Scene:
    """The thing at a pose in the frame that carries it, which may be a new one."""
    if name in scene.cell.frames:
        frame = scene.cell.frames[name]
        carrier = frame.attached_to if attached_to is None else attached_to or WORLD
        frames = with_item(scene.cell.frames, name, NamedFrame(name, carrier, pose))
        return replace(scene, cell=replace(scene.cell, frames=frames))
    state = replace(_state_of(scene, name), pose=pose)
    if attached_to is not None:
        state = replace(state, attached_to=attached_to)
    return _with_state(scene, name, state)


def _touching(scene: Scene, change: Attach | Detach | SetTouch) -> Scene:
    if change.touch_links is None and change.touch_bodies is None:
        return scene
    state = _state_of(scene, change.name)
    links = state.touch_links if change.touch_links is None else change.touch_links
    bodies = state.touch_bodies if change.touch_bodies is None else change.touch_bodies
    tree = FrameTree(scene.cell, scene.state)
    for name in (*links, *bodies):
        tree.check(name)
    return _with_state(scene, change.name, replace(state, touch_links=links, touch_bodies=bodies))


def _between(scene: Scene, world_pose: WorldPose, parent: str, child: str) -> Pose:
    """parent_T_child."""
    child_pose = world_pose(scene.cell, scene.state, child)
    return child_pose if parent == WORLD else world_pose(scene.cell, scene.state, parent).inverse() @ child_pose


def _rewritten(scene: Scene, world_pose: WorldPose, carrier: str, reference: str, pose: Pose) -> Pose:
    """A pose seen from `reference`, as `carrier` sees it; to the last bit the same where the two are one."""
    return pose if carrier == reference else _between(scene, world_pose, carrier, reference) @ pose


def _patched(pose: Pose, position: Vector3, quaternion: Quaternion | None) -> Pose:
    x, y, z = (old if math.isnan(new) else new for old, new in zip(pose.position, position, strict=True))
    return Pose((x, y, z), pose.quaternion if quaternion is None else quaternion)


def _refuse_carrier(scene: Scene, name: str) -> None:
    """Refuse to take away what carries something else."""
    cell, own = scene.cell, {name}
    if name in cell.tools:
        own |= {f"{name}/{TCP}", *(f"{name}/{link}" for link in cell.tools[name].mechanism.links)}
    carried: list[str] = []
    if name in cell.robots:
        own |= set(cell.robots[name].mechanism.links)
        carried += [tool for tool, s in scene.state.tools.items() if s.attached_to in cell.robots[name].groups]
    carried += [body for body, state in scene.state.bodies.items() if state.attached_to in own]
    carried += [other for other, frame in cell.frames.items() if frame.attached_to in own]
    if carried:
        raise InvalidRequestError(f"{name} carries {', '.join(carried[:5])}", subjects=(name, *carried))


def _check_owners(scene: Scene, names: tuple[str, ...], also: set[str]) -> None:
    """Every name is one of a robot, a link, a tool, a tool link or a body."""
    tree, other = FrameTree(scene.cell, scene.state), {*scene.cell.robots, *also}
    for name in names:
        if name not in tree and name not in other:
            raise UnknownNameError(unknown_name(f"{name!r}", name, sorted({*tree, *other})), subjects=(name,))
