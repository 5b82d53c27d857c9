"""Versions of URDF: quaternions agree with Pinocchio, and unknown attributes are reported."""

import math

import pinocchio as pin
import pytest

from robot_cell_planner.errors import FileError
from robot_cell_planner.io.common.defects import Defects
from robot_cell_planner.io.robot_description.limits import read_limits, with_default_limits
from robot_cell_planner.io.robot_description.urdf import read_urdf


def robot(version='version="1.1"', origin="", joint="", shape='<box size="1 1 1"/>', shape_origin=""):
    return f"""<robot name="r" {version}><link name="a"/>
      <link name="b"><inertial>{shape_origin}<mass value="1"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
        <collision>{shape_origin}<geometry>{shape}</geometry></collision></link>
      <joint name="j" type="revolute"><parent link="a"/><child link="b"/>{origin}
        {joint or '<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/>'}</joint></robot>"""


def matrix_of(text):
    return read_urdf(text).joints["j"].origin.matrix[:3, :3]


@pytest.mark.parametrize("quaternion", ["0 1 0 1", "0.1 -0.2 0.3 0.9", "0 0 0 -2"])
@pytest.mark.parametrize("version", ["1.1", "1.2"])
def test_quaternions_of_origins_are_those_of_pinocchio(version, quaternion):
    text = robot(f'version="{version}"', f'<origin xyz="0 0 1" quat_xyzw="{quaternion}"/>')
    expected = pin.buildModelFromXML(text).jointPlacements[1].rotation
    assert matrix_of(text) == pytest.approx(expected, abs=1e-12)


def test_quaternions_of_shapes_and_inertias():
    link = read_urdf(robot(shape_origin='<origin quat_xyzw="0 1 0 1"/>')).links["b"]
    for pose in (link.collisions[0].pose, link.inertial.pose):
        assert pose.quaternion == pytest.approx((0.0, math.sqrt(0.5), 0.0, math.sqrt(0.5)))


@pytest.mark.parametrize(
    ("version", "origin", "expected"),
    [
        ('version="1.1"', '<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>', "rpy and quat_xyzw"),
        ('version="1.1"', '<origin quat_xyzw="0 0 0 0"/>', "no rotation"),
        ('version="1.1"', '<origin quat_xyzw="0 0 1"/>', "expected 4 numbers"),
        ('version="1.0"', '<origin quat_xyzw="0 0 0 1"/>', "since version 1.1"),
        ("", '<origin quat_xyzw="0 0 0 1"/>', "since version 1.1"),
        ('version="1.3"', "", "expected 1.0, 1.1 or 1.2"),
        ('version="2.0"', "", "expected 1.0, 1.1 or 1.2"),
        ('version="new"', "", "expected 1.0, 1.1 or 1.2"),
    ],
)
def test_other_quaternions_and_versions_are_refused(version, origin, expected):
    with pytest.raises(FileError, match=expected):
        read_urdf(robot(version, origin), defects=Defects())


LIMIT = '<limit lower="-1" upper="1" velocity="1" effort="1"'


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("quat_wxyz", {"origin": '<origin quat_wxyz="1 0 0 0"/>'}),
        ("rpy", {"joint": f'<axis rpy="0 0 1"/>{LIMIT}/>'}),
        ("snap", {"joint": f'{LIMIT} snap="1"/>'}),
        ("factor", {"joint": f'{LIMIT}/><mimic joint="k" factor="2"/>'}),
        ("rotation", {"shape_origin": '<origin rotation="1"/>'}),
        ("height", {"shape": '<cylinder radius="1" length="1" height="2"/>'}),
        ("margin", {"shape": '<box size="1 1 1" margin="1"/>'}),
    ],
)
def test_unknown_attributes_are_reported(name, given):
    text = robot(**given)
    if "mimic" in text:
        text = text.replace("</robot>", '<link name="c"/><joint name="k" type="continuous"><parent link="b"/>'
                            '<child link="c"/></joint></robot>')  # fmt: skip
    defects = Defects()
    read_urdf(text, defects=defects)
    assert any(f"unknown attribute {name!r}" in line for line in defects.texts)
    with pytest.raises(FileError, match="unknown attribute"):
        read_urdf(text)


def test_attributes_of_other_namespaces_are_extensions():
    text = robot(origin='<origin xmlns:v="urn:vendor" v:extra="1"/>')
    defects = Defects()
    read_urdf(text, defects=defects)
    assert defects.texts == ()


@pytest.mark.parametrize(
    ("attributes", "acceleration", "jerk"),
    [
        ('acceleration="5" deceleration="3" jerk="50"', 3.0, 50.0),
        ('acceleration="3" deceleration="5"', 3.0, None),
        ('deceleration="4"', 4.0, None),
        ('acceleration="inf" deceleration="6" jerk="inf"', 6.0, None),
        ("", None, None),
    ],
)
def test_acceleration_and_jerk_limits_are_those_of_the_file(attributes, acceleration, jerk):
    mechanism = read_urdf(robot('version="1.2"', joint=f"{LIMIT} {attributes}/>"))
    limits = mechanism.joints["j"].limits
    assert (limits.acceleration, limits.jerk) == (acceleration, jerk)
    assumed = with_default_limits(mechanism).joints["j"].limits.defaulted
    given = ("acceleration", acceleration), ("jerk", jerk)
    assert assumed == tuple(name for name, value in given if value is None)


@pytest.mark.parametrize("attribute", ["acceleration", "deceleration", "jerk"])
@pytest.mark.parametrize("value", ["-1", "nan", "fast"])
def test_other_acceleration_and_jerk_limits_are_refused(attribute, value):
    with pytest.raises(FileError):
        read_urdf(robot(joint=f'{LIMIT} {attribute}="{value}"/>'), defects=Defects())


@pytest.mark.parametrize("declared", [' xmlns:drake="http://drake.mit.edu"', ""], ids=["declared", "undeclared"])
@pytest.mark.parametrize(
    ("attributes", "acceleration"),
    [
        ('drake:acceleration="7"', 7.0),
        ('acceleration="5" drake:acceleration="7"', 5.0),
        ('acceleration="5" deceleration="4" drake:acceleration="3"', 3.0),
        ('drake:acceleration="inf"', None),
    ],
)
def test_the_smallest_acceleration_counts_with_that_of_drake(declared, attributes, acceleration):
    """Drake reads its attribute also in files that do not declare the namespace."""
    mechanism = read_urdf(robot(f'version="1.2"{declared}', joint=f"{LIMIT} {attributes}/>"), defects=Defects())
    assert mechanism.joints["j"].limits.acceleration == acceleration
    read = read_limits("joint_limits: {j: {max_acceleration: 9}}", mechanism)
    assert read.joints["j"].limits.acceleration == 9.0


@pytest.mark.parametrize("value", ["-1", "nan", "fast"])
def test_other_accelerations_of_drake_are_refused_by_name(value):
    text = robot('xmlns:drake="http://drake.mit.edu"', joint=f'{LIMIT} drake:acceleration="{value}"/>')
    with pytest.raises(FileError, match=rf"drake:acceleration='{value}'|acceleration limit is {value}"):
        read_urdf(text, defects=Defects())


def test_acceleration_of_another_namespace_is_an_extension():
    text = robot('xmlns:v="urn:vendor"', joint=f'{LIMIT} v:acceleration="7"/>')
    assert read_urdf(text).joints["j"].limits.acceleration is None
