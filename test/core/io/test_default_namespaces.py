"""Descriptions with a default namespace are read as those without one."""

import pytest
from frozendict import frozendict

from robot_cell_planner.errors import ModelError
from robot_cell_planner.io.robot_description.srdf import read_srdf
from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.io.sdformat.robot import sdf_to_urdf

URDF = """<robot{namespace} name="r"><link name="a"><collision><geometry><sphere radius="1"/></geometry></collision>
  </link><link name="b"/><joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
  <gazebo reference="a"><mu1>0.2</mu1></gazebo></robot>"""
SRDF = """<robot{namespace} name="r"><group name="arm"><joint name="j"/></group></robot>"""
SDF = """<sdf{namespace} version="1.10"><model name="r"><link name="a"/></model></sdf>"""
NAMESPACE = ' xmlns="http://drake.mit.edu"'


def test_urdf():
    assert read_urdf(URDF.format(namespace=NAMESPACE)) == read_urdf(URDF.format(namespace=""))


def test_srdf():
    mechanism = read_urdf(URDF.format(namespace=""))
    groups = [read_srdf(SRDF.format(namespace=text), mechanism, "r.srdf").groups for text in (NAMESPACE, "")]
    assert groups[0] == groups[1] != frozendict()


def test_sdf():
    assert sdf_to_urdf(SDF.format(namespace=NAMESPACE)) == sdf_to_urdf(SDF.format(namespace=""))


def test_elements_of_other_namespaces_are_retained():
    text = '<robot xmlns="urn:a" xmlns:v="urn:v" name="r"><link name="a"/><v:link name="b"/></robot>'
    mechanism = read_urdf(text)
    assert list(mechanism.links) == ["a"]
    assert "v:link" in mechanism.blocks[0]


@pytest.mark.parametrize("content", ["", "<material name='m'/>"])
def test_a_robot_without_links_is_refused_as_such(content):
    with pytest.raises(ModelError, match="robot r has no link"):
        read_urdf(f'<robot name="r">{content}</robot>', source="r.urdf")
