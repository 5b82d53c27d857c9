"""Findings for well-formed but probably wrong cell files: degrees, millimetres, misspelt names."""

import json
import logging

import pytest

from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import FileError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.setup_assistant.check_file import check_cell_file

LINKS = '<link name="base"/><link name="arm"/>'
JOINT = (
    '<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>'
    '<limit lower="-2" upper="2" effort="9" velocity="1"/></joint>'
)
CELL = """format: robot_cell/1
name: mine
robots:
  arm: {urdf: arm.urdf, base_pose: {position: [0, 0, 0]}}
tools:
  gripper:
    tcp: {position: [0, 0, 0.1]}
    collisions: [{type: box, size: [0.1, 0.1, 0.1]}]
    touch_links: [arm]
bodies:
  table:
    collisions: [{type: box, size: [1, 1, 0.1]}]
    pose: {position: [0.5, 0, -0.3]}
    touch_bodies: [gripper, part]
  part:
    collisions: [{type: box, size: [0.1, 0.1, 0.1], pose: {rpy: [0, 0, 0]}}]
    pose: {position: [0.5, 0.2, -0.2], rpy: [0, 0, 0]}
    attached_to: table
    touch_bodies: [table, arm]
frames:
  above: {attached_to: table, pose: {position: [0, 0, 0.4]}}
"""


@pytest.fixture
def edited(tmp_path):
    """Write the cell file with a text replaced, and return its path."""
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{LINKS}{JOINT}</robot>')

    def write(old="", new=""):
        assert old in CELL
        path = tmp_path / "cell.yaml"
        path.write_text(CELL.replace(old, new, 1))
        return path

    return write


def texts(path, topics=("frames", "state", "units")):
    return [f"{f.level} {f.text} -> {f.remedy}" for f in check_cell_file(path) if f.topic in topics]


def test_a_correct_cell_has_none_of_these_findings(edited, caplog):
    assert not texts(edited(), ("frames", "units"))
    assert not [text for text in texts(edited()) if "does not exist" in text]
    load_cell(edited())
    assert "more than a turn" not in caplog.text


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("rpy: [0, 0, 0]}\n", "rpy: [180, 0, -90]}\n", ":17: bodies.part.pose.rpy: "),
        ("pose: {rpy: [0, 0, 0]}", "pose: {rpy: [180, 0, -90]}", ":16: bodies.part.collisions[0].pose.rpy: "),
        ("{position: [0, 0, 0.1]}", "{position: [0, 0, 0.1], rpy: [180, 0, -90]}", ":7: tools.gripper.tcp.rpy: "),
        ("{position: [0, 0, 0]}", "{rpy: [180, 0, -90]}", ":4: robots.arm.base_pose.rpy: "),
    ],
)
def test_degrees_have_a_warning_when_the_file_is_read_and_by_check(old, new, place, edited, caplog):
    path = edited(old, new)
    doubt = (
        f"{path}{place}the angle 180 rad is more than a turn; if roll, pitch, yaw are in degrees, "
        "write 3.141593, 0, -1.570796"
    )
    with caplog.at_level(logging.WARNING):
        load_cell(path)
    assert f"{doubt}, or `rpy: [!degrees 180, 0, 0]`" in caplog.text
    assert f"warning {doubt} -> Write angles in rad, or `rpy: [!degrees 180, 0, 0]` in degrees." in texts(path)


def test_check_prints_warnings_about_the_file(edited, capsys):
    path = edited("rpy: [0, 0, 0]}\n", "rpy: [180, 0, 0]}\n")
    main(["check", str(path), "--json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [each["level"] for each in found if "more than a turn" in each["text"]] == ["warning"]


@pytest.mark.parametrize("angles", ["[6.2831853, 0, -3.2]", "[!degrees 180, 0, !degrees 360]"])
def test_a_turn_and_angles_with_a_unit_have_no_warning(angles, edited):
    assert not [text for text in texts(edited("rpy: [0, 0, 0]}\n", f"rpy: {angles}}}\n")) if "turn" in text]


@pytest.mark.parametrize("tag", ["!degrees", "!radians"])
def test_a_unit_before_a_list_is_refused_with_the_form_that_is_read(tag, edited):
    text = rf"has the tag '{tag}', which is refused; write it before each number of the list: \[{tag} 1.5, 0, 0\]"
    with pytest.raises(FileError, match=text):
        load_cell(edited("rpy: [0, 0, 0]}\n", f"rpy: {tag} [180, 0, 0]}}\n"))
    with pytest.raises(FileError, match=r"which is refused$"):
        load_cell(edited("rpy: [0, 0, 0]}\n", "rpy: !other [180, 0, 0]}\n"))


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            "[0.5, 0, -0.3]",
            "[500, 0, -300]",
            "body table is 583.095 m from the origin of world; is its position in mm?",
        ),
        (
            "[0.5, 0.2, -0.2]",
            "[50, 20, -20]",
            "body part is 57.4456 m from the origin of table; is its position in mm?",
        ),
        ("[0, 0, 0.4]", "[0, 0, 400]", "frame above is 400 m from the origin of table; is its position in mm?"),
    ],
)
def test_objects_far_from_their_parent_have_a_warning(old, new, text, edited):
    found = [each for each in texts(edited(old, new)) if "in mm?" in each]
    assert found == [f"warning {text} -> Write lengths in m, or say the unit of the file by `native_scale: 0.001`."]


def test_links_far_from_their_parent_links_have_a_warning(edited, tmp_path):
    joint = JOINT.replace("<axis", '<origin xyz="0 300 400"/><axis')
    cell = edited()
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{LINKS}{joint}</robot>')
    text = "robot arm: links are so far from their parent links that origins may be in mm: arm 500 m"
    assert f"warning {text} -> Write the origins of joints in m." in texts(cell)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            "[gripper, part]",
            "[griper, part]",
            "touch_bodies of body table: 'griper' does not exist; nearest: gripper, gripper/tcp, gripper/body",
        ),
        ("touch_links: [arm]", "touch_links: [arn]", "touch_links of tool gripper: 'arn' does not exist; nearest: arm"),
        ("[table, arm]", "[table, Arm]", "touch_bodies of body part: 'Arm' does not exist; nearest: arm"),
    ],
)
def test_unknown_names_are_found_in_touch_lists(old, new, text, edited):
    found = [each for each in texts(edited(old, new)) if "does not exist" in each]
    assert found == [f"warning {text} -> Correct the name, or delete it; it allows no contact."]
