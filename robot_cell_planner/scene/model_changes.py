"""Scene changes of models: add, replace and remove robots, tools, bodies and frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec
from frozendict import frozendict

from ..errors import DuplicateNameError, InvalidRequestError, UnknownNameError
from ..model.bodies import TCP, NamedFrame, Tool
from ..model.cell import RobotCell
from ..model.frames import FrameTree
from ..model.name_suggestions import unknown_name
from ..model.pose import Pose
from ..model.state import RobotCellState, ToolState
from ..model.value import WORLD, without_item
from .allowed_collision_changes import with_collision_settings
from .scene import CheckedStruct, Scene, WorldPose, known, rewritten
from .state_changes import is_robot

T = TypeVar("T")
replace = msgspec.structs.replace


class Add(CheckedStruct, frozen=True):
    """Add robots, tools, bodies, frames and composite groups, objects at the poses in `state`.

    Objects missing in `state` are placed at the world origin, with joints at zero or at the nearest allowed value. The
    ignore groups and margins in `models.collision` are added, too; they replace those of the same names.
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
            groups=_merged(cell.groups, new.groups, "composite group"),
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
        return with_collision_settings(Scene(merged, state), new.collision)


class AddFrame(CheckedStruct, frozen=True):
    """Add a named frame fixed to `attached_to`; `pose` is relative to `relative_to` in the current state."""

    name: str
    attached_to: str
    pose: Pose
    relative_to: str

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        tree = FrameTree(scene.cell, scene.state)
        parent_frame, reference = tree.check(self.attached_to or WORLD), tree.check(self.relative_to or WORLD)
        frame = NamedFrame(self.name, parent_frame, rewritten(scene, world_pose, parent_frame, reference, self.pose))
        frames = _merged(scene.cell.frames, {self.name: frame}, "frame")
        return replace(scene, cell=replace(scene.cell, frames=frames))


class Replace(CheckedStruct, frozen=True):
    """Replace models of the same name. Poses, attachments and the values of joints that still exist are retained.

    A robot whose new model has `attached_to` is attached to that frame. The ignore groups and margins in
    `models.collision` are added, as by `Add`; they replace those of the same names.
    """

    models: RobotCell

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        cell, new = scene.cell, self.models
        robots = {
            name: robot
            if robot.attached_to
            else replace(robot, attached_to=known(cell.robots, name, "robot").attached_to)
            for name, robot in new.robots.items()
        }
        cell = replace(
            cell,
            robots=_replaced(cell.robots, robots, "robot"),
            tools=_replaced(cell.tools, new.tools, "tool"),
            bodies=_replaced(cell.bodies, new.bodies, "body"),
            frames=_replaced(cell.frames, new.frames, "frame"),
            groups=_replaced(cell.groups, new.groups, "composite group"),
        )
        state = scene.state
        for name, tool in new.tools.items():
            joints = {variable.name for variable in tool.mechanism.variables}
            retained = frozendict({j: v for j, v in state.tools[name].configuration.items() if j in joints})
            state = state.with_tool(name, _with_neutral(tool, replace(state.tools[name], configuration=retained)))
        values = {**cell.default_state().configuration, **state.configuration}
        retained = frozendict({joint: values[joint] for joint in cell.variables})
        return with_collision_settings(Scene(cell, replace(state, configuration=retained)), new.collision)


class Remove(CheckedStruct, frozen=True):
    """Remove a robot, tool, body, named frame or composite group.

    Objects attached to it must be detached before, and composite groups of a robot removed.
    """

    name: str

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        cell, state, name = scene.cell, scene.state, self.name
        _refuse_parent(scene, name)
        if name in cell.tools:
            cell = replace(cell, tools=without_item(cell.tools, name))
            return Scene(cell, replace(state, tools=without_item(state.tools, name)))
        if name in cell.bodies:
            cell = replace(cell, bodies=without_item(cell.bodies, name))
            return Scene(cell, replace(state, bodies=without_item(state.bodies, name)))
        if name in cell.frames:
            return replace(scene, cell=replace(cell, frames=without_item(cell.frames, name)))
        if name in cell.groups:
            return replace(scene, cell=replace(cell, groups=without_item(cell.groups, name)))
        if name in cell.robots:
            cell = replace(cell, robots=without_item(cell.robots, name))
            values = frozendict({joint: v for joint, v in state.configuration.items() if joint in cell.variables})
            poses = without_item(state.base_poses, name)
            return Scene(cell, replace(state, configuration=values, base_poses=poses))
        objects = [*cell.robots, *cell.tools, *cell.bodies, *cell.frames, *cell.groups]
        raise UnknownNameError(unknown_name(f"{name!r}", name, objects), subjects=(name,))


def _merged(old: frozendict[str, T], new: Mapping[str, T], what: str) -> frozendict[str, T]:
    for name in new:
        if name in old:
            raise DuplicateNameError(f"{what} {name} is in the cell already", subjects=(name,))
    return frozendict({**old, **new}) if new else old


def _replaced(old: Mapping[str, T], new: Mapping[str, T], what: str) -> frozendict[str, T]:
    for name in new:
        known(old, name, what)
    return frozendict({**old, **new})


def _with_neutral(tool: Tool, state: ToolState) -> ToolState:
    return replace(state, configuration=frozendict({**tool.mechanism.neutral(), **state.configuration}))


def _refuse_parent(scene: Scene, name: str) -> None:
    """Refuse to remove an object that other objects are attached to."""
    cell, own = scene.cell, {name}
    if name in cell.tools:
        own |= {f"{name}/{TCP}", *(f"{name}/{link}" for link in cell.tools[name].mechanism.links)}
    dependents: list[str] = []
    if is_robot(scene, name):
        own |= set(cell.robots[name].mechanism.links)
        for composite in cell.groups.values():
            if not cell.robots[name].groups.keys().isdisjoint(composite.groups):
                text = f"composite group {composite.name} has a group of {name}; remove it first"
                raise InvalidRequestError(text, subjects=(name, composite.name))
        dependents += [tool for tool, s in scene.state.tools.items() if s.attached_to in cell.robots[name].groups]
    dependents += [body for body, state in scene.state.bodies.items() if state.attached_to in own]
    dependents += [other for other, frame in cell.frames.items() if frame.attached_to in own]
    dependents += [other for other, robot in cell.robots.items() if robot.attached_to in own]
    if dependents:
        raise InvalidRequestError(f"{name} is the parent of {', '.join(dependents[:5])}", subjects=(name, *dependents))
