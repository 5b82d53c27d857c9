"""Messages of the adapter about the scene are accepted when sent back, and change nothing, without a graph."""

from copy import deepcopy

import numpy as np
import pytest
from geometry_msgs.msg import TransformStamped
from hypothesis import given, settings
from hypothesis import strategies as st
from loaded_cells import loaded
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, ObjectColor, PlanningScene
from moveit_requests import box

from robot_cell_planner.errors import NotSupportedError, RobotCellError, UnknownNameError
from robot_cell_planner.io.common.resources import NO_ROOTS
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.msg import SceneChange
from robot_cell_planner.nodes.conversions.basic import pose_to_message
from robot_cell_planner.nodes.conversions.changes import changes_from_message
from robot_cell_planner.nodes.conversions.models import ModelReader
from robot_cell_planner.nodes.moveit.scene_messages import SceneWriter
from robot_cell_planner.nodes.moveit.scene_updates import frames_elsewhere, scene_changes, start_changes
from robot_cell_planner.nodes.moveit.world_editor import WorldEditor
from robot_cell_planner.scene.changes import apply_changes
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.scene.state_changes import Attach, SetHidden, SetJoints

CELL, STATE = loaded()
SCENE = Scene(CELL, STATE)
JOINTS = CELL.group().variables
READER = ModelReader(NO_ROOTS)


def applied(scene, changes):
    return apply_changes(scene, changes_from_message(changes, READER, "changes", 10_000), world_pose)


def changed(scene, *changes):
    return apply_changes(scene, list(changes), world_pose)


def with_subframe(scene):
    item = SceneWriter(scene).world_object("workpiece")
    item.subframe_names, item.subframe_poses = ["grip"], [pose_to_message(Pose.from_rpy((0.0, 0.01, 0.02), (1, 2, 3)))]
    editor = WorldEditor(scene)
    editor.world_object(item, "object")
    return applied(scene, editor.changes)


FREE = with_subframe(SCENE)
SCENES = {
    "nothing held": SCENE,
    "held by a link": changed(SCENE, Attach("workpiece", "tool0")),
    "held by a tool": changed(FREE, Attach("workpiece", "gripper", touch_bodies=("gripper",))),
    "held by a finger": changed(
        FREE, Attach("workpiece", "gripper/left_finger", Pose.from_rpy((0.01, 0.02, 0.03), (0.1, 0.2, 0.3)))
    ),
    "hidden ones": changed(
        FREE, Attach("bin", "tool0"), SetHidden("bin", True), SetHidden("workpiece", True), Attach("post", "tool0")
    ),
    "one on the other": changed(SCENE, Attach("workpiece", "tool0"), Attach("bin", "workpiece")),
}
rows = st.tuples(*[st.floats(-2.0, 2.0)] * len(JOINTS))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(SCENES)), rows, rows)
def test_every_state_of_a_reply_is_accepted_and_changes_nothing(name, now, solution):
    """As a start state, in a difference and in a whole scene; also one of other joint values, as of compute_ik."""
    scene = changed(SCENES[name], SetJoints(dict(zip(JOINTS, now, strict=True))))
    other = changed(scene, SetJoints(dict(zip(JOINTS, solution, strict=True))))
    for given_scene in (scene, other):
        state = SceneWriter(given_scene).robot_state()
        assert state.attached_collision_objects
        assert start_changes(scene, deepcopy(state)) == []
        assert start_changes(scene, deepcopy(state), PlanningScene(is_diff=True)) == []
        for diff in (PlanningScene(is_diff=True), SceneWriter(given_scene).scene()):
            diff.robot_state = deepcopy(state)
            assert scene_changes(scene, diff, JOINTS) == []


@pytest.mark.parametrize("name", sorted(SCENES))
def test_a_scene_that_is_sent_back_as_a_difference_changes_nothing(name):
    message = SceneWriter(SCENES[name]).scene()
    message.is_diff = True
    assert scene_changes(SCENES[name], message, JOINTS) == []


def test_an_object_that_was_moved_before_is_moved_back():
    moved, back = (SceneWriter(SCENE).world_object("bin") for _ in range(2))
    moved.operation, moved.pose.position.x = CollisionObject.MOVE, 3.0
    editor = WorldEditor(SCENE)
    for item in (moved, back):
        editor.world_object(item, "object")
    found = applied(SCENE, editor.changes)
    there = world_pose(CELL, STATE, "bin")
    assert np.allclose(world_pose(found.cell, found.state, "bin").matrix, there.matrix)


def entry_of(scene, name):
    return next(held for held in SceneWriter(scene).attached_objects() if held.object.id == name)


def attached(scene, *entries):
    editor = WorldEditor(scene)
    editor.attached_objects(entries, "attached")
    return applied(scene, editor.changes)


def test_a_held_body_that_is_attached_elsewhere_keeps_its_mass_and_colour():
    scene = SCENES["held by a link"]
    entry = entry_of(scene, "workpiece")
    entry.link_name, entry.touch_links = "forearm_link", ["forearm_link"]
    found = attached(scene, entry)
    assert found.state.bodies["workpiece"].attached_to == "forearm_link"
    assert found.state.bodies["workpiece"].touch_links == ("forearm_link",)
    assert found.cell.bodies["workpiece"] == scene.cell.bodies["workpiece"]
    there = world_pose(scene.cell, scene.state, "workpiece")
    assert np.allclose(world_pose(found.cell, found.state, "workpiece").matrix, there.matrix)


def test_an_object_changed_before_by_the_same_message_is_changed_again():
    scene = SCENES["held by a link"]
    entry = entry_of(scene, "workpiece")
    drop = AttachedCollisionObject(object=CollisionObject(id="workpiece", operation=CollisionObject.REMOVE))
    assert attached(scene, drop, deepcopy(entry)).state.bodies["workpiece"].attached_to == "tool0"
    difference = PlanningScene(is_diff=True)
    difference.robot_state.attached_collision_objects = [drop]
    state = SceneWriter(scene).robot_state(attached=False)
    state.attached_collision_objects = [entry]
    found = applied(scene, start_changes(scene, state, difference))
    assert found.state.bodies["workpiece"].attached_to == "tool0"


def test_a_start_state_may_hold_an_object_that_the_difference_of_the_request_adds():
    difference, state = PlanningScene(is_diff=True), SceneWriter(SCENE).robot_state()
    difference.world.collision_objects = [box("part")]
    state.attached_collision_objects.append(
        AttachedCollisionObject(link_name="tool0", object=CollisionObject(id="part"))
    )
    changes = start_changes(SCENE, state, difference)
    assert applied(SCENE, changes).state.bodies["part"].attached_to == "tool0"
    assert sum(change.operation == SceneChange.ADD for change in changes) == 1


@pytest.mark.parametrize("operation", [CollisionObject.REMOVE, CollisionObject.APPEND, CollisionObject.MOVE])
def test_a_link_of_a_tool_is_not_removed_or_changed_as_an_object(operation):
    entry = entry_of(SCENE, "gripper/palm")
    entry.object.operation = operation
    with pytest.raises(RobotCellError, match="gripper/palm is a link of tool gripper, which is part of the cell"):
        attached(SCENE, entry)


# Hidden bodies.


def shown_objects(scene):
    message = SceneWriter(scene).scene()
    held = [entry.object.id for entry in message.robot_state.attached_collision_objects]
    return {item.id for item in message.world.collision_objects}, set(held)


def whole_scene_with(scene, *, objects=(), held=()):
    message = SceneWriter(scene).scene()
    message.world.collision_objects.extend(objects)
    message.robot_state.attached_collision_objects.extend(held)
    return scene_changes(scene, message, JOINTS)


def difference_with(scene, *, objects=(), held=()):
    message = PlanningScene(is_diff=True)
    message.world.collision_objects = list(objects)
    message.robot_state.attached_collision_objects = list(held)
    return scene_changes(scene, message, JOINTS)


HIDDEN = SCENES["hidden ones"]  # the bin is held, the workpiece is not


@pytest.mark.parametrize("changes_of", [whole_scene_with, difference_with])
@pytest.mark.parametrize("same_shape", [True, False])
@pytest.mark.parametrize("name", ["workpiece", "bin"])
def test_a_hidden_body_that_is_attached_is_shown(changes_of, same_shape, name):
    item = SceneWriter(HIDDEN).world_object(name) if same_shape else box(name)
    entry = AttachedCollisionObject(link_name="tool0", object=item)
    found = applied(HIDDEN, changes_of(HIDDEN, held=[entry]))
    assert name in shown_objects(found)[1]
    assert not found.state.bodies[name].hidden


@pytest.mark.parametrize(
    ("changes_of", "operation"),
    [
        (whole_scene_with, CollisionObject.ADD),
        (difference_with, CollisionObject.ADD),
        (difference_with, CollisionObject.APPEND),
    ],
)
def test_a_hidden_body_that_is_added_is_shown(changes_of, operation):
    item = box("workpiece")
    item.operation = operation
    found = applied(HIDDEN, changes_of(HIDDEN, objects=[item]))
    assert "workpiece" in shown_objects(found)[0]
    assert not found.state.bodies["workpiece"].hidden


def test_a_hidden_body_that_is_held_is_detached_by_a_whole_scene_that_has_it_in_the_world():
    found = applied(HIDDEN, whole_scene_with(HIDDEN, objects=[box("bin")]))
    assert "bin" in shown_objects(found)[0]
    assert found.state.bodies["bin"].attached_to == ""


def test_a_hidden_body_that_is_attached_by_its_name_is_shown():
    entry = AttachedCollisionObject(link_name="tool0", object=CollisionObject(id="workpiece"))
    found = attached(HIDDEN, entry)
    assert not found.state.bodies["workpiece"].hidden


def test_hidden_bodies_stay_in_a_scene_that_is_sent_back():
    assert "bin" not in shown_objects(HIDDEN)[1]
    assert whole_scene_with(HIDDEN) == []


# Parts of a scene that cannot be changed by its message.


@pytest.mark.parametrize("is_diff", [True, False])
def test_a_scene_of_another_robot_is_refused(is_diff):
    message = SceneWriter(SCENE).scene()
    message.is_diff, message.robot_model_name = is_diff, "another_robot"
    with pytest.raises(UnknownNameError, match="robot_model_name: robot 'another_robot'"):
        scene_changes(SCENE, message, ())


@pytest.mark.parametrize("frame", ["new_frame", "table"])
def test_frames_that_a_message_would_add_or_move_are_refused_by_name(frame):
    message = SceneWriter(SCENE).scene()
    placed = TransformStamped(child_frame_id=frame)
    placed.header.frame_id, placed.transform.translation.z = "world", 9.0
    message.fixed_frame_transforms.append(placed)
    assert frames_elsewhere(SCENE, message) == [frame]
    assert scene_changes(SCENE, message, ()) == []  # as RViz sends it, with all frames of TF
    message.is_diff = True
    with pytest.raises(NotSupportedError, match=rf"fixed_frame_transforms has {frame}, which the cell does not have"):
        scene_changes(SCENE, message, ())


def test_frames_where_the_cell_has_them_are_accepted():
    message = SceneWriter(SCENE).scene()
    assert message.fixed_frame_transforms
    message.fixed_frame_transforms.append(TransformStamped(child_frame_id="world"))
    for message.is_diff in (True, False):
        assert scene_changes(SCENE, deepcopy(message), ()) == []
    assert frames_elsewhere(SCENE, message) == []


@pytest.mark.parametrize("name", ["bin", "new"])
def test_an_object_that_is_added_with_its_colour_has_its_new_shape_and_the_colour(name):
    message, color = PlanningScene(is_diff=True), ObjectColor(id=name)
    color.color.r, color.color.a = 0.5, 1.0
    message.world.collision_objects, message.object_colors = [box(name, size=0.25)], [color]
    (shape,) = applied(SCENE, scene_changes(SCENE, message, ())).cell.bodies[name].collisions
    assert shape.geometry.size == (0.25, 0.25, 0.25)
    assert shape.rgba == (0.5, 0.0, 0.0, 1.0)
