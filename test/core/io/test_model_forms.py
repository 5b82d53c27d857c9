"""Models of a cell file are files or texts: of both, one would have no effect."""

import pytest

from robot_cell_planner.errors import FileError
from robot_cell_planner.io.cell_file.reader import read_cell
from robot_cell_planner.io.common.resources import ResourceRoots

URDF = """<robot name="arm"><link name="base"/><link name="tip"/>
<joint name="turn" type="continuous"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/></joint></robot>"""
FILE, TEXT = "urdf: arm.urdf", f"urdf_text: '{' '.join(URDF.split())}'"


def read(folder, part, *lines):
    (folder / "arm.urdf").write_text(URDF)
    entry = "".join(f"    {line}\n" for line in lines)
    text = f"format: robot_cell/1\n{part}:\n  arm:\n{entry}"
    return read_cell(text, str(folder), ResourceRoots(folders=(str(folder),)))


@pytest.mark.parametrize("part", ["robots", "tools"])
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((FILE, "limits_text: '['"), "5: {}.arm.limits_text: has urdf and limits_text, expected files alone"),
        ((TEXT, "limits: limits.yaml"), "5: {}.arm.limits: has urdf_text and limits, expected texts alone"),
        ((FILE, TEXT), "4: {}.arm.urdf: has urdf_text and urdf, expected texts alone"),
        (("limits_text: '['", "meshes: hull"), "lacks 'urdf'"),
    ],
)
def test_a_text_and_a_file_are_refused_together(tmp_path, part, lines, expected):
    if part == "tools" and "lacks" in expected:
        expected = "key 'limits_text'"  # a tool without a description has shapes
    with pytest.raises(FileError) as caught:
        read(tmp_path, part, *lines)
    assert expected.format(part) in caught.value.message


@pytest.mark.parametrize("lines", [(FILE, "srdf_text: <robot"), (TEXT, "srdf: arm.srdf")])
def test_a_semantic_description_has_the_form_of_the_description(tmp_path, lines):
    with pytest.raises(FileError, match="srdf"):
        read(tmp_path, "robots", *lines)


@pytest.mark.parametrize("lines", [(FILE, "srdf_text: ''"), (TEXT, "limits_text: ''"), (FILE,), (TEXT,)])
def test_one_form_is_read(tmp_path, lines):
    cell, _ = read(tmp_path, "robots", *lines)
    assert list(cell.robots["arm"].mechanism.joints) == ["turn"]
