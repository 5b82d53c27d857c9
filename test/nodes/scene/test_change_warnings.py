"""The reply to a change says what its sender should know, though it is accepted."""

import re

import pytest
from running import DEMO

from robot_cell_planner import srv
from robot_cell_planner.io.cell_file.cell_file import save_state
from robot_cell_planner.msg import BodyModel, BodyState, Configuration, Geometry, SceneChange, Shape

FINGER = "gripper/finger_joint"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("states")


@pytest.fixture(scope="module")
def scene_node(start_node, folder):
    return start_node("scene_node", cell_file=DEMO, resource_folders=f"[{folder}]")


def sphere(name, radius):
    change = SceneChange(operation=SceneChange.ADD)
    shape = Shape(geometry=Geometry(type=Geometry.SPHERE, dimensions=[radius]))
    change.states.bodies = [BodyState(name=name)]
    change.models.bodies = [BodyModel(name=name, collision=[shape])]
    return change


def turned(**values):
    return joints({f"{name}_joint": value for name, value in values.items()})


def joints(values):
    given = Configuration(joint_names=list(values), positions=list(values.values()))
    return SceneChange(operation=SceneChange.SET_JOINTS, configuration=given)


def reply_to(client, *changes, dry_run=True):
    request = srv.ApplyChanges.Request(changes=list(changes), dry_run=dry_run)
    return client.call_service(srv.ApplyChanges, "scene/apply_changes", request)


CHANGES = {
    "a size in mm": ([sphere("in_mm", 50.0)], "body in_mm is 100 x 100 x 100 m large; is its size in mm?"),
    "a joint in degrees": ([turned(elbow=90.0)], "the state has joint elbow_joint at 90 rad, beyond its limit 3"),
    "a joint of a tool": ([joints({FINGER: 0.1})], f"the state has joint {FINGER} at 0.1 m, beyond its limit 0.042 m"),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_doubtful_change_is_accepted_with_one_warning(scene_node, client, name, dry_run):
    changes, words = CHANGES[name]
    _, before = client.scene()
    reply = reply_to(client, *changes, dry_run=dry_run)
    (warning,) = reply.warnings
    assert re.search(words, warning)
    assert reply.revision == before + (not dry_run)
    if not dry_run:
        client.call_service(srv.UndoChanges, "scene/undo", srv.UndoChanges.Request())


def test_a_warning_is_about_the_change_and_not_about_what_was_there(scene_node, client):
    client.apply(sphere("in_mm", 50.0), turned(elbow=3.5))
    assert reply_to(client, sphere("small", 0.1), turned(elbow=3.5)).warnings == []
    assert len(reply_to(client, turned(elbow=3.6)).warnings) == 1
    assert reply_to(client, SceneChange(operation=SceneChange.REMOVE, name="in_mm")).warnings == []
    client.call_service(srv.UndoChanges, "scene/undo", srv.UndoChanges.Request())


def test_a_state_of_a_file_with_a_joint_beyond_its_limits(scene_node, client, folder):
    scene, _ = client.scene()
    save_state(str(folder / "beyond.yaml"), scene.state.with_configuration({"elbow_joint": 3.5}))
    request = srv.LoadState.Request(uri="beyond.yaml", dry_run=True)
    reply = client.call_service(srv.LoadState, "scene/load_state", request)
    assert [text.split(",")[0] for text in reply.warnings] == ["the state has joint elbow_joint at 3.5 rad"]
