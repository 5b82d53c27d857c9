"""URDF: agreement with Pinocchio's parser, every element of the format, and errors that name file and line."""

import math
import random

import numpy as np
import pinocchio as pin
import pytest
from robots import BULLET, MANIPULATORS

from robot_cell_planner.errors import DuplicateNameError, FileError, LimitExceededError, ModelError, ResourceError
from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.io.robot_description.loading import load_robot, load_tool
from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.model.geometry import Box, Capsule, Cylinder, Mesh, MeshUse, Sphere
from robot_cell_planner.model.mechanism import JointKind
from robot_cell_planner.model.placement import Placements, motion
from robot_cell_planner.model.pose import IDENTITY


@pytest.fixture(scope="module", params=MANIPULATORS)
def pair(request):
    """A robot as read by this package and by Pinocchio."""
    path = MANIPULATORS[request.param]
    return load_robot(request.param.replace(" ", "_"), path), pin.buildModelFromUrdf(str(path))


def random_configuration(robot, seed):
    generator = random.Random(seed)
    return {
        v.name: generator.uniform(max(v.limits.lower, -3.0), min(v.limits.upper, 3.0))
        for v in robot.mechanism.variables
    }


def for_pinocchio(robot, model, configuration):
    """Pinocchio's configuration vector; mimic joints are independent in it, continuous ones have cosine and sine."""
    q = pin.neutral(model)
    for joint in robot.mechanism.joints.values():
        if joint.kind is JointKind.FIXED:
            continue
        source, multiplier, offset = robot.mechanism.mimic_source(joint.name)
        value = multiplier * configuration[source] + offset
        there = model.joints[model.getJointId(joint.name)]
        if there.nq == 2:
            q[there.idx_q : there.idx_q + 2] = math.cos(value), math.sin(value)
        else:
            q[there.idx_q] = value
    return q


def link_poses(robot, configuration):
    mechanism = robot.mechanism
    placements = {
        joint.child: (joint.parent, joint.origin @ motion(mechanism, joint, configuration))
        for joint in mechanism.joints.values()
    }
    below_root = Placements({mechanism.root: ("world", IDENTITY), **placements})
    return {link: below_root.world(link).matrix for link in mechanism.links}


@pytest.mark.parametrize("seed", range(3))
def test_links_are_where_pinocchio_has_them(pair, seed):
    robot, model = pair
    configuration = random_configuration(robot, seed)
    data = model.createData()
    pin.framesForwardKinematics(model, data, for_pinocchio(robot, model, configuration))
    for link, pose in link_poses(robot, configuration).items():
        original = "world" if link.endswith("_world") else link
        expected = data.oMf[model.getFrameId(original, pin.FrameType.BODY)].homogeneous
        np.testing.assert_allclose(pose, expected, atol=1e-9, err_msg=link)


def test_mass_and_its_centre_are_pinocchios(pair):
    robot, model = pair
    configuration = random_configuration(robot, 7)
    poses = link_poses(robot, configuration)
    # Pinocchio leaves out the inertia of the root of a robot that is fixed to the world.
    moved = {link: robot.mechanism.links[link].inertial for link in robot.mechanism.links if carried(robot, link)}
    masses = {link: inertial.mass for link, inertial in moved.items() if inertial is not None}
    data = model.createData()
    assert sum(masses.values()) == pytest.approx(pin.computeTotalMass(model), rel=1e-9)
    centre = sum(m * (poses[k] @ (*moved[k].pose.position, 1.0))[:3] for k, m in masses.items()) / sum(masses.values())
    expected = pin.centerOfMass(model, data, for_pinocchio(robot, model, configuration))
    np.testing.assert_allclose(centre, expected, atol=1e-9)


def carried(robot, link):
    """Whether the link moves with a joint that is not fixed."""
    while link in robot.mechanism.parent_joints:
        joint = robot.mechanism.parent_joints[link]
        if joint.kind is not JointKind.FIXED:
            return True
        link = joint.parent
    return False


def test_limits_are_pinocchios(pair):
    robot, model = pair
    for joint in robot.mechanism.joints.values():
        if joint.kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
            continue
        there = model.joints[model.getJointId(joint.name)]
        lower, upper = model.lowerPositionLimit[there.idx_q], model.upperPositionLimit[there.idx_q]
        soft = joint.extras.safety_controller  # which Pinocchio does not read
        assert joint.limits.lower == max(lower, soft.get("soft_lower_limit", lower))
        assert joint.limits.upper == min(upper, soft.get("soft_upper_limit", upper))
        assert joint.limits.effort == model.upperEffortLimit[there.idx_v]
        if "velocity" not in joint.limits.defaulted:
            assert joint.limits.velocity == model.upperVelocityLimit[there.idx_v]


def test_inertias_are_those_of_the_file():
    """Pinocchio's inertia of a body that only one link belongs to."""
    robot = load_robot("kuka", MANIPULATORS["bullet kuka"])
    model = pin.buildModelFromUrdf(str(MANIPULATORS["bullet kuka"]))
    for joint in robot.mechanism.joints.values():
        inertial = robot.mechanism.links[joint.child].inertial
        there = model.inertias[model.getJointId(joint.name)]
        xx, xy, xz, yy, yz, zz = inertial.inertia
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        rotation = inertial.pose.matrix[:3, :3]
        np.testing.assert_allclose(there.lever, inertial.pose.position, atol=1e-12)
        np.testing.assert_allclose(there.inertia, rotation @ matrix @ rotation.T, atol=1e-12)


FULL = """<robot name="full">
  <material name="red"><color rgba="1 0 0 0.5"/></material>
  <link name="base">
    <inertial><origin xyz="1 2 3" rpy="0 0 1.5"/><mass value="4"/>
      <inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="3"/></inertial>
    <visual name="look"><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry><material name="red"/></visual>
    <visual><geometry><sphere radius="0.5"/></geometry><material name="own"><color rgba="0 1 0 1"/>
      <texture filename="package://a/b.png"/></material></visual>
    <visual><geometry><sphere radius="0.5"/></geometry><material name="later"/></visual>
    <collision name="touch"><geometry><cylinder radius="0.1" length="2"/></geometry></collision>
    <collision><geometry><mesh filename="cube.obj" scale="1 -1 0.001"/></geometry></collision>
    <collision><geometry><capsule radius="0.1" length="0.2"/></geometry></collision>
    <sensor name="camera"/>
  </link>
  <link name="a"/><link name="b"/><link name="c"/><link name="d"/><link name="e"/><link name="f"/>
  <joint name="turn" type="revolute">
    <origin xyz="0 0 1" rpy="0.1 0.2 0.3"/><parent link="base"/><child link="a"/><axis xyz="0 -1 0"/>
    <limit lower="-1" upper="2" velocity="3" effort="4"/><dynamics damping="0.5" friction="0.25"/>
    <calibration rising="0.125"/>
    <safety_controller soft_lower_limit="-0.9" soft_upper_limit="1.9" k_position="10" k_velocity="20"/>
    <gear ratio="100"/>
  </joint>
  <joint name="spin" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1.0004"/>
    <limit lower="5" upper="6" velocity="7" effort="8"/></joint>
  <joint name="slide" type="prismatic"><parent link="b"/><child link="c"/><limit lower="0" upper="1" velocity="1"
    effort="1"/><mimic joint="turn" multiplier="-2" offset="0.5"/></joint>
  <joint name="free" type="floating"><parent link="c"/><child link="d"/></joint>
  <joint name="plane" type="planar"><parent link="d"/><child link="e"/><axis xyz="0 0 1"/></joint>
  <joint name="weld" type="fixed"><parent link="e"/><child link="f"/><axis xyz="0 0 0"/><mimic joint="turn"/></joint>
  <transmission name="t"><type>simple</type></transmission>
  <ros2_control name="hw" type="system"><joint name="turn"/></ros2_control>
  <gazebo reference="a"><mu1>0.2</mu1></gazebo>
  <model_state model="x" time_stamp="0.1"/>
  <material name="later"><color rgba="0 0 1 1"/></material>
</robot>"""


@pytest.fixture(scope="module")
def full():
    return read_urdf(FULL, str(BULLET), ResourceRoots(folders=(str(BULLET),)), mesh_use=MeshUse.EXACT)


def test_every_element_of_links(full):
    base = full.links["base"]
    assert base.inertial.mass == 4.0
    assert base.inertial.inertia == (1.0, 0.1, 0.2, 2.0, 0.3, 3.0)
    assert base.inertial.pose.position == (1.0, 2.0, 3.0)
    box, textured, later = base.visuals
    assert (box.name, box.geometry) == ("look", Box((1.0, 2.0, 3.0)))
    assert (box.rgba, box.material) == ((1.0, 0.0, 0.0, 0.5), "red")
    assert box.pose.position == (0.0, 0.0, 1.0)
    assert (textured.geometry, textured.texture) == (Sphere(0.5), "package://a/b.png")
    assert textured.rgba == (0.0, 1.0, 0.0, 1.0)
    assert later.rgba == (0.0, 0.0, 1.0, 1.0)
    cylinder, mesh, capsule = base.collisions
    assert (cylinder.name, cylinder.geometry) == ("touch", Cylinder(0.1, 2.0))
    assert capsule.geometry == Capsule(0.1, 0.2)
    assert isinstance(mesh.geometry, Mesh)
    assert (mesh.geometry.scale, mesh.geometry.use) == ((1.0, -1.0, 0.001), MeshUse.EXACT)
    assert base.blocks == ('<sensor name="camera"/>',)


def test_every_element_of_joints(full):
    turn, spin, slide = (full.joints[name] for name in ("turn", "spin", "slide"))
    assert (turn.kind, turn.parent, turn.child, turn.axis) == (JointKind.REVOLUTE, "base", "a", (0.0, -1.0, 0.0))
    assert (turn.limits.lower, turn.limits.upper, turn.limits.velocity, turn.limits.effort) == (-1.0, 2.0, 3.0, 4.0)
    assert (turn.extras.damping, turn.extras.friction) == (0.5, 0.25)
    assert turn.extras.calibration == {"rising": 0.125}
    assert turn.extras.safety_controller["k_velocity"] == 20.0
    assert turn.extras.blocks == ('<gear ratio="100"/>',)
    assert spin.axis == (0.0, 0.0, 1.0)
    assert (spin.limits.lower, spin.limits.upper, spin.limits.velocity) == (-math.inf, math.inf, 7.0)
    assert slide.axis == (1.0, 0.0, 0.0)
    assert (slide.mimic.joint, slide.mimic.multiplier, slide.mimic.offset) == ("turn", -2.0, 0.5)
    assert full.joints["free"].kind is JointKind.FLOATING
    assert full.joints["plane"].kind is JointKind.PLANAR
    assert full.joints["weld"].mimic is None
    assert full.joints["weld"].extras.blocks == ('<mimic joint="turn"/>',)


def test_unknown_blocks_are_retained(full):
    kept = "\n".join(full.blocks)
    for text in ("<transmission", "<ros2_control", "<gazebo", "<model_state", "<mu1>0.2</mu1>"):
        assert text in kept
    assert len(full.blocks) == 4


def test_prefix_and_a_link_named_world():
    text = """<robot name="r"><link name="world"/><link name="a"/>
      <joint name="j" type="revolute"><parent link="world"/><child link="a"/>
      <limit lower="0" upper="1" effort="1" velocity="1"/></joint>
      <link name="b"/><joint name="k" type="prismatic"><parent link="a"/><child link="b"/>
      <limit lower="0" upper="1" effort="1" velocity="1"/><mimic joint="j"/></joint></robot>"""
    plain, prefixed = read_urdf(text), read_urdf(text, prefix="left_")
    assert list(plain.links) == ["r_world", "a", "b"]
    assert list(prefixed.links) == ["left_world", "left_a", "left_b"]
    assert prefixed.joints["left_k"].mimic.joint == "left_j"


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (
            '<link name="base"/>',
            r"needs one root link, found r_world, base, which no joint connects; r_world is the link",
        ),
        (
            '<joint name="j" type="fixed"><parent link="word"/><child link="world"/></joint>',
            r"link 'word', the parent .* does not exist; nearest: r_world; r_world is the link 'world' of the",
        ),
    ],
)
def test_errors_name_a_link_as_the_description_does(inner, text):
    """Nobody finds `r_world` in a file that calls it `world`."""
    with pytest.raises(ModelError, match=text):
        read_urdf(f'<robot name="r"><link name="world"/>{inner}</robot>')


LINKS = '<link name="a"/>\n<link name="b"/>\n'
ENDS = '<parent link="a"/><child link="b"/>'


def with_joint(kind, inner="", ends=ENDS):
    """Two links, and from line 4 on a joint between them."""
    return f'<robot name="r">\n{LINKS}<joint name="j" {kind}>{ends}{inner}</joint></robot>'


def with_visual(geometry, inner=""):
    return f'<robot name="r"><link name="a"><visual><geometry>\n{geometry}</geometry>{inner}</visual></link></robot>'


FIXED, TURNING = 'type="fixed"', 'type="continuous"'
BAD = {
    "not XML": ("<robot", 1, "not well-formed"),
    "cut off": ('<robot name="x">\n<link name="a">\n</robot>', 3, "not well-formed"),
    "another root": ("<sdf/>", 1, "expected <robot>"),
    "no name": ("<robot/>", 1, "has no attribute 'name'"),
    "entity": ('<!DOCTYPE r [\n<!ENTITY a "b">]>\n<robot name="&a;"/>', 2, "declares an XML entity"),
    "external": ('<!DOCTYPE r [\n<!ENTITY a SYSTEM "file:///etc/passwd">]><robot name="&a;"/>', 2, "XML entity"),
    "undefined entity": ('<robot name="r">&lol;</robot>', 1, "not well-formed"),
    "link without name": ('<robot name="r">\n<link/>\n</robot>', 2, "has no attribute 'name'"),
    "double link": (f'<robot name="r">\n{LINKS}<link name="a"/></robot>', 4, "which another one has already"),
    "odd name": ('<robot name="r">\n<link name="a;b"/></robot>', 2, "letters, digits"),
    "accented name": ('<robot name="r">\n<link name="\u00dc"/></robot>', 2, "ASCII letters, digits"),
    "unknown type": (with_joint('type="ball"'), 4, "revolute"),
    "no type": (with_joint(""), 4, "'type'"),
    "no parent": (
        f'<robot name="r">\n{LINKS}<joint name="j" type="fixed"><child link="b"/></joint></robot>',
        4,
        "<parent>",
    ),
    "no limit": (with_joint('type="revolute"'), 4, "no <limit>"),
    "turned limits": (with_joint('type="revolute"', '\n<limit lower="2" upper="1"/>'), 5, "2.0 to 1.0"),
    "negative velocity": (with_joint(TURNING, '\n<limit velocity="-1"/>'), 5, "velocity"),
    "NaN": (with_joint(FIXED, '<origin xyz="0 nan 0"/>'), 4, "nan"),
    "infinite": (with_joint(FIXED, '<origin xyz="0 1e999 0"/>'), 4, "finite"),
    "text for number": (with_joint(FIXED, '<origin rpy="0 x 0"/>'), 4, "expected a number"),
    "digits apart": (with_joint(FIXED, '<origin rpy="0 1_0 0"/>'), 4, "1_0"),
    "two numbers": (with_joint(FIXED, '<origin xyz="0 0"/>'), 4, "expected 3 numbers"),
    "mimics nothing": (with_joint(TURNING, '\n<mimic joint="k"/>'), 5, "joint 'k' does not exist"),
    "long axis": (with_joint(TURNING, '\n<axis xyz="0 2 0"/>'), 5, "length 2"),
    "no axis": (with_joint(TURNING, '\n<axis xyz="0 0 0"/>'), 5, "length 0"),
    "two origins": (with_joint(FIXED, "<origin/>\n<origin/>"), 5, "second one in <joint> j, expected one"),
    "negative mass": (
        '<robot name="r"><link name="a">\n<inertial><mass value="-1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>',
        2,
        "mass is -1",
    ),
    "negative moment": (
        '<robot name="r"><link name="a">\n<inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="2" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>',
        2,
        "principal moments -1, 1, 3",
    ),
    "no inertia": (
        '<robot name="r"><link name="a">\n<inertial><mass value="1"/></inertial></link></robot>',
        2,
        "no <inertia>",
    ),
    "half an inertia": (
        '<robot name="r"><link name="a"><inertial><mass value="1"/>\n<inertia ixx="1"/></inertial></link></robot>',
        2,
        "'ixy'",
    ),
    "empty geometry": (
        '<robot name="r"><link name="a"><visual>\n<geometry/></visual></link></robot>',
        2,
        "expected one",
    ),
    "no geometry": ('<robot name="r"><link name="a">\n<visual/></link></robot>', 2, "no <geometry>"),
    "unknown shape": (with_visual("<torus/>"), 2, "no shape"),
    "negative box": (with_visual('<box size="1 -1 1"/>'), 2, "above 0"),
    "huge box": (with_visual('<box size="1 1e6 1"/>'), 2, "at most"),
    "bad colour": (
        '<robot name="r"><link name="a"><visual><geometry><sphere radius="1"/></geometry><material name="m">\n'
        '<color rgba="1 2 0 1"/></material></visual></link></robot>',
        2,
        "from 0 to 1",
    ),
    "zero scale": (
        '<robot name="r"><link name="a"><visual><geometry>\n<mesh filename="cube.obj" scale="0 1 1"/></geometry>'
        "</visual></link></robot>",
        2,
        "zero",
    ),
}


ONLY_STRICT = (  # otherwise a warning
    "negative mass", "negative moment", "negative velocity", "empty geometry", "no geometry", "two origins",
    "no inertia", "bad colour", "long axis", "no name", "mimics nothing",
)  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_malformed_text_is_refused_with_its_location(case):
    text, line, expected = BAD[case]
    with pytest.raises(FileError) as caught:
        read_urdf(text, str(BULLET), ResourceRoots(folders=(str(BULLET),)), source="robot.urdf")
    assert caught.value.message.startswith(f"robot.urdf:{line}: ")
    assert expected in caught.value.message


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f'<robot name="r">{LINKS}</robot>', ("a", "b")),
        ('<robot name="r"/>', ()),
        (
            f'<robot name="r">{LINKS}<joint name="j" type="fixed"><parent link="a"/><child link="c"/></joint></robot>',
            ("j", "c"),
        ),
        (
            f'<robot name="r">{LINKS}<joint name="j" type="fixed">{ENDS}</joint><joint name="k" type="fixed">'
            '<parent link="b"/><child link="a"/></joint></robot>',
            (),
        ),
        (f'<robot name="r">{LINKS}<joint name="j" type="continuous">{ENDS}<mimic joint="j"/></joint></robot>', ("j",)),
    ],
)
def test_robots_that_are_not_trees_are_refused(text, names):
    with pytest.raises(ModelError) as caught:
        read_urdf(text, source="robot.urdf")
    assert "robot.urdf" in caught.value.message
    assert set(names) <= set(caught.value.subjects)


@pytest.mark.parametrize(
    "uri",
    [
        "../../etc/passwd.stl",
        "/etc/passwd.stl",
        "file:///etc/passwd.stl",
        "package://none/a.stl",
        "http://a/b.stl",
        "package://../a.stl",
        "package://example-robot-data/../../../a.stl",
        "a\0.stl",
    ],
)
def test_meshes_outside_are_refused_with_the_line(uri):
    text = with_visual('<mesh filename="{}"/>')
    if "\0" in uri:
        with pytest.raises(FileError):
            read_urdf(text.format(uri), str(BULLET))
        return
    with pytest.raises(ResourceError) as caught:
        read_urdf(text.format(uri), str(BULLET), source="robot.urdf")
    assert caught.value.message.startswith("robot.urdf:2: ")


def test_deep_nesting_is_refused():
    with pytest.raises((FileError, LimitExceededError)):
        read_urdf('<robot name="r">' + "<a>" * 100_000 + "</a>" * 100_000 + "</robot>")


def test_endless_text_is_refused():
    with pytest.raises(LimitExceededError):
        read_urdf("<robot name='r'>" + " " * 40_000_000)


def test_a_link_of_a_tool_called_tcp_has_another_name(tmp_path):
    text = '<robot name="claw"><link name="{0}"/><link name="tcp"/><joint name="j" type="fixed"><parent link="{0}"/>'
    (tmp_path / "claw.urdf").write_text(f'{text.format("palm")}<child link="tcp"/></joint></robot>')
    tool = load_tool("gripper", tmp_path / "claw.urdf", tcp_link="tcp")
    assert list(tool.mechanism.links) == ["palm", "claw_tcp"]
    assert tool.tcp_link == tool.mechanism.joints["j"].child == "claw_tcp"
    assert tool.tcp_frame == "gripper/tcp"
    (tmp_path / "claw.urdf").write_text(f'{text.format("claw_tcp")}<child link="tcp"/></joint></robot>')
    with pytest.raises(DuplicateNameError, match="'tcp' and 'claw_tcp' of claw"):
        load_tool("gripper", tmp_path / "claw.urdf")
