"""`check` names joints that the limits of their mimic joints narrow, and limits of mimic joints that have no effect."""

import pytest

from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.setup_assistant.check import check_cell

URDF = """<robot name="arm"><link name="base"/><link name="upper"/><link name="lower"/>
<joint name="turn" type="{kind}"><parent link="base"/><child link="upper"/>
<limit lower="-2" upper="2" velocity="2" effort="1"/></joint>
<joint name="follower" type="revolute"><parent link="upper"/><child link="lower"/>
<limit {own} effort="1"/><mimic joint="turn" multiplier="{multiplier}" offset="{offset}"/></joint></robot>"""
WIDE = 'lower="-2" upper="2" velocity="2"'


def findings(folder, own=WIDE, multiplier=1, offset=0, kind="revolute", limits=""):
    """The findings about the limits of mimic joints in a cell of such a robot."""
    urdf = URDF.format(kind=kind, own=own, multiplier=multiplier, offset=offset)
    (folder / "arm.urdf").write_text(urdf)
    (folder / "limits.yaml").write_text(limits)
    named = ", limits: limits.yaml" if limits else ""
    (folder / "cell.yaml").write_text(f"format: robot_cell/1\nrobots: {{arm: {{urdf: arm.urdf{named}}}}}\n")
    return [found for found in check_cell(*load_cell(folder / "cell.yaml")) if "mimic" in found.text]


NARROW = "limits of mimic joints narrow those of the joints that they follow"
NO_EFFECT = "limits of mimic joints have no effect, as they would leave no range"
SLOW = {"own": 'lower="-2" upper="2" velocity="0.5"'}
APART = {
    "own": 'lower="0" upper="2" velocity="2"',
    "multiplier": -1,
    "limits": "joint_limits: {turn: {max_position: 2, min_position: 0}}",
}


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({"own": 'lower="-0.5" upper="2" velocity="2"'}, f"{NARROW}: turn from -2..2 to -0.5..2 (by follower)"),
        ({"multiplier": -1, "offset": 0.1}, f"{NARROW}: turn from -2..2 to -1.9..2 (by follower)"),
        ({"kind": "continuous"}, f"{NARROW}: turn from -inf..inf to -2..2 (by follower)"),
        ({"multiplier": 0, "offset": 3}, f"{NO_EFFECT}: follower (-2 to 2, moved from 3 to 3 by turn)"),
        (SLOW, f"{NARROW}: turn velocity 2 to 0.5 (by follower)"),
        (APART, f"{NO_EFFECT}: follower (0 to 2, moved from -2 to 0 by turn)"),
    ],
)
def test_limits_of_mimic_joints_that_narrow_others_or_have_no_effect_are_named(given, reported, tmp_path):
    (found,) = findings(tmp_path, **given)
    assert (found.level, found.topic) == ("warning", "limits")
    assert found.text == f"robot arm: {reported}"
    assert "Correct the limits, multiplier and offset of the mimic joints" in found.remedy


@pytest.mark.parametrize(
    "given",
    [
        {"own": WIDE},
        {"own": 'lower="-1.99995" upper="2" velocity="1.9999"'},
        {"own": 'lower="0" upper="0" velocity="0"'},
        {"own": WIDE, "multiplier": 0.5, "offset": -1},
        {
            "own": 'lower="-0.5" upper="0.5" velocity="1"',
            "limits": "joint_limits: {turn: {has_position_limits: true, min_position: -0.5, max_position: 0.5, "
            "has_velocity_limits: true, max_velocity: 1.0}}",
        },
    ],
)
def test_a_mimic_joint_within_its_limits_is_not_named(given, tmp_path):
    assert not findings(tmp_path, **given)
