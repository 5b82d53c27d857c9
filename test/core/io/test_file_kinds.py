"""A file of another kind than the expected one is refused by what it is, with what to do with it."""

import struct

import pytest
from test_cell_file import fill as fill_cell

from robot_cell_planner.errors import FileError
from robot_cell_planner.exchange import import_compas
from robot_cell_planner.io.cell_file.cell_file import load_cell, load_state
from robot_cell_planner.io.import_files import import_file
from robot_cell_planner.io.mesh.formats import FORMATS
from robot_cell_planner.io.robot_description.loading import load_robot, load_tool

SRDF = '<robot name="arm"><group name="main"><joint name="j"/></group></robot>'
NO_XML = "solid part\nendsolid part\n"
BINARY = b"\0" * 80 + struct.pack("<I", 1) + b"\0" * 50


@pytest.fixture
def folder(tmp_path):
    fill_cell(tmp_path)
    (tmp_path / "cell.urdf").write_text((tmp_path / "cell.yaml").read_text())
    (tmp_path / "cell.xacro").write_text("# a comment\nname: c\nformat: robot_cell/1\n")
    (tmp_path / "cell.json.urdf").write_text('{"format": "robot_cell/1"}')
    (tmp_path / "arm.srdf").write_text(SRDF)
    (tmp_path / "groups.urdf").write_text(SRDF)
    (tmp_path / "part.stl").write_text(NO_XML)
    (tmp_path / "binary.STL").write_bytes(BINARY)
    (tmp_path / "part.dae").write_text("<COLLADA></COLLADA>")
    (tmp_path / "parameters.yaml").write_text("/**:\n  ros__parameters:\n    a: 1\n")
    (tmp_path / "state.yaml").write_text("format: robot_cell/1\n")
    return tmp_path


def refused(read, *arguments):
    with pytest.raises(FileError) as caught:
        read(*arguments)
    return caught.value


@pytest.mark.parametrize("read", [load_cell, lambda file: import_compas(file, file.parent / "made")])
@pytest.mark.parametrize("name", ["part.stl", "binary.STL", "part.dae"])
def test_a_mesh_is_no_cell(read, name, folder):
    error = refused(read, folder / name)
    assert f"{name} is a mesh, expected a" in error.message
    assert "OfflineCell.add_mesh" in error.remedy


@pytest.mark.parametrize("name", ["cell.yaml", "cell.urdf", "cell.xacro", "cell.json.urdf"])
@pytest.mark.parametrize("load", [load_robot, load_tool])
def test_a_cell_file_is_no_description(load, name, folder):
    error = refused(load, "arm", folder / name)
    assert f"{name} is a cell file, expected" in error.message
    assert "`load_cell`" in error.remedy


@pytest.mark.parametrize("name", ["part.stl", "binary.STL"])
def test_a_mesh_is_no_description(name, folder):
    error = refused(load_robot, "arm", folder / name)
    assert f"{name} is a mesh, expected XML" in error.message
    assert "OfflineCell.add_mesh" in error.remedy


def test_an_srdf_is_no_urdf(folder):
    error = refused(load_robot, "arm", folder / "groups.urdf")
    assert "groups.urdf is an SRDF, expected a URDF" in error.message
    assert "`srdf`" in error.remedy


def test_a_parameter_file_is_no_cell(folder):
    error = refused(load_cell, folder / "parameters.yaml")
    assert "lacks 'format', and all other keys of a cell file" in error.message
    assert "`format: robot_cell/1`" in error.remedy


def test_a_cell_file_is_no_state(folder):
    assert "`load_cell` returns the state" in refused(load_state, folder / "state.yaml").remedy


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("arm.srdf", "`srdf`"), ("part.dae", "OfflineCell.add_mesh"), (".", "`robot_cell import FOLDER`")],
)
def test_files_that_cannot_be_imported_have_a_remedy(name, remedy, folder):
    assert remedy in refused(import_file, folder / name).remedy


def test_a_file_without_an_extension_has_a_remedy(folder):
    (folder / "cell").write_text("format: robot_cell/1\n")
    assert "extension" in refused(import_file, folder / "cell").remedy


@pytest.mark.parametrize("suffix", sorted(FORMATS))
def test_every_mesh_format_is_known_by_its_extension(suffix, folder):
    (folder / f"part{suffix}").write_text("")
    assert "is a mesh" in refused(load_cell, folder / f"part{suffix}").message
