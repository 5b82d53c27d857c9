"""Frames of a cell that is loaded from a message may be given relative to others; its names may have a prefix."""

import pytest
from frozendict import frozendict
from reference import box

from robot_cell_planner import srv
from robot_cell_planner.errors import InvalidRequestError, UnknownNameError
from robot_cell_planner.model.bodies import CollisionSettings, NamedFrame, RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.pose import IDENTITY, Pose
from robot_cell_planner.nodes.client.client import CellClient
from robot_cell_planner.nodes.conversions.basic import pose_from_message, pose_to_message
from robot_cell_planner.nodes.conversions.model_messages import cell_to_message

CORNER = NamedFrame("corner", "crate", Pose((0.5, 0.0, 0.25), (0.0, 0.0, 0.6, 0.8)))
GIVEN = Pose((0.1, 0.2, 0.3))
KINDS = srv.LoadCell.Request


@pytest.fixture(scope="module")
def scene(start_node):
    return start_node("scene_node")


def load(client, cell, mode, relative_to, pose=IDENTITY, prefix=""):
    """Load a cell; the pose of the frame `related` is relative to another frame. Return the names."""
    message = cell_to_message(cell)
    for frame in message.frames:
        if frame.name == "related":
            frame.relative_to = relative_to
    request = KINDS(cell=message, mode=mode, pose=pose_to_message(pose), prefix=prefix)
    return client.call_service(srv.LoadCell, "scene/load_cell", request).names


def frames_of(client):
    cell = client.call_service(srv.GetCell, "scene/get_cell", srv.GetCell.Request()).scene.cell
    return {frame.name: (frame.attached_to, pose_from_message(frame.pose, "pose")) for frame in cell.frames}


def assert_same(pose, expected):
    distance, angle = pose.distance_to(expected)
    assert distance < 1e-9
    assert angle < 1e-9


def bodies(*names):
    return frozendict({name: RigidBody(name, (box(),)) for name in names})


def test_frames_of_a_loaded_cell(scene, client: CellClient):
    related = NamedFrame("related", "part", GIVEN)
    cell = RobotCell(bodies=bodies("crate", "part"), frames=frozendict(corner=CORNER, related=related))
    assert load(client, cell, KINDS.REPLACE, "corner") == ["crate", "part", "corner", "related"]
    attached_to, pose = frames_of(client)["related"]
    assert attached_to == "part"
    assert_same(pose, CORNER.pose @ GIVEN)
    with pytest.raises(UnknownNameError, match="'cornre'"):
        load(client, cell, KINDS.REPLACE, "cornre")


def test_frames_of_a_merged_cell(scene, client: CellClient):
    load(client, RobotCell(bodies=bodies("crate"), frames=frozendict(corner=CORNER)), KINDS.REPLACE, "")
    merged = RobotCell(bodies=bodies("wall"), frames=frozendict(related=NamedFrame("related", "wall", GIVEN)))
    place = Pose((0.0, 0.0, 2.0))
    assert load(client, merged, KINDS.MERGE, "corner", place) == ["wall", "related"]
    attached_to, pose = frames_of(client)["related"]
    assert attached_to == "wall"
    assert_same(pose, place.inverse() @ CORNER.pose @ GIVEN)


@pytest.mark.parametrize("relative_to", ["corner", "wall"])
def test_names_of_a_merged_cell_have_the_prefix(scene, client: CellClient, relative_to):
    """The frame `wall` is one of the merged cell, `corner` one of the scene."""
    load(client, RobotCell(bodies=bodies("crate"), frames=frozendict(corner=CORNER)), KINDS.REPLACE, "")
    own = {"related": NamedFrame("related", "wall", GIVEN), "top": NamedFrame("top", "wall", GIVEN)}
    margins = CollisionSettings(margins=frozendict(wall=0.125))
    merged = RobotCell(bodies=bodies("wall"), frames=frozendict(own), collision=margins)
    names = load(client, merged, KINDS.MERGE, relative_to, prefix="b_")
    assert names == ["b_wall", "b_top", "b_related"]
    frames = frames_of(client)
    assert frames["b_top"] == ("b_wall", GIVEN)
    assert frames["b_related"][0] == "b_wall"
    assert_same(frames["b_related"][1], CORNER.pose @ GIVEN if relative_to == "corner" else GIVEN)
    cell = client.call_service(srv.GetCell, "scene/get_cell", srv.GetCell.Request()).scene.cell
    assert [(entry.name, entry.margin) for entry in cell.collision.margins] == [("b_wall", 0.125)]


def test_a_prefix_that_no_name_can_begin_with_is_refused(scene, client: CellClient):
    with pytest.raises(InvalidRequestError, match="prefix"):
        load(client, RobotCell(bodies=bodies("wall")), KINDS.MERGE, "", prefix="a\nb")
