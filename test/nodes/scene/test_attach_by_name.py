"""Robots and named frames attached by scene changes: their places in the scene, TF and scene monitors."""

import numpy as np
import pytest
from geometry_msgs.msg import Pose
from running import wait_for_message
from tf2_msgs.msg import TFMessage

from robot_cell_planner.errors import FrameCycleError, NotSupportedError
from robot_cell_planner.kinematics.transforms import WorldTransforms, world_pose
from robot_cell_planner.model.pose import Pose as CellPose
from robot_cell_planner.msg import BodyModel, Geometry, SceneChange, Shape
from robot_cell_planner.msg import RobotCell as CellMessage
from robot_cell_planner.nodes.common.node import LATCHED

C = SceneChange
LINKS = """<link name="base"/><link name="tip"/><joint name="turn" type="continuous"><parent link="base"/>
<child link="tip"/><origin xyz="0.1 0 0.4"/></joint>"""
CELL = """format: robot_cell/1
robots:
  arm: {urdf: arm.urdf, prefix: arm_, attached_to: plate, base_pose: {position: [0, 0.2, 0]}}
  table: {urdf: arm.urdf, srdf: table.srdf, prefix: table_}
tools: {hand: {collisions: [{type: box, size: [0.1, 0.1, 0.1]}], attached_to: table_turn}}
bodies: {plate: {collisions: [{type: box, size: [1, 1, 0.02]}], attached_to: table_tip}}
frames: {mark: {attached_to: plate, pose: {position: [0.3, 0, 0.1]}}}
state: {configuration: {table_turn: 0.7}}
"""
SRDF = """<robot name="arm"><group name="turn"><chain base_link="base" tip_link="tip"/></group></robot>"""


@pytest.fixture(scope="module")
def scene_node(start_node, tmp_path_factory):
    folder = tmp_path_factory.mktemp("attach")
    for name, text in {
        "cell.yaml": CELL, "arm.urdf": f'<robot name="arm">{LINKS}</robot>', "table.srdf": SRDF
    }.items():  # fmt: skip
        (folder / name).write_text(text)
    return start_node("scene_node", cell_file=folder / "cell.yaml")


def where(client, frame):
    scene, _ = client.scene()
    return world_pose(scene.cell, scene.state, frame)


def assert_same_place(a, b):
    distance, angle = a.distance_to(b)
    assert distance < 1e-9
    assert angle < 1e-7


def test_a_robot_and_a_frame_change_their_parents(scene_node, client):
    home = where(client, "arm_base")
    mark = where(client, "mark")
    client.apply(C(operation=C.ATTACH_IN_PLACE, name="arm", attach_to="table_base"))
    client.apply(C(operation=C.ATTACH_IN_PLACE, name="mark", attach_to="arm_tip"))
    scene, _ = client.scene()
    assert scene.cell.robots["arm"].attached_to == "table_base"
    assert scene.cell.frames["mark"].attached_to == "arm_tip"
    assert_same_place(where(client, "arm_base"), home)
    assert_same_place(where(client, "mark"), mark)
    client.apply(C(operation=C.DETACH, name="mark"))
    client.apply(C(operation=C.ATTACH, name="arm", pose=Pose()))  # to the world
    pose = Pose()
    pose.position.z = 0.25
    client.apply(C(operation=C.MOVE, name="arm", pose=pose, relative_to="mark"))
    assert_same_place(where(client, "mark"), mark)
    assert_same_place(where(client, "arm_base"), mark @ CellPose((0.0, 0.0, 0.25)))
    client.apply(C(operation=C.ATTACH, name="arm", attach_to="plate", pose=Pose()))
    assert_same_place(where(client, "arm_base"), where(client, "plate"))


def test_tf_has_the_robot_below_its_parent(scene_node, client):
    client.apply(C(operation=C.ATTACH_IN_PLACE, name="arm", attach_to="table_tip"))

    def base_of(message):
        (entry,) = [entry for entry in message.transforms if entry.child_frame_id == "arm_base"]
        return entry

    found = wait_for_message(
        client, TFMessage, "/tf_static", LATCHED, lambda message: base_of(message).header.frame_id == "table_tip"
    )
    scene, _ = client.scene()
    expected = WorldTransforms(scene.cell, scene.state).between("table_tip", "arm_base")
    moved = base_of(found).transform.translation
    np.testing.assert_allclose((moved.x, moved.y, moved.z), expected.position, atol=1e-9)


def test_loops_and_robots_on_tools_are_refused(scene_node, client):
    with pytest.raises(FrameCycleError, match="table"):
        client.apply(C(operation=C.ATTACH_IN_PLACE, name="table", attach_to="arm_tip"))
    with pytest.raises(NotSupportedError, match="hand"):
        client.apply(C(operation=C.ATTACH_IN_PLACE, name="arm", attach_to="hand/tcp"))


def test_a_body_in_millimetres_in_a_cell_in_metres(scene_node, client):
    geometry = Geometry(type=Geometry.BOX, dimensions=[100.0, 200.0, 300.0])
    body = BodyModel(name="crate", collision=[Shape(geometry=geometry)], native_scale=0.001)
    client.apply(C(operation=C.ADD, models=CellMessage(bodies=[body])))
    scene, _ = client.scene()
    assert scene.cell.bodies["crate"].collisions[0].geometry.size == pytest.approx((0.1, 0.2, 0.3))
