"""A rail under the arm and a positioner beside it: their joints are ordinary variables of the cell."""

import numpy as np
import pytest

from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.kinematics.forward import forward_kinematics_to_frame
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.model import cell_model
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.kinematics.transforms import WorldTransforms, world_pose
from robot_cell_planner.model.frames import FrameTree
from robot_cell_planner.scene.changes import apply_changes
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.scene.state_changes import Attach, SetJoints

RAIL = """<robot name="arm_on_rail" xmlns:xacro="http://www.ros.org/wiki/xacro">
<link name="rail"/><link name="carriage"/>
<joint name="rail_joint" type="prismatic"><parent link="rail"/><child link="carriage"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" velocity="1" effort="1000"/></joint>
<xacro:macro name="axis" params="number below above *origin"><link name="${above}"/>
  <joint name="joint_${number}" type="revolute"><parent link="${below}"/><child link="${above}"/>
  <xacro:insert_block name="origin"/><axis xyz="${'0 0 1' if number in (1, 4, 6) else '0 1 0'}"/>
  <limit lower="-3" upper="3" velocity="2" effort="100"/></joint></xacro:macro>
<xacro:axis number="1" below="carriage" above="link_1"><origin xyz="0 0 0.4"/></xacro:axis>
<xacro:axis number="2" below="link_1" above="link_2"><origin xyz="0.1 0 0.1"/></xacro:axis>
<xacro:axis number="3" below="link_2" above="link_3"><origin xyz="0 0 0.5"/></xacro:axis>
<xacro:axis number="4" below="link_3" above="link_4"><origin xyz="0 0 0.25"/></xacro:axis>
<xacro:axis number="5" below="link_4" above="link_5"><origin xyz="0 0 0.25"/></xacro:axis>
<xacro:axis number="6" below="link_5" above="flange"><origin xyz="0 0 0.1"/></xacro:axis>
</robot>"""
SRDF = """<robot name="arm_on_rail"><group name="arm"><chain base_link="carriage" tip_link="flange"/></group>
<group name="arm_and_rail"><chain base_link="rail" tip_link="flange"/></group></robot>"""
POSITIONER = """<robot name="positioner"><link name="column"/><link name="table"/>
<joint name="tilt" type="revolute"><parent link="column"/><child link="table"/><origin xyz="0 0 0.6"/>
  <axis xyz="1 0 0"/><limit lower="-1.5" upper="1.5" velocity="1" effort="1"/></joint></robot>"""
CELL = """format: robot_cell/1
robots:
  arm_on_rail: {urdf: arm.urdf.xacro, srdf: arm.srdf}
  positioner: {urdf: positioner.urdf, base_pose: {position: [1.0, 0, 0]}}
bodies:
  part: {collisions: [{type: box, size: [0.2, 0.2, 0.1]}], attached_to: table, pose: {position: [0, 0, 0.05]}}
frames:
  seam: {attached_to: part, pose: {position: [0.05, 0, 0.05], rpy: [3.141592653589793, 0, 0]}}
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rail")
    (folder / "arm.urdf.xacro").write_text(RAIL)
    (folder / "arm.srdf").write_text(SRDF)
    (folder / "positioner.urdf").write_text(POSITIONER)
    (folder / "cell.yaml").write_text(CELL)
    return Scene(*load_cell(folder / "cell.yaml"))


def matrix(scene, frame):
    return WorldTransforms(scene.cell, scene.state).matrix(frame)


def test_external_axes_are_variables_and_belong_to_groups(scene):
    assert cell_model(scene.cell, scene.state).variables == (
        "rail_joint",
        *(f"joint_{number}" for number in range(1, 7)),
        "tilt",
    )
    assert scene.cell.group("arm_and_rail").variables == ("rail_joint", *scene.cell.group("arm").variables)


def test_the_rail_carries_the_whole_arm(scene):
    moved = apply_changes(scene, [SetJoints({"rail_joint": 0.7})], world_pose)
    for link in ("carriage", "link_3", "flange"):
        shifted = matrix(scene, link)
        shifted[1, 3] += 0.7
        np.testing.assert_allclose(matrix(moved, link), shifted, atol=1e-12)


def test_the_positioner_carries_the_part_and_its_frames(scene):
    tilted = apply_changes(scene, [SetJoints({"tilt": 0.5})], world_pose)
    for frame in ("part", "seam"):
        before = np.linalg.inv(matrix(scene, "table")) @ matrix(scene, frame)
        np.testing.assert_allclose(np.linalg.inv(matrix(tilted, "table")) @ matrix(tilted, frame), before, atol=1e-12)
        assert FrameTree(scene.cell, scene.state).is_moving(frame)
    assert np.abs(matrix(tilted, "seam") - matrix(scene, "seam")).max() > 0.1


def test_a_pose_that_only_the_rail_brings_within_reach(scene):
    """The pose is beside the tilted part, further along the rail than the arm alone reaches."""
    state = apply_changes(scene, [SetJoints({"tilt": 0.3, "joint_2": 0.3, "joint_3": 1.0})], world_pose).state
    pose = forward_kinematics_to_frame(scene.cell, state, "flange")
    x, y, z = pose.position
    target = FrameTarget(type(pose)((x, y + 1.5, z), pose.quaternion), mode=TargetMode.ROBOT)
    found = inverse_kinematics(scene.cell, state, target, "arm_and_rail")
    names = scene.cell.group("arm_and_rail").variables
    reached = state.with_configuration(dict(zip(names, found.solutions[0].tolist(), strict=True)))
    distance, angle = forward_kinematics_to_frame(scene.cell, reached, "flange").distance_to(target.pose)
    assert distance < 1e-5
    assert angle < 1e-5
    assert reached.configuration["tilt"] == 0.3


def test_a_part_gripped_on_the_positioner_no_longer_follows_it(scene):
    gripped = apply_changes(scene, [SetJoints({"tilt": 0.4}), Attach("part", "flange")], world_pose)
    turned_back = apply_changes(gripped, [SetJoints({"tilt": 0.0})], world_pose)
    np.testing.assert_allclose(matrix(turned_back, "part"), matrix(gripped, "part"), atol=1e-12)
