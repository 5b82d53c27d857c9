"""Messages about xacro files: one that only defines macros is refused with their names, and lines of an expansion are
not taken for lines of the file."""

import pytest

from robot_cell_planner.errors import FileError
from robot_cell_planner.io.robot_description.loading import load_robot, load_tool
from robot_cell_planner.io.robot_description.xacro_macros import unused_macros

XMLNS = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
MACROS = """<!-- <link name="old"/> --><xacro:arg name="side" default="left"/>
<xacro:macro name="gripper" params="prefix"><link name="${prefix}palm"/></xacro:macro>
<xacro:macro params="prefix" name="finger"><link name="${prefix}finger"/></xacro:macro>"""


def write(folder, inner, name="gripper.urdf.xacro", attributes='name="gripper" '):
    (folder / name).write_text(f"<robot {attributes}{XMLNS}>{inner}</robot>")
    return folder / name


@pytest.mark.parametrize("attributes", ['name="gripper" ', ""])
@pytest.mark.parametrize("load", [load_robot, load_tool])
def test_a_file_that_only_defines_macros_is_refused_with_their_names(tmp_path, load, attributes):
    path = write(tmp_path, MACROS, attributes=attributes)
    with pytest.raises(FileError) as caught:
        load("g", path)
    assert caught.value.message.startswith(f"{path} only defines macros (gripper, finger)")
    assert caught.value.subjects == (str(path), "gripper", "finger")
    assert "calls" in caught.value.remedy


def test_an_included_file_with_links_is_content(tmp_path):
    write(tmp_path, '<link name="base"/>', "base.xacro")
    path = write(tmp_path, f'<xacro:include filename="base.xacro"/>{MACROS}')
    assert list(load_robot("g", path).mechanism.links) == ["base"]


@pytest.mark.parametrize(
    "inner", ["", '<link name="a"/>', f'{MACROS}<xacro:gripper prefix="a"/>', f"{MACROS}<material/>"]
)
def test_other_files_do_not_only_define_macros(inner):
    assert unused_macros(f"<robot {XMLNS}>{inner}</robot>") == ()


def test_a_line_of_the_expansion_is_named_as_one(tmp_path):
    body = '<link name="a"/>\n<joint name="j" type="spring"><parent link="a"/><child link="b"/></joint><link name="b"/>'
    path = write(tmp_path, body)
    with pytest.raises(FileError) as caught:
        load_robot("g", path)
    assert f"{path} (expanded):" in caught.value.message
    plain = tmp_path / "gripper.urdf"
    plain.write_text(f'<robot name="g">{body}</robot>')
    with pytest.raises(FileError) as caught:
        load_robot("g", plain)
    assert f"{plain}:2: " in caught.value.message
