"""Files of each supported kind are imported into a cell, with a prefix and a pose for all of their objects."""

import numpy as np
import pytest
from robots import MANIPULATORS
from sdf_documents import document, link
from test_cell_file import fill as fill_cell
from test_moveit_scene import NEW

from robot_cell_planner.errors import DuplicateNameError, FileError, ResourceError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.io.import_files import import_file
from robot_cell_planner.io.scene_import.imported import moved
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.placement import Placements, placements
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.scene.changes import apply_changes
from robot_cell_planner.scene.model_changes import Add
from robot_cell_planner.scene.scene import Scene


@pytest.fixture
def folder(tmp_path):
    fill_cell(tmp_path)
    (tmp_path / "mug.sdf").write_text(document(f"<model name='mug'>{link('l', '<pose>{A}</pose>')}</model>"))
    (tmp_path / "parts.scene").write_text(NEW)
    (tmp_path / "notes.txt").write_text("")
    return tmp_path


NAMES = {"cell.yaml": "table", "mug.sdf": "mug::l", "parts.scene": "part", "robots/arm.urdf": "upper"}


def world(imported):
    return Placements(placements(imported.cell, imported.state))


@pytest.mark.parametrize("name", NAMES)
def test_every_kind(folder, name):
    imported = import_file(folder / name)
    imported.cell.check_state(imported.state)
    world(imported).world(NAMES[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_prefix_changes_names_and_no_poses(folder, name):
    plain, prefixed = import_file(folder / name), import_file(folder / name, prefix="left_")
    prefixed.cell.check_state(prefixed.state)
    before, after = world(plain), world(prefixed)
    assert {f"left_{frame}" for frame in before.placements} == set(after.placements)
    for frame in before.placements:
        np.testing.assert_allclose(after.world(f"left_{frame}").matrix, before.world(frame).matrix, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_pose_moves_all_imported_objects(folder, name):
    imported = import_file(folder / name)
    origin = Pose.from_rpy((1.0, -2.0, 0.5), (0.3, -0.2, 2.0))
    before, after = world(imported), world(moved(imported, origin))
    for frame in before.placements:
        np.testing.assert_allclose(after.world(frame).matrix, origin.matrix @ before.world(frame).matrix, atol=1e-9)


def test_two_of_a_kind_fit_into_one_cell(folder):
    first, second = (import_file(folder / "cell.yaml", prefix=prefix) for prefix in ("", "other_"))
    empty = Scene(RobotCell(), RobotCell().default_state())
    both = apply_changes(empty, [Add(first.cell, first.state), Add(second.cell, second.state)], lambda *_: Pose())
    assert list(both.cell.robots) == ["arm", "other_arm"]
    assert both.state.tools["other_gripper"].attached_to == "other_manipulator"
    assert both.state.bodies["other_part"].touch_links == ("other_gripper/jaw",)
    with pytest.raises(DuplicateNameError):
        apply_changes(both, [Add(first.cell, first.state)], lambda *_: Pose())


def test_collision_settings_are_renamed(folder):
    settings = import_file(folder / "cell.yaml", prefix="left_").cell.collision
    assert settings.ignore_groups == {"left_fence": ("left_table", "left_base")}
    assert settings.margins == {"*": 0.001, "left_part": 0.0}
    assert settings.pair_margins[0].second == "left_lower"


def test_a_robot_alone():
    imported = import_file(MANIPULATORS["ur10"])
    assert list(imported.cell.robots) == ["ur10"]
    assert imported.state.configuration["elbow_joint"] == 0.0


def test_only_below_the_roots(folder):
    roots = ResourceRoots(folders=(str(folder / "robots"),))
    assert import_file("arm.urdf", roots, confined=True).cell.robots
    with pytest.raises(ResourceError):
        import_file("../cell.yaml", roots, confined=True)
    with pytest.raises(ResourceError):
        import_file(f"file://{folder}/mug.sdf", roots, confined=True)


BIG = """format: robot_cell/1
name: c
bodies:
  part: {collisions: [{type: box, size: [300, 200, 100]}]}
  floor: {collisions: [{type: box, size: [90, 90, 1]}]}
"""
IN_MM = "body part is 300 x 200 x 100 m large; is its size in mm?"


def test_sizes_in_mm_are_warnings_of_every_reader(tmp_path, caplog):
    (tmp_path / "cell.yaml").write_text(BIG)
    found = import_file(tmp_path / "cell.yaml")
    assert found.warnings == found.left_out == (IN_MM,)
    assert import_file(tmp_path / "cell.yaml", prefix="a_").warnings == (IN_MM.replace("part", "a_part"),)
    assert not caplog.messages
    load_cell(tmp_path / "cell.yaml")
    assert caplog.messages == [f"{tmp_path / 'cell.yaml'}: {IN_MM}"]
    (tmp_path / "parts.scene").write_text(NEW.replace("1 2 3", "1000 2000 3000"))
    assert import_file(tmp_path / "parts.scene").warnings == (
        "body big box is 1000 x 2000 x 3000 m large; is its size in mm?",
    )


def test_other_files_are_refused(folder):
    for name in ("notes.txt", "none.sdf"):
        with pytest.raises(FileError):
            import_file(folder / name)
