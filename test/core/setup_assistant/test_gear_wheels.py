"""Gear wheels that mesh: their convex pieces overlap in all states, their triangles in none."""

from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest
import trimesh

from robot_cell_planner.commands.main import main
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.model.geometry import MeshUse
from robot_cell_planner.setup_assistant.check_file import check_cell_file
from robot_cell_planner.setup_assistant.check_hulls import TRIANGLES_REMEDY
from robot_cell_planner.setup_assistant.mesh_uses import draft_mesh_uses
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

TEETH, RADIUS, DEPTH, DISTANCE = 24, 0.0185, 0.0015, 0.038  # of each wheel [m]: their circles overlap by 2 mm

LINK = """<link name="{name}"><inertial><mass value="0.1"/><inertia ixx="1e-5" ixy="0" ixz="0" iyy="1e-5" iyz="0"
izz="1e-5"/></inertial><collision><geometry><mesh filename="meshes/{mesh}.stl"/></geometry></collision></link>"""
JOINT = """<joint name="{name}" type="revolute"><parent link="base"/><child link="{child}"/><axis xyz="0 0 1"/>
<origin xyz="{x} 0 0"/><limit lower="-1.5" upper="1.5" velocity="1" effort="1"/>{mimic}</joint>"""


def wheel(phase):
    """A wheel whose radius is a cosine of the angle, 10 mm thick."""
    angles = np.linspace(0.0, 2.0 * np.pi, 16 * TEETH, endpoint=False)
    radii = RADIUS + DEPTH * np.cos(TEETH * angles + phase)
    points = np.vstack([(0.0, 0.0), np.c_[radii * np.cos(angles), radii * np.sin(angles)]])
    count = len(angles)
    faces = [(0, 1 + index, 1 + (index + 1) % count) for index in range(count)]
    return trimesh.creation.extrude_triangulation(points, faces, 0.01)


def urdf(links, first, second, mimic='<mimic joint="a" multiplier="-1"/>'):
    return "\n".join([
        '<robot name="wheels"><link name="base"/>',
        *(LINK.format(name=name, mesh=mesh) for name, mesh in links.items()),
        JOINT.format(name="a", child=first, x=0, mimic=""),
        JOINT.format(name="b", child=second, x=DISTANCE, mimic=mimic), "</robot>",
    ])  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    (folder / "meshes").mkdir()
    wheel(0.0).export(folder / "meshes" / "first.stl")
    wheel(np.pi).export(folder / "meshes" / "second.stl")  # a gap where the other wheel has a tooth
    (folder / "wheels.urdf").write_text(urdf({"first": "first", "second": "second"}, "first", "second"))
    return folder


@pytest.fixture(scope="module")
def drafted(folder, tmp_path_factory):
    target = tmp_path_factory.mktemp("cells") / "wheels"
    with redirect_stdout(StringIO()) as printed:
        assert main(["new", str(folder / "wheels.urdf"), "--folder", str(target), "--samples", "20"]) == 0
    (target / "printed.txt").write_text(printed.getvalue())
    return target


def test_wheels_are_checked_by_their_triangles_unless_their_pair_is_disabled(folder):
    mechanism = load_robot("r", folder / "wheels.urdf").mechanism
    drafts = draft_mesh_uses(mechanism)
    assert [draft.use for draft in drafts] == [MeshUse.EXACT, MeshUse.EXACT]
    assert all(" first and second collide at 100 of 100 random states, by their triangles at 0" in draft.reason
               for draft in drafts)  # fmt: skip
    for pair in (("first", "second"), ("second", "first")):
        assert MeshUse.EXACT not in {draft.use for draft in draft_mesh_uses(mechanism, disabled=[pair])}


def test_the_simulation_has_enough_links_for_wheels_that_are_checked_by_their_triangles(folder):
    mechanism = load_robot("r", folder / "wheels.urdf").mechanism
    assert MeshUse.EXACT not in {draft.use for draft in draft_mesh_uses(mechanism, max_links=2)}


def test_a_wheel_inside_of_another_mesh_is_not_checked_by_its_triangles(folder):
    """Triangles do not show that it is inside: the pair would count as free."""
    shell = trimesh.creation.box((0.1, 0.1, 0.1))
    shell.export(folder / "meshes" / "shell.stl")
    (folder / "inside.urdf").write_text(urdf({"first": "first", "shell": "shell"}, "first", "shell"))
    drafts = draft_mesh_uses(load_robot("r", folder / "inside.urdf").mechanism)
    assert MeshUse.EXACT not in {draft.use for draft in drafts}


def test_wheels_that_interfere_in_most_states_are_left_as_they_are(folder):
    (folder / "alone.urdf").write_text(urdf({"first": "first", "again": "first"}, "first", "again"))
    drafts = draft_mesh_uses(load_robot("r", folder / "alone.urdf").mechanism)
    assert MeshUse.EXACT not in {draft.use for draft in drafts}


def test_a_drafted_cell_of_wheels_is_free_of_findings_about_collisions(drafted):
    assert "meshes: 2 of 2 are checked by their triangles" in (drafted / "printed.txt").read_text()
    assert "| exact | as " in (drafted / "report.md").read_text()
    assert not [found for found in check_cell_file(drafted / "cell.yaml") if "collision" in found.text]


@pytest.mark.parametrize("use", ["hull", "decomposition"])
def test_a_check_names_the_triangles_as_remedy(folder, drafted, tmp_path, use):
    (drafted / f"{use}.yaml").write_text((drafted / "cell.yaml").read_text().replace(": exact", f": {use}"))
    (drafted / f"{use}.srdf").write_text('<robot name="wheels"><group name="g"><joint name="a"/></group></robot>')
    text = (drafted / f"{use}.yaml").read_text().replace("wheels.srdf", f"{use}.srdf")
    (drafted / f"{use}.yaml").write_text(text)
    remedies = [found.remedy for found in check_cell_file(drafted / f"{use}.yaml") if "in collision" in found.text]
    assert remedies == [TRIANGLES_REMEDY]


def test_the_simulation_does_not_press_wheels_apart(drafted):
    cell, state = load_cell(drafted / "cell.yaml")
    with SimulatedCell(cell, state, SimulationOptions()) as simulated:
        assert any("contacts of first and second are not simulated" in text for text in simulated.warnings)
        simulated.step(200)
        assert not simulated.contacts()
