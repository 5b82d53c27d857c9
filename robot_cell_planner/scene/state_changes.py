"""Scene changes of the state: poses, attachments, visibility and joint values."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
from frozendict import frozendict

from ..errors import InvalidRequestError, UnknownNameError
from ..model.bodies import NamedFrame
from ..model.frames import FrameTree
from ..model.name_suggestions import unknown_name
from ..model.pose import Pose, Quaternion
from ..model.state import BodyState, RobotCellState, ToolState
from ..model.unknown_joints import unknown_joint
from ..model.value import WORLD, Vector3, with_item
from .scene import CheckedStruct, Scene, WorldPose, between, joint_names, known, rewritten

KEEP: Vector3 = (math.nan, math.nan, math.nan)
replace = msgspec.structs.replace


class Move(CheckedStruct, frozen=True):
    """Move a robot, tool, body or named frame to a pose relative to `relative_to`; its parent frame is unchanged.

    A position component that is NaN, or an orientation that is None, is unchanged.
    """

    name: str
    position: Vector3 = KEEP
    quaternion: Quaternion | None = None
    relative_to: str = WORLD

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        reference = self.relative_to or WORLD
        parent_frame = _parent_frame(scene, self.name)
        tree, frame = FrameTree(scene.cell, scene.state), _frame_of(scene, self.name)
        if frame == tree.check(reference) or frame in tree.ancestors(reference):
            raise InvalidRequestError(f"{self.name} cannot be placed relative to {reference}, which is attached to it")
        pose = _patched(between(scene, world_pose, reference, frame), self.position, self.quaternion)
        return _placed(scene, self.name, rewritten(scene, world_pose, parent_frame, reference, pose))


class Attach(CheckedStruct, frozen=True):
    """Attach a tool to a planning group, a body or named frame to any frame, or the base of a robot to a link of
    another robot, a body or a named frame.

    Attributes:
        pose: Pose of the object relative to `relative_to` ("": the new parent frame); None retains the world pose, as
            in a grasp.
        touch_links, touch_bodies: Links and bodies that the object is allowed to touch; None retains the current lists.
            Robots and named frames have none.
    """

    name: str
    to: str
    pose: Pose | None = None
    relative_to: str = ""
    touch_links: tuple[str, ...] | None = None
    touch_bodies: tuple[str, ...] | None = None

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        if not self.to:
            raise InvalidRequestError(f"the frame to attach {self.name} to is empty; use Detach to detach it")
        tree = FrameTree(scene.cell, scene.state)
        frame = tree.check(_frame_of(scene, self.name))
        parent_frame = tree.check(scene.cell.tip_link(self.to) if self.name in scene.cell.tools else self.to)
        pose, reference = self.pose, self.relative_to or parent_frame
        if pose is None:
            pose, reference = world_pose(scene.cell, scene.state, frame), WORLD
        pose = rewritten(scene, world_pose, parent_frame, reference, pose)
        scene = _touching(_placed(scene, self.name, pose, attached_to=self.to), self)
        FrameTree(scene.cell, scene.state)
        return scene


class Detach(CheckedStruct, frozen=True):
    """Detach a robot, tool, body or named frame. Its world pose is unchanged."""

    name: str
    touch_links: tuple[str, ...] | None = None
    touch_bodies: tuple[str, ...] | None = None

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        if _parent_frame(scene, self.name) == WORLD:
            raise InvalidRequestError(f"{self.name} is not attached to anything", subjects=(self.name,))
        pose = world_pose(scene.cell, scene.state, _frame_of(scene, self.name))
        return _touching(_placed(scene, self.name, pose, attached_to=""), self)


class SetHidden(CheckedStruct, frozen=True):
    """Exclude a tool or body from all collision checks, or include it again."""

    name: str
    hidden: bool

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        return _with_state(scene, self.name, replace(_state_of(scene, self.name), hidden=self.hidden))


class SetTouch(CheckedStruct, frozen=True):
    """Set the links and bodies that a tool or body is allowed to touch; None leaves a list unchanged."""

    name: str
    touch_links: tuple[str, ...] | None = None
    touch_bodies: tuple[str, ...] | None = None

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        _state_of(scene, self.name)
        return _touching(scene, self)


class SetJoints(CheckedStruct, frozen=True):
    """Set joint values [rad, m] by name, those of tools as "tool/joint". NaN leaves a joint unchanged."""

    values: Mapping[str, float]

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        state, tools = scene.state, dict[str, dict[str, float]]()
        known = joint_names(scene.cell)
        robots: dict[str, float] = {}
        for name, value in self.values.items():
            if name not in known:
                raise unknown_joint(scene.cell, name, known)
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


class SetBasePose(CheckedStruct, frozen=True):
    """Move a robot's root link to a pose relative to `relative_to`; NaN and None as in Move. "" is the only robot.

    A robot stays attached to its parent frame.
    """

    robot: str = ""
    position: Vector3 = KEEP
    quaternion: Quaternion | None = None
    relative_to: str = WORLD

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        name, reference = self.robot or scene.cell.robot.name, self.relative_to or WORLD
        if name not in scene.cell.robots:
            raise UnknownNameError(unknown_name(f"robot {name!r}", name, scene.cell.robots), subjects=(name,))
        robot = scene.cell.robots[name]
        root, parent_frame = robot.mechanism.root, robot.attached_to or WORLD
        tree = FrameTree(scene.cell, scene.state)
        if root == tree.check(reference) or root in tree.ancestors(reference):
            raise InvalidRequestError(f"robot {name} cannot be placed relative to {reference}, which is attached to it")
        pose = _patched(between(scene, world_pose, reference, root), self.position, self.quaternion)
        return _with_base(scene, name, rewritten(scene, world_pose, parent_frame, reference, pose))


class SetState(CheckedStruct, frozen=True):
    """Replace every entry that is given in a state; all other entries are unchanged."""

    state: RobotCellState

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        old, new = scene.state, self.state
        tools = {
            name: replace(
                tool, configuration=frozendict({**known(old.tools, name, "tool").configuration, **tool.configuration})
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


def _state_of(scene: Scene, name: str) -> ToolState | BodyState:
    if name in scene.state.tools:
        return scene.state.tools[name]
    if name in scene.state.bodies:
        return scene.state.bodies[name]
    objects = [*scene.state.tools, *scene.state.bodies]
    raise UnknownNameError(unknown_name(f"tool or body {name!r}", name, objects), subjects=(name,))


def _with_state(scene: Scene, name: str, state: ToolState | BodyState) -> Scene:
    if isinstance(state, ToolState):
        return replace(scene, state=scene.state.with_tool(name, state))
    return replace(scene, state=scene.state.with_body(name, state))


def is_robot(scene: Scene, name: str) -> bool:
    """Return whether a name is that of a robot, and not of an object of the same name."""
    others: tuple[Mapping[str, object], ...] = (scene.state.tools, scene.state.bodies, scene.cell.frames)
    return name in scene.cell.robots and not any(name in names for names in others)


def _frame_of(scene: Scene, name: str) -> str:
    """Return the frame of an object: the root link of a robot, the name of any other object."""
    return scene.cell.robots[name].mechanism.root if is_robot(scene, name) else name


def _parent_frame(scene: Scene, name: str) -> str:
    """Return the parent frame of a robot, tool, body or named frame."""
    if name in scene.cell.frames:
        return scene.cell.frames[name].attached_to or WORLD
    if is_robot(scene, name):
        return scene.cell.robots[name].attached_to or WORLD
    state = _state_of(scene, name)
    if isinstance(state, ToolState) and state.attached_to:
        return scene.cell.tip_link(state.attached_to)
    return state.attached_to or WORLD


def _placed(scene: Scene, name: str, pose: Pose, attached_to: str | None = None) -> Scene:
    """Place the object at a pose in its parent frame, which may be new."""
    if name in scene.cell.frames:
        frame = scene.cell.frames[name]
        parent_frame = frame.attached_to if attached_to is None else attached_to or WORLD
        frames = with_item(scene.cell.frames, name, NamedFrame(name, parent_frame, pose))
        return replace(scene, cell=replace(scene.cell, frames=frames))
    if is_robot(scene, name):
        if attached_to is not None:
            robot = replace(scene.cell.robots[name], attached_to=attached_to)
            scene = replace(scene, cell=replace(scene.cell, robots=with_item(scene.cell.robots, name, robot)))
        return _with_base(scene, name, pose)
    state = replace(_state_of(scene, name), pose=pose)
    if attached_to is not None:
        state = replace(state, attached_to=attached_to)
    return _with_state(scene, name, state)


def _with_base(scene: Scene, robot: str, pose: Pose) -> Scene:
    """Place a robot at a pose in its parent frame."""
    return replace(scene, state=replace(scene.state, base_poses=with_item(scene.state.base_poses, robot, pose)))


def _touching(scene: Scene, change: Attach | Detach | SetTouch) -> Scene:
    # Frames and robots have no touch lists; messages have empty ones for them.
    without_lists = change.name in scene.cell.frames or is_robot(scene, change.name)
    if (change.touch_links is None and change.touch_bodies is None) or (
        without_lists and not (change.touch_links or change.touch_bodies)
    ):
        return scene
    state = _state_of(scene, change.name)
    links = state.touch_links if change.touch_links is None else change.touch_links
    bodies = state.touch_bodies if change.touch_bodies is None else change.touch_bodies
    tree = FrameTree(scene.cell, scene.state)
    for name in (*links, *bodies):
        tree.check(name)
    return _with_state(scene, change.name, replace(state, touch_links=links, touch_bodies=bodies))


def _patched(pose: Pose, position: Vector3, quaternion: Quaternion | None) -> Pose:
    x, y, z = (old if math.isnan(new) else new for old, new in zip(pose.position, position, strict=True))
    return Pose((x, y, z), pose.quaternion if quaternion is None else quaternion)
