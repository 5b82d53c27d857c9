"""Collision meshes that cannot be used: the model is refused, unless the mesh is named as unchecked, with a warning."""

import json

import pytest
import trimesh

from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import InvalidValueError, RobotCellError
from robot_cell_planner.io.cell_file.cell_file import load_cell, save_cell
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.model.geometry import Mesh, MeshUse, Triangles

ARM = """<robot name="arm">
<link name="base"><collision><geometry><mesh filename="box.stl"/></geometry></collision></link>
<link name="tip"><visual><geometry><mesh filename="{mesh}"/></geometry></visual>
<collision><geometry><mesh filename="{mesh}"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="base"/><child link="tip"/><origin xyz="0 0 3"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""
EMPTY = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset/>
<library_visual_scenes><visual_scene id="s"><node id="n"/></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""
MESHES = ("missing.stl", "package://nowhere/missing.stl", "empty.dae", "damaged.stl", "box.step")


@pytest.fixture(params=MESHES)
def description(request, tmp_path):
    """A robot whose second link has a mesh that cannot be used, and the URI of the mesh."""
    trimesh.creation.box((0.1, 0.1, 0.1)).export(tmp_path / "box.stl")
    (tmp_path / "empty.dae").write_text(EMPTY)
    (tmp_path / "damaged.stl").write_bytes((tmp_path / "box.stl").read_bytes()[:-40])
    (tmp_path / "box.step").write_text("ISO-10303-21;")
    (tmp_path / "arm.urdf").write_text(ARM.format(mesh=request.param))
    return tmp_path / "arm.urdf", request.param


def test_a_collision_mesh_that_cannot_be_used_is_refused_with_how_to_leave_it_out(description):
    path, uri = description
    with pytest.raises(RobotCellError, match=r"arm\.urdf:4: ") as caught:
        load_robot("arm", path)
    assert f"{{'{uri}': unchecked}}" in caught.value.remedy
    assert f"--unchecked {uri}`" in caught.value.remedy


@pytest.mark.parametrize("strict", (False, True))
def test_an_unchecked_mesh_leaves_its_link_without_shape_and_a_warning(description, strict):
    path, uri = description
    if strict:  # the visual mesh would be refused
        path.write_text(path.read_text().replace("<visual>", "<!--").replace("</visual>", "-->"))
    robot = load_robot("arm", path, mesh_uses={uri: MeshUse.UNCHECKED}, strict=strict)
    assert [bool(link.collisions) for link in robot.mechanism.links.values()] == [True, False]
    warnings = [text for text in robot.sources.warnings if "is not checked" in text]
    assert len(warnings) == 1
    assert f"link tip is not checked with its mesh {uri}" in warnings[0]


def test_a_draft_without_a_mesh_says_so_at_each_check_also_after_it_was_saved(description, tmp_path, capsys):
    path, uri = description
    assert main(["new", str(path), "--folder", str(tmp_path / "cell"), "--samples", "20"]) != 0
    assert "--unchecked" in capsys.readouterr().err
    arguments = ["new", str(path), "--folder", str(tmp_path / "cell"), "--samples", "20", "--unchecked", uri]
    assert main([*arguments, "--overwrite"]) == 0
    cell, state = load_cell(tmp_path / "cell" / "cell.yaml")
    save_cell(tmp_path / "cell" / "again.yaml", cell, state)
    for name in ("cell.yaml", "again.yaml"):
        capsys.readouterr()
        main(["check", str(tmp_path / "cell" / name), "--json"])
        findings = json.loads(capsys.readouterr().out)["findings"]
        (found,) = (found for found in findings if "link tip is not checked with its mesh" in found["text"])
        assert found["topic"] == "meshes"
        assert "Give the link a mesh that can be read" in found["remedy"]


def test_the_visual_mesh_of_an_unchecked_one_is_shown_and_copied(tmp_path):
    trimesh.creation.box((0.1, 0.1, 0.1)).export(tmp_path / "box.stl")
    trimesh.creation.box((0.2, 0.1, 0.1)).export(tmp_path / "other.stl")
    (tmp_path / "arm.urdf").write_text(ARM.format(mesh="other.stl"))
    folder = tmp_path / "elsewhere" / "cell"
    (tmp_path / "elsewhere").mkdir()
    assert main(["new", str(tmp_path / "arm.urdf"), "--folder", str(folder), "--unchecked", "other.stl"]) == 0
    tip = load_cell(folder / "cell.yaml")[0].robot.mechanism.links["tip"]
    assert len(tip.visuals) == 1
    assert not tip.collisions


def test_a_shape_cannot_be_unchecked():
    with pytest.raises(InvalidValueError, match="mesh_uses"):
        Mesh("a.stl", "/a.stl", "", use=MeshUse.UNCHECKED)
    with pytest.raises(InvalidValueError, match="mesh_uses"):
        Triangles(((0, 0, 0), (1, 0, 0), (0, 1, 0)), ((0, 1, 2),), MeshUse.UNCHECKED)
