"""A gripper that is added as a tool: parts of its linkage that always overlap are not checked, all others are."""

import numpy as np
import pytest

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.setup_assistant.cell_setup import NewCellOptions, new_cell
from robot_cell_planner.setup_assistant.options import DraftOptions

BOX = """<link name="{0}"><collision><origin xyz="0 0 {1}"/><geometry><box size="0.02 0.02 {2}"/></geometry></collision>
</link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><origin xyz="{4}"/><axis xyz="0 1 0"/>
<limit lower="-0.4" upper="0.4" effort="9" velocity="1"/>{5}</joint>"""
ARM = BOX.format("base", 0.05, 0.1) + "".join(
    BOX.format(f"l{n}", 0.1, 0.1)
    + JOINT.format(f"j{n}", "revolute", f"l{n - 1}" if n else "base", f"l{n}", "0 0 0.2", "")
    for n in range(4)
)
# The tip of a finger is parallel to the palm, and is also held by a bar, whose end the description leaves open.
LINKAGE = "".join((
    BOX.format("palm", 0.0, 0.02),
    *(BOX.format(f"{side}_{part}", 0.05, 0.1) for side in ("left", "right") for part in ("finger", "bar")),
    *(BOX.format(f"{side}_tip", 0.0, 0.04) for side in ("left", "right")),
    *(
        JOINT.format(f"{side}_{part}_joint", "revolute", "palm", f"{side}_{part}", f"{x} {y} 0.02", follows)
        for side, x in (("left", 0.1), ("right", -0.1))
        for part, y, follows in (
            ("finger", 0.03, "" if side == "left" else '<mimic joint="left_finger_joint" multiplier="-1"/>'),
            ("bar", 0.0, f'<mimic joint="left_finger_joint" multiplier="{1 if side == "left" else -1}"/>'),
        )
    ),
    *(
        JOINT.format(
            f"{side}_tip_joint", "revolute", f"{side}_finger", f"{side}_tip", "0 -0.03 0.1",
            f'<mimic joint="left_finger_joint" multiplier="{-1 if side == "left" else 1}"/>',
        )
        for side in ("left", "right")
    ),
))  # fmt: skip


@pytest.fixture
def made(tmp_path):
    for name, text in (("arm", ARM), ("gripper", LINKAGE)):
        (tmp_path / f"{name}.urdf").write_text(f'<robot name="{name}">{text}</robot>')
    options = NewCellOptions(added=str(tmp_path / "gripper.urdf"), draft=DraftOptions(samples=50))
    return new_cell(tmp_path / "arm.urdf", tmp_path / "cell", options)


def test_parts_of_a_linkage_that_always_overlap_are_not_checked(made):
    pairs = {frozenset(links) for links in made.cell.collision.ignore_groups.values()}
    assert pairs == {frozenset((f"gripper/{side}_bar", f"gripper/{side}_tip")) for side in ("left", "right")}
    assert not [finding.text for finding in made.findings if finding.level == "error"]
    report = (made.folder / "report.md").read_text()
    assert "| gripper/left_bar, gripper/left_tip | Always |" in report.replace(
        "left_tip, gripper/left_bar", "left_bar, gripper/left_tip"
    )
    assert "`ignore_groups` of the cell file" in report


def test_the_other_parts_of_the_tool_are_checked(made):
    checker = CollisionChecker(made.cell, made.state)
    checked = {frozenset((pair.first, pair.second)) for pair in checker.allowed_pairs.checked()}
    assert frozenset(("gripper/left_tip", "gripper/right_tip")) in checked
    assert frozenset(("gripper/left_bar", "gripper/right_tip")) in checked
    assert not checker.in_collision(np.array(checker.default))


SLIDE = """<joint name="{0}" type="prismatic"><parent link="palm"/><child link="{1}"/><origin xyz="{2} 0 0.05"/>
<axis xyz="{3} 0 0"/><limit lower="0" upper="0.04" effort="9" velocity="1"/>{4}</joint>"""
PALM = BOX.format("palm", 0.0, 0.02)
FOLLOWS = '<mimic joint="drive"/>'
PARALLEL = PALM + BOX.format("f1", 0.05, 0.1) + BOX.format("f2", 0.05, 0.1)
PARALLEL += SLIDE.format("drive", "f1", 0.01, 1, "") + SLIDE.format("follow", "f2", -0.01, -1, FOLLOWS)


def added(folder, name, text):
    """The new cell of an arm with a gripper of this name and content."""
    (folder / "arm.urdf").write_text(f'<robot name="arm">{ARM}</robot>')
    (folder / "added.urdf").write_text(f'<robot name="{name}">{text}</robot>')
    options = NewCellOptions(added=str(folder / "added.urdf"), draft=DraftOptions(samples=50))
    return new_cell(folder / "arm.urdf", folder / "cell", options)


@pytest.mark.parametrize("name", ["gripper", "egh80"])
def test_the_fingers_of_an_added_gripper_need_no_names(name, tmp_path):
    """Its tool centre point is 10 mm behind the ends of the closed fingers, which are 0.15 m from the palm."""
    made = added(tmp_path, name, PARALLEL)
    tool = made.cell.tools["gripper"]
    np.testing.assert_allclose(tool.tcp.position, (0.0, 0.0, 0.14), atol=1e-9)
    assert made.state.tools["gripper"].configuration["drive"] == 0.04
    assert "tools" not in {finding.topic for finding in made.findings}


def test_an_added_tool_without_fingers_is_reported(tmp_path):
    made = added(tmp_path, "cup", PALM)
    (found,) = [finding for finding in made.findings if finding.topic == "tools"]
    assert found.level == "draft"
    assert found.text == "tool gripper: no fingers were found, so that its tool centre point is its root palm"
