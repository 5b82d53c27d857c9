"""Drafts find tool centre points of descriptions, and open and closed states of unusual fingers."""

import numpy as np
import pytest

from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.model.robot import Robot
from robot_cell_planner.setup_assistant.cell_setup import new_cell
from robot_cell_planner.setup_assistant.draft import draft_robot

BOX = '<collision><origin xyz="{}"/><geometry><box size="{}"/></geometry></collision>'
PALM = f'<link name="palm">{BOX.format("0 0 0.02", "0.1 0.02 0.04")}</link>'


def finger(side, sign, kind, limits, axis, x=0.008, origin="0 0 0.03", size="0.01 0.01 0.06", tail=""):
    """A finger on the palm at x [m] on one side of its middle, a box along z; `tail`: links and joints below it."""
    low, high = limits
    return (
        f'<link name="{side}">{BOX.format(origin, size)}</link><joint name="{side}_finger_joint" type="{kind}">'
        f'<parent link="palm"/><child link="{side}"/><origin xyz="{sign * x} 0 0.045"/><axis xyz="{axis}"/>'
        f'<limit lower="{low}" upper="{high}" effort="1" velocity="1"/></joint>{tail}'
    )


def hand_of(*parts):
    text = f'<robot name="gripper">{PALM}{"".join(parts)}</robot>'
    (found,) = draft_robot(Robot("gripper", read_urdf(text))).hands.values()
    return found


def slides(**given):
    """Two fingers that slide apart by up to 20 mm each."""
    return (
        finger("left", 1, "prismatic", (0, 0.02), "1 0 0", **given),
        finger("right", -1, "prismatic", (0, 0.02), "-1 0 0", **given),
    )


def fixed(name, parent, xyz, shape=""):
    return (
        f'<link name="{name}">{shape}</link><joint name="{name}_mount" type="fixed"><parent link="{parent}"/>'
        f'<child link="{name}"/><origin xyz="{xyz}"/></joint>'
    )


def test_fingers_that_pass_each_other_are_closed_where_they_touch():
    """As of the Piper, whose fingers nearly touch at 0 and are beyond each other at their other limits: each of them
    alone comes nearer to the other one at rest, so that open and closed were exchanged."""
    wide = {"x": 0.012, "size": "0.0236 0.01 0.06"}
    left = finger("left", 1, "prismatic", (0, 0.036), "-1 0 0", **wide)
    found = hand_of(left, finger("right", -1, "prismatic", (0, 0.036), "1 0 0", **wide))
    assert dict(found.closed) == {"left_finger_joint": 0.0, "right_finger_joint": 0.0}
    assert dict(found.opened) == {"left_finger_joint": 0.036, "right_finger_joint": 0.036}
    assert found.opening == pytest.approx(0.048 - 0.024)
    assert not found.doubt


def turning():
    """Two fingers that turn by up to two turns to either side, as servo drives do."""
    limits = (-2 * np.pi, 2 * np.pi)
    return finger("left", 1, "revolute", limits, "0 1 0"), finger("right", -1, "revolute", limits, "0 -1 0")


def test_fingers_that_may_turn_twice_open_by_a_quarter_turn_and_are_in_doubt():
    """The hand is the same at both limits: which one was open was decided by rounding."""
    found = hand_of(*turning())
    assert set(found.closed.values()) == {0.0}
    assert list(found.opened.values()) == pytest.approx([0.5 * np.pi] * 2)
    assert "left_finger_joint, right_finger_joint allow more than half a turn" in found.doubt
    assert found.tcp.position == pytest.approx((0.0, 0.0, 0.045 + 0.06 - 0.01))


def test_a_new_cell_says_which_hands_are_guesses(tmp_path):
    (tmp_path / "gripper.urdf").write_text(f'<robot name="gripper">{PALM}{"".join(turning())}</robot>')
    made = new_cell(tmp_path / "gripper.urdf", tmp_path / "cell")
    (text,) = [finding.text for finding in made.findings if "guesses" in finding.text]
    assert text.startswith("open and closed of the hand hand are guesses: the limits of")
    assert text in (made.folder / "report.md").read_text()
    (tmp_path / "sure.urdf").write_text(f'<robot name="gripper">{PALM}{"".join(slides())}</robot>')
    made = new_cell(tmp_path / "sure.urdf", tmp_path / "sure")
    assert not [finding for finding in made.findings if "guesses" in finding.text]


def test_links_fixed_to_the_moved_ones_are_parts_of_the_fingers():
    """As of grippers whose fingers are screwed to carriages: the tool centre point was at the carriages."""
    carriage = {"origin": "0 0 0.005", "size": "0.01 0.01 0.01"}
    jaws = (fixed(f"{side}_jaw", side, "0 0 0.01", BOX.format("0 0 0.04", "0.01 0.01 0.08")) for side in SIDES)
    found = hand_of(*slides(**carriage), *jaws)
    assert found.tcp.position == pytest.approx((0.0, 0.0, 0.045 + 0.01 + 0.08 - 0.01))
    assert found.tcp_link == ""


SIDES = ("left", "right")


@pytest.mark.parametrize("name", ["hand_tcp", "ee_gripper_link", "end_effector_link", "panda_grasptarget"])
def test_the_tool_centre_point_is_that_of_the_maker(name):
    """Its z axis points along the fingers, whatever the axes of the link are."""
    found = hand_of(*slides(), fixed("mount", "palm", "0 0 0.01"), fixed(name, "mount", "0.002 0 0.08"))
    assert found.tcp_link == name
    assert found.tcp.position == pytest.approx((0.002, 0.0, 0.09))
    assert found.tcp.quaternion == pytest.approx((0.0, 0.0, 0.0, 1.0))


@pytest.mark.parametrize(
    ("name", "place", "shape"),
    [
        ("tcp", "0 0 0.01", ""),  # a flange
        ("tcp", "0 0 0.3", ""),  # of another tool
        ("tcp", "0.06 0 0.09", ""),
        ("camera_link", "0 0 0.09", ""),
        ("ee_cover", "0 0 0.09", BOX.format("0 0 0", "0.001 0.001 0.001")),
    ],
)
def test_other_links_are_no_tool_centre_points(name, place, shape):
    found = hand_of(*slides(), fixed(name, "palm", place, shape))
    assert found.tcp_link == ""
    assert found.tcp.position == pytest.approx((0.0, 0.0, 0.045 + 0.06 - 0.01))


@pytest.mark.parametrize(("lower", "upper", "closed"), [(0.0, 1.5, 0.0), (-1.5, 0.0, 0.0), (-0.1, 1.6, -0.1)])
def test_a_single_jaw_is_closed_at_the_one_that_does_not_move(lower, upper, closed):
    """As of the SO-100, whose jaws point along -y of their base: the moving one is farther from its z axis when closed,
    and turns away from the fixed one towards -x."""
    sign = -1 if upper > 0.0 else 1  # of the axis
    jaw = BOX.format("0.01 -0.05 0", "0.01 0.1 0.02")
    moving = (
        f'<link name="jaw">{BOX.format("0 -0.03 0", "0.01 0.06 0.02")}</link><joint name="gripper" type="revolute">'
        f'<parent link="palm"/><child link="jaw"/><origin xyz="-0.02 -0.04 0"/><axis xyz="0 0 {sign}"/>'
        f'<limit lower="{lower}" upper="{upper}" effort="1" velocity="1"/></joint>'
    )
    text = f'<robot name="gripper"><link name="palm">{jaw}</link>{moving}</robot>'
    (found,) = draft_robot(Robot("gripper", read_urdf(text))).hands.values()
    assert found.closed["gripper"] == pytest.approx(closed, abs=0.2)
    assert abs(found.opened["gripper"]) > 1.0
    assert found.opening > 0.02
