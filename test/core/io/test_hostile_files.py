"""For any target of a path and any encoding of a file, a reader returns a cell or an error that names the file."""

import os
import re

import pytest

from robot_cell_planner.errors import FileError, LimitExceededError, ResourceError, RobotCellError
from robot_cell_planner.io.cell_file.cell_file import load_cell, load_state
from robot_cell_planner.io.common.resources import ResourceRoots, read_bytes
from robot_cell_planner.io.import_files import import_file
from robot_cell_planner.io.mesh.loading import load_mesh, mesh_reference
from robot_cell_planner.io.robot_description.loading import load_robot, load_tool

URDF = '<robot name="arm"><link name="base"/></robot>'
CELL = "format: robot_cell/1\nbodies: {b: {collisions: [{type: sphere, radius: 1}]}}\n"
READERS = {
    "cell": (".yaml", lambda path: load_cell(path)),
    "confined cell": (
        ".yaml",
        lambda path: load_cell(path.name, ResourceRoots(folders=(str(path.parent),)), confined=True),
    ),
    "state": (".yaml", lambda path: load_state(path)),
    "robot": (".urdf", lambda path: load_robot("r", path)),
    "tool": (".urdf", lambda path: load_tool("t", path)),
    "srdf": (".srdf", lambda path: load_robot("r", urdf_beside(path), path)),
    "limits": (".yaml", lambda path: load_robot("r", urdf_beside(path), limits=path)),
    "xacro": (".xacro", lambda path: load_robot("r", path)),
    "sdf": (".sdf", lambda path: import_file(path)),
    "world": (".world", lambda path: import_file(path)),
    "scene": (".scene", lambda path: import_file(path)),
    "stl": (".stl", lambda path: load_mesh(mesh(path))),
    "obj": (".obj", lambda path: load_mesh(mesh(path))),
    "dae": (".dae", lambda path: load_mesh(mesh(path))),
    "ply": (".ply", lambda path: load_mesh(mesh(path))),
    "glb": (".glb", lambda path: load_mesh(mesh(path))),
}


def mesh(path):
    return mesh_reference(path.name, str(path.parent), ResourceRoots(folders=(str(path.parent),)))


def urdf_beside(path):
    (path.parent / "beside.urdf").write_text(URDF)
    return path.parent / "beside.urdf"


def sparse(path):
    with open(path, "wb") as file:
        file.truncate(1 << 34)


PLACES = {
    "nothing": lambda path: None,
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a terminal": lambda path: path.symlink_to("/dev/tty"),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a link to itself": lambda path: path.symlink_to(path),
    "16 GiB of zeros": sparse,
    "no bytes": lambda path: path.write_bytes(b""),
    "zeros": lambda path: path.write_bytes(bytes(1000)),
    "half a character": lambda path: path.write_bytes(b"<robot name='\xc3'\n"),
    "UTF-16": lambda path: path.write_bytes(URDF.encode("utf-16")),
    "UTF-32": lambda path: path.write_bytes(URDF.encode("utf-32")),
    "only a mark": lambda path: path.write_bytes(b"\xef\xbb\xbf"),
    "control characters": lambda path: path.write_bytes(bytes(range(256)) * 4),
    "a declaration of nonsense": lambda path: path.write_text('<?xml version="1.0" encoding="rot13"?><a/>'),
    "one long line": lambda path: path.write_text("[" * 1_000_000),
    "deep XML": lambda path: path.write_text("<a>" * 100_000),
    "braces": lambda path: path.write_text("{" * 100_000),
    "a number without end": lambda path: path.write_text("a: " + "9" * 1_000_000),
}


@pytest.mark.parametrize("reader", READERS)
def test_readers_accept_or_refuse_any_target_of_a_path(tmp_path, reader):
    ending, read = READERS[reader]
    for number, (place, make) in enumerate(PLACES.items()):
        path = tmp_path / str(number) / f"file{ending}"
        path.parent.mkdir()
        make(path)
        with pytest.raises(RobotCellError) as caught:
            read(path)
        assert f"file{ending}" in f"{caught.value.message} {caught.value.subjects}", place


def test_a_file_of_the_kernel_ends_at_the_limit():
    """Files of the kernel report a size of 0 bytes."""
    assert os.stat("/proc/self/status").st_size == 0
    assert b"Pid:" in read_bytes("/proc/self/status", "test")
    with pytest.raises(LimitExceededError, match="more than 10"):
        read_bytes("/proc/self/status", "test", limit=10)


LETTERS = '<robot name="würfel"><!-- große Zelle --><link name="base"/></robot>'


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "iso-8859-1", "windows-1252"])
def test_encodings_and_line_ends_of_xml(tmp_path, encoding, ending):
    declaration = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>\n'
    path = tmp_path / "arm.urdf"
    path.write_bytes((declaration + LETTERS).replace("\n", ending).encode(encoding))
    assert load_robot("r", path).mechanism.name == "würfel"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_encodings_and_line_ends_of_yaml(tmp_path, encoding, ending):
    (tmp_path / "cell.yaml").write_bytes((CELL + "# große Zelle\n").replace("\n", ending).encode(encoding))
    assert list(load_cell(tmp_path / "cell.yaml")[0].bodies) == ["b"]


def test_undeclared_encodings_are_reported(tmp_path):
    """A robot description is read with a warning; a cell file, which was written for this package, is refused."""
    arm, cell, found = tmp_path / "a.urdf", tmp_path / "c.yaml", r"{}:\d: byte 0x.. is not UTF-8"
    arm.write_bytes(LETTERS.encode("iso-8859-1"))
    cell.write_bytes((CELL + "# große\n").encode("iso-8859-1"))
    with pytest.raises(FileError, match=found.format("c.yaml")):
        load_cell(cell)
    with pytest.raises(FileError, match=found.format("a.urdf")):
        load_robot("r", arm, strict=True)
    (warning,) = (text for text in load_robot("r", arm).sources.warnings if "UTF-8" in text)
    assert re.search(found.format("a.urdf"), warning)


def test_paths_out_of_the_roots_are_refused_for_each_kind_of_file(tmp_path):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "arm.urdf").write_text(URDF)
    (outside / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (inside / "link").symlink_to(outside)
    (inside / "arm.urdf").symlink_to(outside / "arm.urdf")
    lines = (
        "robots: {r: {urdf: ../outside/arm.urdf}}",
        "robots: {r: {urdf: link/arm.urdf}}",
        "robots: {r: {urdf: arm.urdf}}",
        f"robots: {{r: {{urdf: {outside}/arm.urdf}}}}",
        "tools: {t: {urdf: link/arm.urdf}}",
        "bodies: {b: {collisions: [{type: mesh, uri: ../outside/a.obj}]}}",
        "bodies: {b: {collisions: [{type: mesh, uri: link/a.obj}]}}",
        "bodies: {b: {visuals: [{type: mesh, uri: link/a.obj}]}}",
        "bodies: {b: {visuals: [{type: mesh, uri: 'package://outside/a.obj'}]}}",
    )
    for line in lines:
        (inside / "cell.yaml").write_text(f"format: robot_cell/1\n{line}\n")
        with pytest.raises(ResourceError, match="is outside the allowed folders"):
            load_cell(inside / "cell.yaml")
