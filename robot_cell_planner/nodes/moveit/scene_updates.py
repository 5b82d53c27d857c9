"""Planning scene messages of MoveIt as scene changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy

import numpy as np
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, ObjectColor, PlanningScene, RobotState

from robot_cell_planner.msg import BodyModel, SceneChange

from ...errors import InvalidRequestError, NotSupportedError, UnknownNameError
from ...kinematics.transforms import WorldTransforms
from ...model.frames import FrameTree
from ...model.name_suggestions import unknown_name
from ...model.value import WORLD
from ...scene.scene import Scene
from ..conversions.basic import check_count, configuration_to_message, pose_from_message
from ..conversions.model_messages import body_to_message
from .allowed_collisions import matrix_changes, padding_changes
from .object_equality import same_object
from .octomap import add_octomap
from .robot_states import at_present_turns, given_values, pose_of_transform
from .scene_messages import SceneWriter, color_of
from .world_editor import MAX_OBJECTS, WorldEditor, operation_of

FRAME_TOLERANCE = 1e-6  # [m] and of the entries of rotation matrices
COLOR_STEP = 1e-6  # colours are sent as single-precision numbers


def scene_changes(scene: Scene, message: PlanningScene, measured: Iterable[str]) -> list[SceneChange]:
    """Return the changes that a planning scene makes, to be applied all or none.

    A difference (`is_diff`) changes what it contains; a whole scene also removes the objects that it does not contain.
    measured: joints whose values in the message are ignored, since they are measured.

    Raises:
        RobotCellError: A part is malformed, unknown or cannot be served.
    """
    return _scene_changes(scene, message, measured, WorldEditor(scene))


def start_changes(scene: Scene, message: RobotState, difference: PlanningScene | None = None) -> list[SceneChange]:
    """Return the changes of a scene for a request: a difference, and then the attached objects of its start state. The
    joint values of the state are not among them.

    Raises:
        RobotCellError: A part is malformed, unknown or cannot be served.
    """
    editor, changes = WorldEditor(scene), list[SceneChange]()
    if difference is not None:
        values = given_values(scene.cell, message, "start_state")
        changes += _scene_changes(scene, difference, values, editor)
    count = len(editor.changes)
    editor.attached_objects(message.attached_collision_objects, "start_state.attached_collision_objects")
    return [*changes, *editor.changes[count:]]


def _scene_changes(
    scene: Scene, message: PlanningScene, measured: Iterable[str], editor: WorldEditor
) -> list[SceneChange]:
    _check_robot(scene, message.robot_model_name)
    _check_transforms(scene, message)
    changes = _joint_changes(scene, message.robot_state, set(measured))
    objects, attached = message.world.collision_objects, message.robot_state.attached_collision_objects
    check_count(len(objects) + len(attached), MAX_OBJECTS, "the scene", "objects")
    if not message.is_diff:
        objects, attached = _differences(scene, message, editor)
    editor.attached_objects(attached, "robot_state.attached_collision_objects")
    for index, item in enumerate(objects):
        editor.world_object(item, f"world.collision_objects[{index}]")
    add_octomap(editor, message.world.octomap)
    bodies = [*editor.free, *editor.held]
    matrix = message.allowed_collision_matrix
    rules: list[SceneChange] = []
    if matrix.entry_names or matrix.default_entry_names:
        rules += matrix_changes(scene.cell, matrix, bodies)
    rules += padding_changes(scene.cell, message.link_padding, message.link_scale)
    return [*changes, *editor.changes, *rules, *_color_changes(scene, message.object_colors, editor)]


def _check_robot(scene: Scene, name: str) -> None:
    """Check that a scene is one of this cell."""
    known = [robot.mechanism.name for robot in scene.cell.robots.values()]
    if name and name not in known:
        text = unknown_name(f"robot_model_name: robot {name!r}", name, known)
        raise UnknownNameError(text, subjects=(name,))


def frames_elsewhere(scene: Scene, message: PlanningScene) -> list[str]:
    """Return the frames that the fixed transforms of a scene place where the cell does not have them.

    Raises:
        RobotCellError: A transform is malformed, or there are too many.
    """
    transforms = message.fixed_frame_transforms
    check_count(len(transforms), MAX_OBJECTS, "fixed_frame_transforms", "transforms")
    poses, tree = WorldTransforms(scene.cell, scene.state), FrameTree(scene.cell, scene.state)
    found: list[str] = []
    for index, given in enumerate(transforms):
        frame, parent = given.child_frame_id, given.header.frame_id or WORLD
        pose = pose_from_message(pose_of_transform(given.transform), f"fixed_frame_transforms[{index}]")
        known = frame in tree and parent in tree
        if not known or not np.allclose(poses.matrix(frame, parent), pose.matrix, atol=FRAME_TOLERANCE):
            found.append(frame)
    return found


def _check_transforms(scene: Scene, message: PlanningScene) -> None:
    """Check that a difference does not add or move frames. Whole scenes, which RViz sends with all frames of TF, may
    have others: they are left out."""
    frames = frames_elsewhere(scene, message)
    if message.is_diff and frames:
        text = f"fixed_frame_transforms has {', '.join(frames[:5])}, which the cell does not have there; add or move"
        raise NotSupportedError(f"{text} named frames by scene/apply_changes, or use TF", subjects=tuple(frames[:5]))


def _joint_changes(scene: Scene, message: RobotState, measured: set[str]) -> list[SceneChange]:
    """Return the change of the joints that no publisher measures."""
    values = at_present_turns(scene, given_values(scene.cell, message, "robot_state"))
    own = {name: value for name, value in values.items() if name not in measured}
    changed = {name: value for name, value in own.items() if scene.state.configuration.get(name) != value}
    if not changed:
        return []
    return [SceneChange(operation=SceneChange.SET_JOINTS, configuration=configuration_to_message(changed))]


def _differences(
    scene: Scene, message: PlanningScene, editor: WorldEditor
) -> tuple[list[CollisionObject], list[AttachedCollisionObject]]:
    """Remove the objects that a whole scene does not contain; return those that are new or other than they are. Hidden
    bodies, which a scene as a message does not contain, stay unless they are in it."""
    writer = SceneWriter(scene)
    if any(operation_of(item) != CollisionObject.ADD for item in message.world.collision_objects):
        text = "a whole scene (is_diff false) has a collision object with another operation than ADD"
        raise InvalidRequestError(text, subjects=("world.collision_objects",))
    objects = {item.id: item for item in message.world.collision_objects}
    attached = {held.object.id: held for held in message.robot_state.attached_collision_objects}
    for name in editor.held:
        if name in objects and name not in attached:
            editor.detach_body(name)
        elif name not in attached and not scene.state.bodies[name].hidden:
            editor.remove_body(name)
    for name in writer.world_bodies():
        if name in objects and same_object(objects[name], writer.world_object(name)):
            del objects[name]
        elif name not in objects and name not in attached:
            editor.remove_body(name)
    return list(objects.values()), list(attached.values())


def _color_changes(scene: Scene, colors: Sequence[ObjectColor], editor: WorldEditor) -> list[SceneChange]:
    """Return the change of the colours of bodies, also of those that the message adds or replaces."""
    models: list[BodyModel] = []
    bodies, new = [*editor.free, *editor.held], editor.new_models
    removed = scene.cell.bodies.keys() - set(bodies)
    for entry in colors:
        if entry.id in removed:
            continue
        if entry.id not in bodies:
            raise UnknownNameError(unknown_name(f"object {entry.id!r}", entry.id, bodies), subjects=(entry.id,))
        if entry.id in new:
            model = deepcopy(new[entry.id])
        else:
            body = scene.cell.bodies[entry.id]
            color = entry.color.r, entry.color.g, entry.color.b, entry.color.a
            present = color_of(body)
            if present is not None and np.allclose(present, color, atol=COLOR_STEP):
                continue
            model = body_to_message(body)
        for shape in model.visual or model.collision:
            shape.rgba = entry.color
        models.append(model)
    if not models:
        return []
    change = SceneChange(operation=SceneChange.REPLACE)
    change.models.bodies = models
    return [change]
