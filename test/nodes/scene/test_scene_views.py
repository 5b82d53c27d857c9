"""Output of the scene node: markers, frames with a prefix, diagnostics of irregularities, and errors of bad meshes."""

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Point, Pose
from running import wait_for_message
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from robot_cell_planner import srv
from robot_cell_planner.errors import GeometryError
from robot_cell_planner.msg import BodyModel, Geometry, SceneChange, Shape
from robot_cell_planner.nodes.common.node import LATCHED, reliable

C = SceneChange
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
ARM = """<robot name="arm"><link name="base"><visual><geometry><sphere radius="0.1"/></geometry></visual></link>
<link name="tip"/><joint name="turn" type="continuous"><parent link="base"/><child link="tip"/></joint></robot>"""
CELL = """format: robot_cell/1
robots: {left: {urdf: arm.urdf, prefix: left_}, right: {urdf: arm.urdf, prefix: right_}}
bodies:
  part: {collisions: [{type: mesh, uri: part.obj, scale: 0.1}], pose: {position: [1, 0, 0]}}
  post: {collisions: [{type: capsule, radius: 0.1, length: 1, rgba: [1, 0, 0, 1]}], attached_to: left_tip}
  cone: {collisions: [{type: cone, radius: 0.1, length: 1}], hidden: true}
frames: {corner: {attached_to: part}}
collision: {margins: {tabel: 0.01}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("views")
    for name, text in {"cell.yaml": CELL, "arm.urdf": ARM, "part.obj": TETRAHEDRON, "bad.obj": "v 0 0 x\n"}.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def scene_node(start_node, folder):
    return start_node("scene_node", cell_file=folder / "cell.yaml", frame_prefix="cell1/", diagnostics_period=0.1)


def markers_of(client, condition=lambda array: True):
    array = wait_for_message(client, MarkerArray, "scene/markers", LATCHED, condition)
    assert array.markers[0].action == Marker.DELETEALL
    ids = [(marker.ns, marker.id) for marker in array.markers[1:]]
    assert len(set(ids)) == len(ids)
    return array.markers[1:]


def test_markers_of_bodies_and_of_robots_that_no_description_can_hold(scene_node, client, folder):
    markers = markers_of(client)
    assert {(marker.ns, marker.header.frame_id, marker.type) for marker in markers} == {
        ("bodies", "cell1/part", Marker.MESH_RESOURCE),
        ("bodies", "cell1/post", Marker.CYLINDER),
        ("bodies", "cell1/post", Marker.SPHERE),
        ("robots", "cell1/left_base", Marker.SPHERE),
        ("robots", "cell1/right_base", Marker.SPHERE),
    }
    mesh = next(marker for marker in markers if marker.type == Marker.MESH_RESOURCE)
    assert mesh.mesh_resource == f"file://{folder / 'part.obj'}"
    assert (mesh.scale.x, mesh.frame_locked) == (0.1, True)
    assert all((marker.header.stamp.sec, marker.header.stamp.nanosec) == (0, 0) for marker in markers)
    red = [marker.color for marker in markers if marker.header.frame_id == "cell1/post"]
    assert {(color.r, color.g, color.b, color.a) for color in red} == {(1.0, 0.0, 0.0, 1.0)}


def test_markers_follow_hidden_and_shown_objects(scene_node, client):
    client.apply(C(operation=C.SHOW, name="cone"), C(operation=C.HIDE, name="part"))
    markers = markers_of(client, lambda array: any(m.header.frame_id == "cell1/cone" for m in array.markers))
    shown = {marker.header.frame_id: marker.type for marker in markers}
    assert shown["cell1/cone"] == Marker.ARROW
    assert "cell1/part" not in shown
    client.apply(C(operation=C.HIDE, name="cone"), C(operation=C.SHOW, name="part"))


def test_frames_have_the_prefix_and_follow_changes(scene_node, client):
    client.apply(C(operation=C.MOVE, name="part", pose=Pose(position=Point(x=7.0))))

    def moved(message):
        return any(
            entry.child_frame_id == "cell1/part" and entry.transform.translation.x == 7.0
            for entry in message.transforms
        )

    entries = wait_for_message(client, TFMessage, "/tf_static", LATCHED, moved).transforms
    parents = {entry.child_frame_id: entry.header.frame_id for entry in entries}
    assert parents == {
        "cell1/left_base": "world",
        "cell1/right_base": "world",
        "cell1/part": "world",
        "cell1/post": "cell1/left_tip",
        "cell1/cone": "world",
        "cell1/corner": "cell1/part",
    }
    moving = wait_for_message(client, TFMessage, "/tf", reliable(100), lambda message: True).transforms
    assert {entry.child_frame_id for entry in moving} == {"cell1/left_tip", "cell1/right_tip"}


def status_of(client, condition):
    message = wait_for_message(
        client, DiagnosticArray, "/diagnostics", reliable(10), lambda array: condition(array.status[0].message)
    )
    return message.status[0]


def test_diagnostics_report_unknown_names_and_files_that_change(scene_node, client, folder):
    assert "tabel" in status_of(client, lambda text: "collision settings" in text).message
    (folder / "part.obj").write_text(TETRAHEDRON + "\n")
    status = status_of(client, lambda text: "have changed" in text)
    assert status.level == DiagnosticStatus.WARN
    values = {pair.key: pair.value for pair in status.values}
    assert values["files that have changed"] == str(folder / "part.obj")
    (folder / "part.obj").write_text(TETRAHEDRON)
    status_of(client, lambda text: "have changed" not in text)


def test_a_bad_mesh_is_refused_when_it_is_added(scene_node, client):
    change = C(operation=C.ADD)
    geometry = Geometry(type=Geometry.MESH, mesh_uri="bad.obj")
    change.models.bodies = [BodyModel(name="bad", collision=[Shape(geometry=geometry)])]
    before = client.scene()
    with pytest.raises(GeometryError, match=r"bad\.obj"):
        client.apply(change)
    assert client.scene() == before


def test_loading_reports_unknown_names(scene_node, client):
    reply = client.call_service(srv.LoadCell, "scene/load_cell", srv.LoadCell.Request(uri="cell.yaml", dry_run=True))
    assert "tabel" in "".join(reply.warnings)
