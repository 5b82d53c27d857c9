"""Collision geometry of drafts: hulls if they add little volume to a mesh, otherwise convex pieces."""

import numpy as np
import pytest
import trimesh
from frozendict import frozendict

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.commands.main import main
from robot_cell_planner.io.cell_file.cell_file import load_cell, save_cell
from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.io.mesh import decomposition
from robot_cell_planner.io.mesh.concavity import closed_volume_fraction, concavity
from robot_cell_planner.io.mesh.loading import mesh_reference
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import MeshUse, Shape, Sphere
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.setup_assistant import cell_setup, mesh_uses
from robot_cell_planner.setup_assistant.cell_setup import NewCellOptions, new_cell
from robot_cell_planner.setup_assistant.mesh_uses import draft_mesh_uses
from robot_cell_planner.setup_assistant.options import DraftOptions

ARM = """<robot name="arm">
<link name="base"><collision><geometry><mesh filename="meshes/{base}"/></geometry></collision>
</link><link name="tip"><collision><geometry><mesh filename="meshes/box.stl"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="base"/><child link="tip"/><origin xyz="0 0 3"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A box without and with a loose triangle in it, and an L whose sides are 0.3 m and 0.1 m."""
    folder = tmp_path_factory.mktemp("meshes")
    (folder / "meshes").mkdir()
    box = trimesh.creation.box((0.3, 0.3, 0.3))
    box.export(folder / "meshes" / "box.stl")
    outline = np.array([(0, 0), (0.3, 0), (0.3, 0.1), (0.1, 0.1), (0.1, 0.3), (0, 0.3)])
    faces = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    bracket = trimesh.creation.extrude_triangulation(outline, faces, 0.1)
    bracket.export(folder / "meshes" / "bracket.stl")
    inside = trimesh.Trimesh([(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0)], [(0, 1, 2)])
    trimesh.util.concatenate([box, inside]).export(folder / "meshes" / "open.stl")
    for name in ("bracket", "open"):
        (folder / f"{name}.urdf").write_text(ARM.format(base=f"{name}.stl"))
    return folder


def test_the_volume_of_a_closed_mesh_and_of_its_pieces_against_the_hull(folder):
    roots = ResourceRoots(folders=(str(folder),))
    meshes = {name: mesh_reference(f"meshes/{name}.stl", str(folder), roots) for name in ("box", "bracket", "open")}
    assert closed_volume_fraction(meshes["box"]) == pytest.approx(1.0)
    # An L of area 5 in a hull of area 7 (the square of 9 without the triangle of 2).
    assert closed_volume_fraction(meshes["bracket"]) == pytest.approx(5 / 7, abs=1e-6)
    assert closed_volume_fraction(meshes["open"]) is None
    found = concavity(meshes["bracket"])
    assert found.volume == pytest.approx(0.007, rel=1e-4)
    assert found.filled == pytest.approx(2 / 7, abs=0.05)
    assert found.pieces > 1


def test_only_meshes_whose_hull_adds_much_volume_are_decomposed(folder):
    uses = {f"{name}.urdf": draft_mesh_uses(load_robot("r", folder / f"{name}.urdf").mechanism)
            for name in ("bracket", "open")}  # fmt: skip
    assert [found.use for found in uses["bracket.urdf"]] == [MeshUse.DECOMPOSITION, MeshUse.HULL]
    assert {found.use for found in uses["open.urdf"]} == {MeshUse.HULL}
    assert "fill in 2" in uses["bracket.urdf"][0].reason


def test_a_hull_with_a_little_less_volume_than_its_mesh_fills_in_nothing(folder, monkeypatch):
    mechanism = load_robot("r", folder / "open.urdf").mechanism
    monkeypatch.setattr(mesh_uses, "closed_volume_fraction", lambda mesh: 1.0 + 1e-9)
    assert [found.reason for found in draft_mesh_uses(mechanism)] == ["its hull fills in 0%"] * 2


def test_the_pieces_of_all_links_do_not_exceed_the_limit_of_the_simulation(folder):
    mechanism = load_robot("r", folder / "bracket.urdf").mechanism
    decomposed = draft_mesh_uses(mechanism)
    count = sum(found.pieces for found in decomposed)
    assert count > 2
    assert draft_mesh_uses(mechanism, count) == decomposed
    found = draft_mesh_uses(mechanism, count - 1)
    assert [draft.use for draft in found] == [MeshUse.HULL, MeshUse.HULL]
    assert f"together {count}, expected at most {count - 1}" in found[0].reason


@pytest.mark.parametrize("fewer", [0, 1])
def test_a_mesh_that_cannot_be_decomposed_stays_a_hull_beside_one_that_is(folder, monkeypatch, fewer):
    """Also if there are too many pieces (`fewer`), where hulls and pieces are compared."""
    trimesh.creation.torus(0.1, 0.03, major_sections=16, minor_sections=8).export(folder / "meshes" / "ring.stl")
    both = "".join(f'<collision><geometry><mesh filename="meshes/{name}.stl"/></geometry></collision>'
                   for name in ("bracket", "ring"))  # fmt: skip
    (folder / "both.urdf").write_text(
        f"""<robot name="both"><link name="base">{both}</link><link name="tip">{both}</link>
<joint name="j" type="revolute"><parent link="base"/><child link="tip"/><origin xyz="0 0 3"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""
    )
    monkeypatch.setattr(decomposition, "MAX_FACES", 100)
    mechanism = load_robot("r", folder / "both.urdf").mechanism
    count = mesh_uses.simulated_links(mechanism, draft_mesh_uses(mechanism))
    uses = {draft.uri: draft for draft in draft_mesh_uses(mechanism, count - fewer)}
    assert uses["meshes/bracket.stl"].use is (MeshUse.HULL if fewer else MeshUse.DECOMPOSITION)
    assert uses["meshes/ring.stl"].reason.startswith("it cannot be decomposed")


def test_meshes_whose_hulls_alone_collide_are_decomposed_before_larger_ones(folder):
    """Two brackets, one with an end in the corner of the other, 40 mm apart: their hulls overlap and they do
    not. The bracket of the base is ten times as large, and nothing comes near it."""
    near = '<collision><geometry><mesh filename="meshes/bracket.stl"/></geometry></collision>'
    large = near.replace('bracket.stl"', 'large.stl" scale="10 10 10"')
    (folder / "meshes" / "large.stl").write_bytes((folder / "meshes" / "bracket.stl").read_bytes())
    limit = '<axis xyz="0 0 1"/><limit lower="-0.02" upper="0.02" velocity="1" effort="1"/>'
    (folder / "carriages.urdf").write_text(
        f"""<robot name="carriages"><link name="base">{large}</link>
<link name="a">{near}</link><link name="b">{near}</link>
<joint name="ja" type="prismatic"><parent link="base"/><child link="a"/><origin xyz="0 0 5"/>{limit}</joint>
<joint name="jb" type="prismatic"><parent link="base"/><child link="b"/>
<origin xyz="0.24 0.44 5" rpy="0 0 3.14159265"/>{limit}</joint></robot>"""
    )
    mechanism = load_robot("r", folder / "carriages.urdf").mechanism
    everything = {draft.uri: draft for draft in draft_mesh_uses(mechanism)}
    assert {draft.use for draft in everything.values()} == {MeshUse.DECOMPOSITION}
    of_base, of_carriages = everything["meshes/large.stl"], everything["meshes/bracket.stl"]
    assert of_base.gain > 100 * of_carriages.gain
    limited = draft_mesh_uses(mechanism, 1 + 2 * of_carriages.pieces)
    assert {draft.uri: draft.use for draft in limited} == {
        "meshes/large.stl": MeshUse.HULL,
        "meshes/bracket.stl": MeshUse.DECOMPOSITION,
    }


def test_a_mesh_whose_hull_collides_and_fills_in_little_is_decomposed(folder):
    """A rod in a notch, 25 mm from its sides: the hull of the block with the notch fills in 9 % with the rod."""
    outline = [(0, 0), (3, 0), (3, 2), (3, 3), (1.9, 3), (1.9, 2), (1.1, 2), (1.1, 3), (0, 3), (0, 2)]
    faces = [(0, 1, 2), (0, 2, 5), (0, 5, 6), (0, 6, 9), (9, 6, 7), (9, 7, 8), (5, 2, 3), (5, 3, 4)]
    block = trimesh.creation.extrude_triangulation(0.1 * np.array(outline), faces, 0.2)
    block.export(folder / "meshes" / "notched.stl")
    limit = '<axis xyz="0 0 1"/><limit lower="-0.02" upper="0.02" velocity="1" effort="1"/>'
    text = f"""<robot name="notch"><link name="base"/><link name="block"><collision><geometry>
<mesh filename="meshes/notched.stl"/></geometry></collision></link><link name="rod"><collision><geometry>
<box size="0.03 0.03 0.25"/></geometry></collision></link><joint name="ja" type="prismatic"><parent link="base"/>
<child link="block"/>{limit}</joint><joint name="jb" type="prismatic"><parent link="base"/><child link="rod"/>
<origin xyz="PLACE"/>{limit}</joint></robot>"""
    uses = []
    for place in ("0.15 0.285 0.1", "0.15 0.5 0.1"):  # in the notch, and beside the block
        (folder / "notch.urdf").write_text(text.replace("PLACE", place))
        (draft,) = draft_mesh_uses(load_robot("r", folder / "notch.urdf").mechanism)
        uses.append((draft.use, draft.reason.split(",")[0]))
    assert uses == [
        (MeshUse.DECOMPOSITION, "its hull collides 500 times at 500 random states"),
        (MeshUse.HULL, "its hull fills in 9%"),
    ]


def test_robot_and_gripper_together_do_not_exceed_the_limit_of_the_simulation(folder, tmp_path, monkeypatch):
    bracket = str(folder / "bracket.urdf")
    count = sum(found.pieces for found in draft_mesh_uses(load_robot("r", bracket).mechanism))
    for limit, uses in ((2 * count, 2 * ["decomposition"]), (2 * count - 1, ["decomposition", "hull"])):
        monkeypatch.setattr(cell_setup, "MAX_LINKS", limit)
        options = NewCellOptions(added=bracket, draft=DraftOptions(samples=20))
        made = new_cell(bracket, tmp_path / str(limit), options)
        assert [draft.use.value for draft in made.meshes if draft.uri.endswith("bracket.stl")] == uses


def test_a_new_cell_checks_the_pieces_also_after_it_was_saved(folder, tmp_path):
    assert main(["new", str(folder / "bracket.urdf"), "--folder", str(tmp_path / "cell"), "--samples", "20"]) == 0
    assert "| decomposition | its hull would fill in 2" in (tmp_path / "cell" / "report.md").read_text()
    cell, state = load_cell(tmp_path / "cell" / "cell.yaml")
    save_cell(tmp_path / "cell" / "again.yaml", cell, state)
    for name in ("cell.yaml", "again.yaml"):
        cell = load_cell(tmp_path / "cell" / name)[0]
        assert cell.robot.mechanism.links["base"].collisions[0].geometry.use is MeshUse.DECOMPOSITION
        assert cell.robot.mechanism.links["tip"].collisions[0].geometry.use is MeshUse.HULL
        # A sphere in the corner of the L, which the hull covers.
        ball = RigidBody("ball", (Shape(Sphere(0.02)),))
        filled = RobotCell(robots=cell.robots, bodies=frozendict(ball=ball))
        occupied = filled.default_state().with_body("ball", BodyState(pose=Pose((0.15, 0.15, 0.05))))
        assert not CollisionChecker(filled, occupied).report().in_collision
    (tmp_path / "cell" / "hulls.yaml").write_text(
        "format: robot_cell/1\nname: c\nrobots: {arm: {urdf: arm.urdf, mesh_uses: {brakket.stl: exact}}}\n"
    )
    cell, _ = load_cell(tmp_path / "cell" / "hulls.yaml")
    assert any("mesh 'brakket.stl' of `mesh_uses` does not exist" in text for text in cell.robot.sources.warnings)
