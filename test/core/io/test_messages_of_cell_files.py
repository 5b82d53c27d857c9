"""Errors of cell files give line and keys, and what is written instead of what is common elsewhere."""

import re

import pytest

from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.model.name_suggestions import similar_names
from robot_cell_planner.model.start_limits import states_beyond_limits

LINKS = '<link name="base"/><link name="arm"/>'
JOINT = (
    '<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>'
    '<limit lower="-2" upper="2" effort="9" velocity="1"/></joint>'
)
CELL = """format: robot_cell/1
robots:
  arm: {urdf: arm.urdf}
bodies:
  table:
    collisions: [{type: box, size: [1, 1, 0.1]}]
    pose: {position: [0.5, 0, -0.3]}
    attached_to: base
state:
  configuration: {j: 0.1}
"""


@pytest.fixture
def message(tmp_path):
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{LINKS}{JOINT}</robot>')
    (tmp_path / "part.stl").write_text("solid")

    def of(old, new):
        assert old in CELL
        (tmp_path / "cell.yaml").write_text(CELL.replace(old, new, 1))
        with pytest.raises(RobotCellError) as caught:
            load_cell(tmp_path / "cell.yaml")
        return f"{caught.value.message} -> {caught.value.remedy}".replace(f"{tmp_path}/", "")

    return of


MISTAKES = {
    "a tab": ("    pose", "\tpose", "cell.yaml:7: is not well-formed YAML: the line is indented by a tab"),
    "a comma": ("[0.5, 0, -0.3]", "['0,5', 0, -0.3]", "position[0]: is '0,5', expected a number; write 0.5"),
    "degrees": ("0.1}", "90deg}", "state.configuration.j: is '90deg', expected a number; write !degrees 90"),
    "a unit": ("[0.5,", "[500 mm,", "is '500 mm', expected a number; write 500 with lengths in m, angles in rad"),
    "a word": ("[0.5,", "[left,", "is 'left', expected a number ->"),
    "orientation": ("{position:", "{orientation: 1, position:", "'orientation' does not exist; write quaternion or"),
    "xyz": ("{position:", "{xyz:", "cell.yaml:7: bodies.table.pose.xyz: key 'xyz' does not exist; write position"),
    "a file": ("{type: box, size: [1, 1, 0.1]}", "{type: mesh, file: a.stl}", "key 'file' does not exist; write uri"),
    "a similar key": ("{position:", "{positon:", "key 'positon' does not exist; nearest: position"),
    "a parent": ("attached_to: base", "attached_to: Base", "cell.yaml:8: bodies.table.attached_to: frame 'Base', to"),
    "a loop": ("attached_to: base", "attached_to: table", "cell.yaml:5: bodies.table: "),
    "joint values": ("arm.urdf", "arm.urdf, configuration: {j: 0.1}",
        "'configuration' does not exist here; write it as `state: {configuration: ...}` at the top"),
    "a joint": ("{j:", "{k:", "cell.yaml:10: state.configuration.k: joint 'k' does not exist"),
    "a description": ("arm.urdf", "arn.urdf", "cell.yaml:3: robots.arm.urdf: 'arn.urdf' resolves to arn.urdf: No"),
    "a folder": ("arm.urdf", "C:\\robot\\arm.urdf", "-> Separate the folders of a path by /"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_the_message_gives_the_place_and_what_to_write(name, message):
    old, new, text = MISTAKES[name]
    assert text in message(old, new)


def test_a_missing_file_is_reported_with_similar_names_of_its_folder(message):
    assert "arn.urdf: No such file or directory; nearest: arm.urdf ->" in message("arm.urdf", "arn.urdf")
    mesh = "{type: mesh, uri: PART.STL}"
    assert "PART.STL: No such file or directory; nearest: part.stl ->" in message(
        "{type: box, size: [1, 1, 0.1]}", mesh
    )
    assert "other.urdf: No such file or directory ->" in message("arm.urdf", "other/other.urdf")


def test_names_outside_of_the_allowed_folders_are_not_listed(message, tmp_path):
    """Neither by `..` nor through a link to a folder outside."""
    outside = tmp_path.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "arm.urdf").touch()
    (tmp_path / "link").symlink_to(outside)
    for path in ("../outside/arn.urdf", "link/arn.urdf"):
        assert "nearest" not in message("arm.urdf", path)


def test_characters_that_cannot_be_printed_are_escaped(message):
    assert message("arm.urdf", '"a\\nb.urdf"').isprintable()


def test_errors_about_other_files_keep_their_position(message, tmp_path):
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{LINKS}{JOINT}<link name="table"/></robot>')
    assert re.match(r"cell[.]yaml: arm[.]urdf", message("{j:", "{j:"))


def test_an_angle_of_several_turns_is_reported_with_its_value_in_degrees(tmp_path, message):
    (tmp_path / "cell.yaml").write_text(CELL.replace("0.1}", "90}"))
    text = "the state has joint j at 90 rad, beyond its limit 2 rad; 90 degrees are 1.571 rad"
    assert text in states_beyond_limits(*load_cell(tmp_path / "cell.yaml"))
    (tmp_path / "cell.yaml").write_text(CELL.replace("0.1}", "2.5}"))
    assert "the state has joint j at 2.5 rad, beyond its limit 2 rad" in states_beyond_limits(
        *load_cell(tmp_path / "cell.yaml")
    )


def test_a_plan_file_is_recognised_by_its_format(tmp_path):
    (tmp_path / "cell.yaml").write_text("format: robot_cell_plan/9\nplan: {}\n")
    with pytest.raises(RobotCellError, match=r"cell[.]yaml:1: format: is 'robot_cell_plan/9', expected 'robot_cell/1'"):
        load_cell(tmp_path / "cell.yaml")


def test_a_urdf_is_no_srdf(message, tmp_path):
    (tmp_path / "arm.srdf").write_text(f'<robot name="arm">{LINKS}{JOINT}</robot>')
    text = "arm.srdf:1: <link> is an element of URDF, expected an SRDF with <group> and <disable_collisions>"
    assert text in message("urdf: arm.urdf", "urdf: arm.urdf, srdf: arm.srdf")


def test_the_error_of_equal_robots_names_prefixes(message):
    text = message("bodies:", "  other: {urdf: arm.urdf}\nbodies:")
    assert "names a link of arm and a link of other" in text
    assert "a `prefix` each" in text


def test_a_name_without_that_of_its_tool_is_completed():
    names = ["gripper/finger_joint", "gripper/tcp", "finger"]
    assert similar_names("tcp", names) == ["gripper/tcp"]
    assert similar_names("Finger", names) == ["finger"]
    assert similar_names("finger_joint", names) == ["gripper/finger_joint"]
