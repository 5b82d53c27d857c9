"""The check of a cell names meshes with a wrong unit."""

import pytest
import trimesh
from frozendict import frozendict

from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.setup_assistant.check import check_cell

URDF = """<robot name="arm">
  <link name="base"><collision><geometry><mesh filename="base.stl" scale="{base}"/></geometry></collision></link>
  <link name="rod">
    <collision><origin xyz="0 0 0.1"/><geometry><mesh filename="rod.stl" scale="{rod}"/></geometry></collision>
  </link>
  <joint name="swing" type="{kind}">
    <parent link="base"/><child link="rod"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="{upper}" velocity="1" effort="10"/>
  </joint>
</robot>"""


def size_findings(folder, base=1.0, rod=1.0, kind="revolute", upper=1.0):
    """Findings about sizes for an arm of half a metre, with meshes scaled by these factors."""
    trimesh.creation.box((0.2, 0.2, 0.1)).export(folder / "base.stl")
    trimesh.creation.box((0.05, 0.05, 0.4)).export(folder / "rod.stl")
    scales = {"base": " ".join([str(base)] * 3), "rod": " ".join([str(rod)] * 3)}
    (folder / "arm.urdf").write_text(URDF.format(**scales, kind=kind, upper=upper))
    cell = RobotCell("arm", frozendict(arm=load_robot("arm", folder / "arm.urdf")))
    return [finding.text for finding in check_cell(cell, cell.default_state()) if "sizes of meshes" in finding.text]


def test_meshes_of_the_right_size_are_not_named(tmp_path):
    assert size_findings(tmp_path) == []
    assert size_findings(tmp_path, base=50.0) == []  # a platform of 10 m


@pytest.mark.parametrize("scale, size", [(1000.0, "400 m"), (1e-3, "0.0004 m")], ids=["mm as m", "scaled twice"])
def test_a_mesh_in_another_unit_is_named_with_its_size(tmp_path, scale, size):
    (text,) = size_findings(tmp_path, rod=scale)
    assert f"rod.stl of rod {size}" in text
    assert "base.stl" not in text
    (text,) = size_findings(tmp_path, base=scale, rod=scale)
    assert "base.stl" in text


def test_large_meshes_are_accepted_with_a_long_stroke(tmp_path):
    assert size_findings(tmp_path, base=200.0, kind="prismatic", upper=1.0) != []
    assert size_findings(tmp_path, base=200.0, kind="prismatic", upper=40.0) == []
