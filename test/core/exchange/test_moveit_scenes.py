"""A cell that is written as a .scene file of MoveIt has the same bodies, poses and distances when it is read again."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
import trimesh
from frozendict import frozendict
from loaded_cells import loaded
from planning_cells import gantry
from test_moveit_scene import NEW

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import FileError
from robot_cell_planner.exchange import export_moveit_scene
from robot_cell_planner.io.common.resources import NO_ROOTS
from robot_cell_planner.io.import_files import import_file
from robot_cell_planner.io.mesh.loading import mesh_reference
from robot_cell_planner.io.scene_import.moveit_scene import read_moveit_scene
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.bodies import NamedFrame, RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Capsule, Shape
from robot_cell_planner.model.mesh_use import REPRESENTATIONS
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState, RobotCellState

DEMO = str(Path(__file__).parents[3] / "config" / "demo" / "cell.yaml")


def cell_of(bodies, states, frames=()):
    cell = RobotCell("table", bodies=frozendict(bodies), frames=frozendict({frame.name: frame for frame in frames}))
    return cell, RobotCellState(bodies=frozendict(states))


def distance(cell, state, body, place):
    """The distance of a body from a small cube at a place (x, y) of the plane z = 0."""
    probe, at_rest = gantry(half=0.01)
    probe = msgspec.structs.replace(probe, bodies=frozendict({body: cell.bodies[body]}))
    placed = at_rest.with_body(body, BodyState(state.bodies[body].pose))
    return CollisionChecker(probe, placed).distance(np.array(place)).distance


def test_what_was_read_is_written_again():
    """Scenes of both versions and all shapes: what is read from the file that was written equals what was read."""
    read = read_moveit_scene(NEW)
    written = export_moveit_scene(read.cell, read.state)
    assert not written.left_out
    again = read_moveit_scene(written.text)
    assert again.cell == read.cell
    assert again.state == read.state


def test_bodies_of_a_cell_are_at_their_places_in_the_world(tmp_path):
    cell, state = loaded()
    file = tmp_path / "demo.scene"
    written = export_moveit_scene(cell, state, file)
    assert file.read_text() == written.text
    again = import_file(file)
    assert set(again.cell.bodies) == {name for name, placed in state.bodies.items() if not placed.hidden}
    for name in again.cell.bodies:
        near, turned = world_pose(again.cell, again.state, name).distance_to(world_pose(cell, state, name))
        assert max(near, turned) < 1e-12
    text = "\n".join(written.left_out)
    assert "robots: " in text
    assert "tools: " in text


@pytest.mark.parametrize("use", REPRESENTATIONS)
def test_meshes_are_as_far_from_others_as_they_are_checked(use, tmp_path):
    """A bracket in the shape of a cross, whose hull is nearer to the corners than its pieces and triangles."""
    bracket = trimesh.util.concatenate(
        [trimesh.creation.box((0.2, 0.04, 0.04)), trimesh.creation.box((0.04, 0.04, 0.2))]
    )
    bracket.export(tmp_path / "bracket.stl")
    mesh = mesh_reference(str(tmp_path / "bracket.stl"), roots=NO_ROOTS.with_file(tmp_path / "bracket.stl"), use=use)
    pose = Pose.from_rpy((0.3, -0.2, 0.0), (0.3, 0.2, 0.1))
    cell, state = cell_of(
        {"bracket": RigidBody("bracket", (Shape(mesh, Pose((0.0, 0.0, 0.1))),))}, {"bracket": BodyState(pose)}
    )
    again = read_moveit_scene(export_moveit_scene(cell, state).text)
    for point in np.random.default_rng(0).uniform(-0.9, 0.9, (20, 2)):
        expected = distance(cell, state, "bracket", point)
        found = distance(again.cell, again.state, "bracket", point)
        assert found == pytest.approx(expected, abs=1e-6) or max(found, expected) < 0.0


def test_a_capsule_is_a_cylinder_with_spheres_at_its_ends():
    capsule = RigidBody("rod", (Shape(Capsule(0.05, 0.3), Pose((0.1, 0.0, 0.0)), rgba=(1.0, 0.0, 0.0, 1.0)),))
    cell, state = cell_of({"rod": capsule}, {"rod": BodyState(Pose.from_rpy((0.0, 0.0, 0.1), (1.0, 0.0, 0.0)))})
    again = read_moveit_scene(export_moveit_scene(cell, state).text)
    shapes = again.cell.bodies["rod"].collisions
    assert {shape.rgba for shape in shapes} == {(1.0, 0.0, 0.0, 1.0)}
    for point in np.random.default_rng(1).uniform(-0.9, 0.9, (20, 2)):
        expected = distance(cell, state, "rod", point)
        found = distance(again.cell, again.state, "rod", point)
        assert found == pytest.approx(expected, abs=1e-6) or max(found, expected) < 0.0


def test_frames_are_subframes_and_others_are_named():
    box = (Shape(Box((0.1, 0.1, 0.1))),)
    bodies = {name: RigidBody(name, box) for name in ("part", "lid", "gone")}
    bodies["drawing"] = RigidBody("drawing", (), box)
    states = {name: BodyState() for name in bodies}
    states["lid"] = BodyState(Pose((0.0, 0.0, 0.1)), attached_to="part")
    states["gone"] = BodyState(hidden=True)
    frames = (
        NamedFrame("part/grasp", "part", Pose((0.0, 0.0, 0.05))),
        NamedFrame("pick", "part"),
        NamedFrame("two words", "part"),
        NamedFrame("place"),
    )
    written = export_moveit_scene(*cell_of(bodies, states, frames))
    again = read_moveit_scene(written.text)
    assert dict(again.cell.frames) == {
        "part/grasp": frames[0],
        "part/pick": NamedFrame("part/pick", "part"),
    }
    assert written.left_out == (
        "name of frame pick, which is part/pick",
        "attachment of body lid to part; it is an object of the world",
        "body gone, which is hidden",
        "body drawing, which has no collision shape",
        "named frames: two words, place",
    )
    assert again.state.bodies["lid"].pose.position == (0.0, 0.0, 0.1)


def test_only_files_of_scenes_are_written(tmp_path):
    cell, state = cell_of({}, {})
    with pytest.raises(FileError, match=r"ends in \.json, expected \.scene"):
        export_moveit_scene(cell, state, tmp_path / "table.json")
    export_moveit_scene(cell, state, tmp_path / "table.scene")
    with pytest.raises(FileError):
        export_moveit_scene(cell, state, tmp_path / "table.scene", overwrite=False)


def test_the_command_writes_a_scene_and_lists_what_it_does_not_have(tmp_path, capsys):
    file = tmp_path / "demo.scene"
    assert main(["export", DEMO, "--output", str(file)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == f"wrote {file}"
    assert any(line.startswith("differs robots: ") for line in printed)
    assert main(["export", DEMO, "--output", str(file)]) == 1
    assert main(["export", DEMO, "--output", str(file), "--overwrite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scene"] == str(file)
    assert main(["export", DEMO, "--output", str(file), "--state", "state.json"]) == 2
    assert import_file(file).cell.bodies
