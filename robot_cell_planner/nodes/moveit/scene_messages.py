"""The scene as moveit_msgs/PlanningScene."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from geometry_msgs.msg import TransformStamped
from moveit_msgs.msg import (
    AttachedCollisionObject,
    CollisionObject,
    ObjectColor,
    PlanningScene,
    PlanningSceneComponents,
    RobotState,
)

from ...kinematics.transforms import WorldTransforms
from ...model.bodies import RigidBody
from ...model.frames import FrameTree
from ...model.geometry import Rgba
from ...model.mechanism import Link
from ...model.value import WORLD
from ...scene.scene import Scene
from ..conversions.basic import pose_to_message, transform_to_message
from ..conversions.cached_messages import CachedMessages
from .allowed_collisions import matrix_message, padding_messages
from .robot_states import joints_to_message
from .shapes import add_shape

C = PlanningSceneComponents
ALL = 1023  # the sum of all components


class SceneWriter:
    """Writes a scene as a planning scene. Links of tools are attached objects, since MoveIt's robot has no tools."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._cell, self._state = scene.cell, scene.state
        self._tree = FrameTree(scene.cell, scene.state)
        self._transforms = WorldTransforms(scene.cell, scene.state)
        self._links = {link for robot in scene.cell.robots.values() for link in robot.mechanism.links}

    @cached_property
    def _shapes(self) -> dict[str, CollisionObject]:
        """Return the collision shapes of the bodies."""
        return dict(zip(self._cell.bodies, _SHAPES.messages(self._cell.bodies), strict=True))

    @cached_property
    def _tool_shapes(self) -> dict[str, CollisionObject]:
        """Return the collision shapes of the links of tools, by frame."""
        links = {
            tool.frame_of(link): model
            for tool in self._cell.tools.values()
            for link, model in tool.mechanism.links.items()
        }
        return dict(zip(links, _TOOL_SHAPES.messages(links), strict=True))

    def scene(self, components: int = ALL) -> PlanningScene:
        """Return the requested components (PlanningSceneComponents; 0: all)."""
        requested = components or ALL
        message = PlanningScene(name=self._cell.name, is_diff=False)
        robots = list(self._cell.robots.values())
        message.robot_model_name = robots[0].mechanism.name if robots else ""
        parts: Mapping[int, Callable[[PlanningScene], None]] = {
            C.ROBOT_STATE: self._write_state,
            C.TRANSFORMS: self._write_transforms,
            C.ALLOWED_COLLISION_MATRIX: self._write_matrix,
            C.LINK_PADDING_AND_SCALING: self._write_padding,
            C.OBJECT_COLORS: self._write_colors,
        }
        for component, write in parts.items():
            if requested & component:
                write(message)
        if requested & C.ROBOT_STATE_ATTACHED_OBJECTS:
            message.robot_state.attached_collision_objects = self.attached_objects()
        if requested & (C.WORLD_OBJECT_GEOMETRY | C.WORLD_OBJECT_NAMES):
            geometry = bool(requested & C.WORLD_OBJECT_GEOMETRY)
            message.world.collision_objects = [self.world_object(name, geometry) for name in self.world_bodies()]
        return message

    def robot_state(self, *, attached: bool = True) -> RobotState:
        """Return the joint values of the robots, and the objects attached to them."""
        message = joints_to_message(self._cell, self._state)
        if attached:
            message.attached_collision_objects = self.attached_objects()
        return message

    def _write_state(self, message: PlanningScene) -> None:
        message.robot_state = self.robot_state(attached=False)

    def _write_transforms(self, message: PlanningScene) -> None:
        for name in self._cell.frames:
            if not self._tree.is_moving(name):
                placed = TransformStamped(child_frame_id=name)
                placed.header.frame_id = WORLD
                placed.transform = transform_to_message(self._transforms.pose(name))
                message.fixed_frame_transforms.append(placed)

    def _write_matrix(self, message: PlanningScene) -> None:
        message.allowed_collision_matrix = matrix_message(self._cell)

    def _write_padding(self, message: PlanningScene) -> None:
        message.link_padding, message.link_scale = padding_messages(self._cell)

    def _write_colors(self, message: PlanningScene) -> None:
        for name, body in self._cell.bodies.items():
            rgba = color_of(body)
            if rgba is not None:
                color = ObjectColor(id=name)
                color.color.r, color.color.g, color.color.b, color.color.a = rgba
                message.object_colors.append(color)

    # Objects.

    def is_held(self, body: str) -> bool:
        """Return whether a robot or tool holds a body."""
        return any(name in self._links or name in self._cell.tools for name in self._tree.ancestors(body))

    def held_bodies(self) -> list[str]:
        """Return the bodies that robots and tools hold."""
        return [name for name in self._state.bodies if self.is_held(name)]

    def world_bodies(self) -> list[str]:
        """Return the bodies that no robot or tool holds, without hidden ones."""
        return [name for name, state in self._state.bodies.items() if not state.hidden and not self.is_held(name)]

    def world_object(self, name: str, geometry: bool = True) -> CollisionObject:
        """Return a body in the world; geometry: with its shapes."""
        return self._object(name, WORLD, geometry)

    def _object(self, name: str, frame: str, geometry: bool = True) -> CollisionObject:
        message = CollisionObject(id=name, operation=CollisionObject.ADD)
        message.header.frame_id = frame
        if not geometry:
            return message
        message.pose = pose_to_message(self._transforms.pose(name, frame))
        _copy_shapes(self._shapes[name], message)
        for other, named in self._cell.frames.items():
            if named.attached_to == name and other.startswith(f"{name}/"):
                message.subframe_names.append(other[len(name) + 1 :])
                message.subframe_poses.append(pose_to_message(named.pose))
        return message

    def attached_objects(self) -> list[AttachedCollisionObject]:
        """Return the bodies that robots and tools hold, and the links of attached tools."""
        found = [self._attached_body(name) for name in self._state.bodies if self.is_held(name)]
        for name, state in self._state.tools.items():
            if state.attached_to and not state.hidden:
                found += self._attached_tool(name)
        return [entry for entry in found if not self._is_hidden(entry.object.id)]

    def _is_hidden(self, name: str) -> bool:
        return name in self._state.bodies and self._state.bodies[name].hidden

    def robot_link(self, frame: str) -> str:
        """Return the robot link that carries a frame."""
        return next((name for name in (frame, *self._tree.ancestors(frame)) if name in self._links), WORLD)

    def _attached_body(self, name: str) -> AttachedCollisionObject:
        state = self._state.bodies[name]
        link = self.robot_link(name)
        message = AttachedCollisionObject(link_name=link, object=self._object(name, link))
        message.touch_links = [*state.touch_links, *state.touch_bodies]
        return message

    def _attached_tool(self, name: str) -> list[AttachedCollisionObject]:
        tool, state = self._cell.tools[name], self._state.tools[name]
        parent, found = self._cell.tip_link(state.attached_to), []
        for link, model in tool.mechanism.links.items():
            if not model.collisions:
                continue
            frame = tool.frame_of(link)
            item = CollisionObject(id=frame, operation=CollisionObject.ADD)
            item.header.frame_id = parent
            item.pose = pose_to_message(self._transforms.pose(frame, parent))
            _copy_shapes(self._tool_shapes[frame], item)
            touched = [parent, *state.touch_links, *state.touch_bodies]
            found.append(AttachedCollisionObject(link_name=parent, object=item, touch_links=touched))
        return found


def color_of(body: RigidBody) -> Rgba | None:
    """Return the colour of the first shape of a body that has one."""
    return next((shape.rgba for shape in (*body.visuals, *body.collisions) if shape.rgba), None)


def _copy_shapes(source: CollisionObject, target: CollisionObject) -> None:
    """Give an object the shapes of another; both share them."""
    target.primitives, target.primitive_poses = source.primitives, source.primitive_poses
    target.meshes, target.mesh_poses = source.meshes, source.mesh_poses


def _written_shapes(name: str, model: RigidBody | Link) -> CollisionObject:
    """Return the collision shapes of a body or link."""
    message = CollisionObject()
    for shape in model.collisions:
        add_shape(message, shape)
    return message


# The shapes of the latest cell, which are converted once for each model.
_SHAPES: CachedMessages[RigidBody, CollisionObject] = CachedMessages(_written_shapes)
_TOOL_SHAPES: CachedMessages[Link, CollisionObject] = CachedMessages(_written_shapes)
