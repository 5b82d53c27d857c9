"""Elements of xacro in a file that is not expanded are refused, because the parts that they add would be missing;
values that nothing uses are not.
"""

import pytest

from robot_cell_planner.errors import FileError
from robot_cell_planner.errors.remedies import UNEXPANDED
from robot_cell_planner.io.common.defects import Defects
from robot_cell_planner.io.robot_description.srdf import read_srdf
from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.io.sdformat.robot import sdf_to_urdf

NAMESPACES = ("http://www.ros.org/wiki/xacro", "http://ros.org/wiki/xacro", "http://wiki.ros.org/xacro", "")
GUARD = '<xacro:if value="true"><link name="guard"/></xacro:if>'


def declared(namespace, prefix="xacro"):
    return f'xmlns:{prefix}="{namespace}"' if namespace else ""


@pytest.mark.parametrize("namespace", NAMESPACES)
@pytest.mark.parametrize("nested", [False, True])
def test_urdf(namespace, nested):
    content = f'<link name="a">{GUARD}</link>' if nested else f'<link name="a"/>{GUARD}'
    with pytest.raises(FileError, match=r"robot.urdf:2: <if> .*xacro") as caught:
        read_urdf(f'<robot name="r" {declared(namespace)}>\n{content}</robot>', source="robot.urdf", defects=Defects())
    assert ".xacro" in caught.value.message


def test_the_prefix_does_not_matter():
    text = f'<robot name="r" {declared(NAMESPACES[0], "x")}><link name="a"/><x:arm/></robot>'
    with pytest.raises(FileError, match="xacro"):
        read_urdf(text, defects=Defects())


def test_srdf_and_sdf():
    mechanism = read_urdf('<robot name="r"><link name="a"/></robot>')
    with pytest.raises(FileError, match="xacro"):
        read_srdf(f'<robot name="r" {declared(NAMESPACES[0])}>{GUARD}</robot>', mechanism, "r.srdf", "", Defects())
    with pytest.raises(FileError, match="xacro"):
        sdf_to_urdf(
            f'<sdf version="1.10" {declared(NAMESPACES[0])}><model name="m"><link name="a"/>{GUARD}</model></sdf>',
            defects=Defects(),
        )


def test_an_unused_namespace_is_not_refused():
    text = f'<robot name="r" {declared(NAMESPACES[0])}><link name="a"/></robot>'
    assert list(read_urdf(text).links) == ["a"]


def with_value(rest, value='<xacro:property name="width" value=".2"/>', namespace=NAMESPACES[0]):
    return f'<robot name="r" {declared(namespace)}>\n{value}<link name="a"/>{rest}</robot>'


@pytest.mark.parametrize("namespace", NAMESPACES)
@pytest.mark.parametrize("tag", ["property", "arg"])
def test_values_that_nothing_uses_are_left_out(namespace, tag):
    text = with_value("<!-- ${width} -->", f'<xacro:{tag} name="width" value=".2"/>', namespace)
    mechanism = read_urdf(text, defects=Defects())
    assert list(mechanism.links) == ["a"]
    assert mechanism.blocks == ()


@pytest.mark.parametrize(
    "rest", ['<link name="${width}"/>', '<link name="b"><gazebo>$(arg width)</gazebo></link>', GUARD, "<xacro:arm/>"]
)
def test_values_that_something_may_use_are_refused(rest):
    with pytest.raises(FileError, match="xacro"):
        read_urdf(with_value(rest), defects=Defects())


@pytest.mark.parametrize("xyz", ["${l}", "${l} 0 0", "0 ${a + b} 0", "$(arg x) 0 0"])
def test_expressions_in_place_of_numbers_are_named(xyz):
    visual = f'<visual>\n<origin xyz="{xyz}"/><geometry><sphere radius="1"/></geometry></visual>'
    with pytest.raises(FileError) as caught:
        read_urdf(f'<robot name="r"><link name="a">{visual}</link></robot>', source="r.urdf")
    assert caught.value.message == (
        f"r.urdf:2: <origin> has xyz={xyz!r}, an expression of xacro; expand the file with xacro, or give it a name "
        "that ends in .xacro"
    )
    assert caught.value.remedy == UNEXPANDED


@pytest.mark.parametrize("tag", ["include", "macro", "property"])
def test_an_instruction_of_an_older_xacro_without_effect_is_a_warning(tag):
    text, defects = f'<robot name="r">\n<{tag} name="arm" filename="arm.xacro"/><link name="a"/></robot>', Defects()
    assert list(read_urdf(text, source="r.urdf", defects=defects).links) == ["a"]
    assert defects.texts == (
        f"r.urdf:2: <{tag}> is the syntax of an older xacro; the present one needs <xacro:{tag}>; it has no effect",
    )
    with pytest.raises(FileError, match="older xacro"):
        read_urdf(text)
