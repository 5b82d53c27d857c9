"""Files that have changed since a cell was read are reported; others are not."""

import pytest
from test_cell_file import fill

from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.io.cell_file.changed_files import changed_files
from robot_cell_planner.io.common.resources import ResourceRoots


@pytest.fixture
def folder(tmp_path):
    return fill(tmp_path)


def test_nothing_has_changed(folder):
    cell, _ = load_cell(folder / "cell.yaml")
    assert changed_files(cell, ResourceRoots(folders=(str(folder),))) == ()


@pytest.mark.parametrize("name", ["meshes/part.obj", "robots/arm.urdf", "robots/arm.srdf", "robots/limits.yaml"])
def test_a_file_that_changes_is_reported(folder, name):
    cell, _ = load_cell(folder / "cell.yaml")
    file = folder / name
    before = file.read_text()
    file.write_text(before.replace("0 0 1", "0 0 2") + " ")
    assert changed_files(cell, ResourceRoots(folders=(str(folder),))) == (str(file),)
    file.write_text(before)
    assert changed_files(cell, ResourceRoots(folders=(str(folder),))) == ()


def test_a_missing_mesh_is_reported(folder):
    cell, _ = load_cell(folder / "cell.yaml")
    (folder / "meshes/part.obj").unlink()
    assert changed_files(cell) == (str(folder / "meshes/part.obj"),)
