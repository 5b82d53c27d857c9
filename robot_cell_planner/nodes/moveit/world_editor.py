"""Collision objects and attached collision objects of MoveIt as scene changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose as PoseMessage
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, MoveItErrorCodes

from robot_cell_planner.msg import BodyModel, BodyState, NamedFrame, SceneChange
from robot_cell_planner.msg import Geometry as GeometryMessage

from ...errors import InvalidRequestError, NotSupportedError, UnknownNameError
from ...model.frames import FrameTree
from ...model.name_suggestions import unknown_name
from ...model.pose import IDENTITY, Pose
from ...model.value import WORLD
from ...scene.scene import Scene
from ..conversions.basic import check_count, pose_from_message, pose_to_message
from ..conversions.model_messages import body_to_message
from .error_codes import refused_as
from .object_equality import same_attached, same_object, same_shapes
from .scene_messages import SceneWriter
from .shapes import shape_message, shapes_of

MAX_OBJECTS = 10_000
Shapes = Sequence[tuple[GeometryMessage, Pose]]


def operation_of(message: CollisionObject) -> bytes:
    """Return the operation as rclpy represents it: one byte."""
    return bytes(message.operation)


class WorldEditor:
    """Collects the scene changes of a message, whose parts may refer to each other.

    changes: what has been collected, to be applied to `scene` all or none.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene, self._cell = scene, scene.cell
        self._tree = FrameTree(scene.cell, scene.state)
        self._models: dict[str, BodyModel | None] = dict.fromkeys(scene.cell.bodies)  # None: as in the scene
        self._parents = {name: state.attached_to for name, state in scene.state.bodies.items()}
        self._touch = {name: state.touch_links for name, state in scene.state.bodies.items()}
        self._hidden = {name for name, state in scene.state.bodies.items() if state.hidden}
        self._frames = {name: frame.attached_to for name, frame in scene.cell.frames.items()}
        self._attached_now: set[str] = set()
        self._edited: set[str] = set()  # bodies that the changes name
        self.changes: list[SceneChange] = []

    @cached_property
    def _writer(self) -> SceneWriter:
        return SceneWriter(self._scene)

    @cached_property
    def _written(self) -> dict[str, AttachedCollisionObject]:
        """Return what the scene, as a message, has attached: bodies and the links of tools."""
        return {held.object.id: held for held in self._writer.attached_objects()}

    # Objects of the world.

    def world_object(self, message: CollisionObject, field: str) -> None:
        """Add the changes of a collision object.

        Raises:
            RefusedError: An unknown object or frame, or shapes that cannot be used.
        """
        with refused_as(MoveItErrorCodes.INVALID_OBJECT_NAME):
            operation = operation_of(message)
            if operation == CollisionObject.REMOVE:
                self._remove(message.id, field)
                return
            if not message.id:
                raise InvalidRequestError(f"{field}.id is empty", subjects=(field,))
            if self._is_present(message):
                return
            if operation == CollisionObject.ADD:
                self._add(message, field)
            elif operation == CollisionObject.APPEND:
                self._append(message, field)
            elif operation == CollisionObject.MOVE:
                self._free_body(message.id, field)
                self._move(message.id, pose_from_message(message.pose, f"{field}.pose"), message)
            else:
                text = f"{field}.operation is {int.from_bytes(operation, 'little')}, expected 0 to 3"
                raise InvalidRequestError(text, subjects=(field,))

    def _is_present(self, message: CollisionObject) -> bool:
        """Return whether an object is in the world as a message says, and no change before moves it."""
        name = message.id
        if name not in self._cell.bodies or name in self._hidden or not self._edited.isdisjoint(self._chain(name)):
            return False
        return not self.is_held(name) and same_object(message, self._writer.world_object(name))

    def is_held(self, name: str) -> bool:
        """Return whether a body is attached to a robot or tool, directly or by other bodies and frames."""
        *_, root = self._chain(name)
        return root not in ("", WORLD)

    def _chain(self, name: str) -> Iterator[str]:
        """Yield a body or frame and what carries it, up to the first that is neither a body nor a frame; "" at the end
        of a loop."""
        seen: set[str] = set()
        yield name
        while name in self._parents or name in self._frames:
            seen.add(name)
            name = self._parents.get(name, "") or self._frames.get(name, "")
            if name in seen:
                name = ""
            yield name

    @property
    def new_models(self) -> dict[str, BodyModel]:
        """Return the models of bodies that the changes add or replace."""
        return {name: model for name, model in self._models.items() if model is not None}

    @property
    def held(self) -> list[str]:
        """Return the bodies that robots or tools hold."""
        return [name for name in self._models if self.is_held(name)]

    @property
    def free(self) -> list[str]:
        """Return the other bodies."""
        return [name for name in self._models if not self.is_held(name)]

    def _known(self, name: str, field: str) -> None:
        if name not in self._models:
            text = unknown_name(f"{field}: object {name!r}", name, self._models)
            raise UnknownNameError(text, subjects=(name,))

    def _free_body(self, name: str, field: str) -> None:
        self._known(name, field)
        if self.is_held(name):
            text = f"{field}: object {name} is attached to {self._parents[name]}; detach it first"
            raise InvalidRequestError(text, subjects=(name, self._parents[name]))

    def _pose_and_shapes(self, message: CollisionObject, field: str) -> tuple[Pose, Shapes]:
        """Return the pose of an object and its shapes. As in MoveIt, the pose of a single shape counts as that of an
        object without one."""
        shapes = shapes_of(message, field)
        pose = pose_from_message(message.pose, f"{field}.pose")
        if len(shapes) == 1 and pose == IDENTITY:
            return shapes[0][1], [(shapes[0][0], IDENTITY)]
        return pose, shapes

    def _add(self, message: CollisionObject, field: str) -> None:
        """Add an object, or replace and show one of the same name."""
        name = message.id
        pose, shapes = self._pose_and_shapes(message, field)
        if not shapes:
            raise InvalidRequestError(f"{field}: object {name} has no shape", subjects=(field, name))
        model = BodyModel(name=name, collision=[shape_message(*shape) for shape in shapes])
        if name in self._models:
            self._free_body(name, field)
            if self._has_shapes(message):
                pose = pose_from_message(message.pose, f"{field}.pose")  # mass, colour and what is shown stay
            else:
                self._replace(model)
            self._show(name)
            if self._parents[name]:
                self._detach(name)
        else:
            change = SceneChange(operation=SceneChange.ADD)
            change.models.bodies, change.states.bodies = [model], [BodyState(name=name)]
            self._changed(change)
            self._models[name], self._parents[name], self._touch[name] = model, "", ()
        self._move(name, pose, message)
        self._set_subframes(message, field)

    def _has_shapes(self, message: CollisionObject) -> bool:
        """Return whether the body of an object's name already has its shapes."""
        return self._models[message.id] is None and same_shapes(message, self._writer.world_object(message.id))

    def _append(self, message: CollisionObject, field: str) -> None:
        """Add shapes to an object."""
        name = message.id
        self._known(name, field)
        shapes = shapes_of(message, field)
        known = self._models[name] or body_to_message(self._cell.bodies[name])
        added = [shape_message(*shape) for shape in shapes]
        self._replace(
            BodyModel(
                name=name,
                collision=[*known.collision, *added],
                visual=[*known.visual, *(added if known.visual else ())],
                inertial=known.inertial,
            )
        )
        self._show(name)
        self._set_subframes(message, field, keep=True)

    def _show(self, name: str) -> None:
        """Show a body that is hidden: what a client has added is checked."""
        if name in self._hidden:
            self._changed(SceneChange(operation=SceneChange.SHOW, name=name))
            self._hidden.remove(name)

    def _replace(self, model: BodyModel) -> None:
        change = SceneChange(operation=SceneChange.REPLACE)
        change.models.bodies = [model]
        self._changed(change)
        self._models[model.name] = model

    def _move(self, name: str, pose: Pose, message: CollisionObject) -> None:
        frame, stamp = _reference(message)
        change = SceneChange(operation=SceneChange.MOVE, name=name, pose=pose_to_message(pose))
        change.relative_to, change.stamp = frame, stamp
        self._changed(change)

    def _set_subframes(self, message: CollisionObject, field: str, *, keep: bool = False) -> None:
        """Set the subframes of an object, which are named "object/subframe"."""
        name = message.id
        if len(message.subframe_names) != len(message.subframe_poses):
            counts = f"{len(message.subframe_names)} subframe_names and {len(message.subframe_poses)} subframe_poses"
            raise InvalidRequestError(f"{field} has {counts}", subjects=(field,))
        if not keep:
            for frame in [frame for frame in self._frames if frame.startswith(f"{name}/")]:
                self._drop_frame(frame)
        for subframe, pose in zip(message.subframe_names, message.subframe_poses, strict=True):
            self._add_frame(f"{name}/{subframe}", name, pose)

    def _add_frame(self, frame: str, parent: str, pose: PoseMessage) -> None:
        change = SceneChange(operation=SceneChange.ADD)
        change.models.frames = [NamedFrame(name=frame, attached_to=parent, pose=pose)]
        self._changed(change)
        self._frames[frame] = parent

    def _drop_frame(self, frame: str) -> None:
        """Remove a frame; what is attached to it stays where it is."""
        self._release(frame)
        self._changed(SceneChange(operation=SceneChange.REMOVE, name=frame))
        del self._frames[frame]

    def _release(self, parent: str) -> None:
        """Detach what is attached to a body or frame."""
        for name in [name for name, each in self._frames.items() if each == parent]:
            self._changed(SceneChange(operation=SceneChange.DETACH, name=name))
            self._frames[name] = WORLD
        for name in [name for name, each in self._parents.items() if each == parent]:
            self._detach(name)

    def _remove(self, name: str, field: str) -> None:
        """Remove an object of the world; all of them without a name. What was attached to one stays where it is."""
        if not name:
            for each in self.free:
                self.remove_body(each)
            return
        self._known(name, field)
        if name in self._attached_now:
            return  # with MoveIt's clients, attaching an object and removing it from the world go together
        self._free_body(name, field)
        self.remove_body(name)

    def remove_body(self, name: str) -> None:
        """Remove a body and its subframes."""
        for frame in [frame for frame in self._frames if frame.startswith(f"{name}/")]:
            self._drop_frame(frame)
        self._release(name)
        self._changed(SceneChange(operation=SceneChange.REMOVE, name=name))
        for table in (self._models, self._parents, self._touch):
            del table[name]
        self._hidden.discard(name)

    # Attached objects.

    def attached_objects(self, messages: Sequence[AttachedCollisionObject], field: str) -> None:
        """Add the changes of the attached objects of a robot state. Those that are attached like this already, and the
        links of tools, which a state as a message has among them, make no change.

        Raises:
            RefusedError: An unknown object, link or frame, or shapes that cannot be used.
        """
        for index, message in enumerate(messages):
            self.attached_object(message, f"{field}[{index}]")

    def attached_object(self, message: AttachedCollisionObject, field: str) -> None:
        """Add the changes of an attached collision object, as `attached_objects` does."""
        item, operation = message.object, operation_of(message.object)
        with refused_as(MoveItErrorCodes.INVALID_OBJECT_NAME):
            if item.id in self._cell.tool_links:
                self._check_tool_link(item.id, operation, field)
                return
            if self._is_unchanged(message):
                self._attached_now.add(item.id)
                return
            if operation == CollisionObject.REMOVE:
                self._detach_named(item.id, message.link_name, field)
                return
            if operation not in (CollisionObject.ADD, CollisionObject.APPEND):
                text = f"{field}: an attached object cannot be moved; detach it, or attach it with another pose"
                raise NotSupportedError(text, subjects=(field, item.id))
            if not item.id:
                raise InvalidRequestError(f"{field}.object.id is empty", subjects=(field,))
            with refused_as(MoveItErrorCodes.INVALID_LINK_NAME):
                if message.link_name not in self._tree:
                    text = unknown_name(f"{field}: link {message.link_name!r}", message.link_name, list(self._tree))
                    raise UnknownNameError(text, subjects=(message.link_name,))
            if operation == CollisionObject.APPEND and item.id in self._models:
                self._append(item, f"{field}.object")
                self._attach(item.id, message, (*self._touch[item.id], *message.touch_links))
            elif item.primitives or item.meshes or item.planes:
                self._attach_shapes(message, field)
            else:
                self._known(item.id, f"{field}.object")
                self._attach(item.id, message, message.touch_links)

    def _check_tool_link(self, name: str, operation: bytes, field: str) -> None:
        """Check that a message leaves the link of a tool where it is."""
        tool = next(tool for tool in self._cell.tools.values() if name in tool.frames)
        if operation == CollisionObject.ADD and name in self._written:
            return
        if operation == CollisionObject.ADD:
            text = f"{field}: {name} is a link of tool {tool.name}, which is hidden or not attached; show and attach it"
        else:
            text = f"{field}: {name} is a link of tool {tool.name}, which is part of the cell; change the tool"
        raise NotSupportedError(f"{text} by scene/apply_changes", subjects=(name, tool.name))

    def _is_unchanged(self, message: AttachedCollisionObject) -> bool:
        """Return whether an object is attached as a message says, and no change before moves it."""
        present = self._written.get(message.object.id)
        if present is None or not same_attached(message, present):
            return False
        return self._edited.isdisjoint(self._chain(message.object.id))

    def _attach_shapes(self, message: AttachedCollisionObject, field: str) -> None:
        """Add an object with its shapes, and attach it. Its pose is relative to the link if it names no frame."""
        item = message.object
        if not item.header.frame_id:
            item.header.frame_id = message.link_name
        if item.id in self._models and self.is_held(item.id):
            self._detach(item.id)
        self._add(item, f"{field}.object")
        self._attach(item.id, message, message.touch_links)

    def _attach(self, name: str, message: AttachedCollisionObject, touched: Sequence[str]) -> None:
        links, bodies = self._split_touched(touched)
        self._show(name)
        self._changed(
            SceneChange(
                operation=SceneChange.ATTACH_IN_PLACE,
                name=name,
                attach_to=message.link_name,
                touch_links=links,
                touch_bodies=bodies,
            )
        )
        self._parents[name], self._touch[name] = message.link_name, tuple(touched)
        self._attached_now.add(name)

    def _split_touched(self, names: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return links, and tools and bodies, of a list of names."""
        once = list(dict.fromkeys(names))
        check_count(len(once), MAX_OBJECTS, "touch_links", "names")
        bodies = [name for name in once if name in self._models or name in self._cell.tools]
        return [name for name in once if name not in bodies], bodies

    def _detach_named(self, name: str, link: str, field: str) -> None:
        """Detach an object; all of a link, or of all links, without a name."""
        if not name:
            for each in [held for held in self.held if link in ("", self._parents[held])]:
                self._detach(each)
            return
        self._known(name, field)
        if not self.is_held(name):
            raise InvalidRequestError(f"{field}: object {name} is not attached to anything", subjects=(name,))
        self._detach(name)

    def detach_body(self, name: str) -> None:
        """Detach a body."""
        self._detach(name)

    def _detach(self, name: str) -> None:
        self._changed(SceneChange(operation=SceneChange.DETACH, name=name))
        self._parents[name], self._touch[name] = "", ()

    def _changed(self, change: SceneChange) -> None:
        self._edited.update((change.name, self._frames.get(change.name, "")))
        self._edited.update(body.name for body in change.models.bodies)
        self._edited.update(frame.attached_to for frame in change.models.frames)
        self.changes.append(change)
        check_count(len(self.changes), MAX_OBJECTS, "the request", "changes")


def _reference(message: CollisionObject) -> tuple[str, Time]:
    """Return the frame of an object's pose and the time at which it is looked up."""
    frame = message.header.frame_id
    return ("", Time()) if frame in ("", WORLD) else (frame, message.header.stamp)
