"""A joint that exists, but has no value here, is not reported as one that does not exist."""

import re

import numpy as np
import pytest

from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import UnknownNameError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.planning.problem.space import space_of
from robot_cell_planner.planning.workers.tasks import ValidationRequest, validated
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.trajectory.trajectory import Trajectory

LIMIT = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'


def joint(name, kind, parent, child, more=""):
    """A joint of the description."""
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{more}</joint>'


URDF = f"""<robot name="arm">
{"".join(f'<link name="{name}"/>' for name in ("base", "carriage", "arm", "plate", "left", "right"))}
{joint("drive", "planar", "base", "carriage")}
{joint("turn", "revolute", "carriage", "arm", LIMIT)}
{joint("bolt", "fixed", "arm", "plate")}
{joint("finger", "prismatic", "plate", "left", LIMIT)}
{joint("follower", "prismatic", "plate", "right", LIMIT + '<mimic joint="finger" multiplier="-1"/>')}
</robot>"""
SRDF = """<robot name="arm"><group name="manipulator"><joint name="turn"/></group>
<group name="hand"><joint name="finger"/></group></robot>"""
FOLLOWS = "follows joint finger (mimic) and has no value of its own; the value to give is finger"
PLANAR = "is planar; its values are drive/x, drive/y, drive/theta"
OTHER = "is not of the planning group, whose joints are turn"


@pytest.fixture
def cell(tmp_path):
    """A cell file whose robot has joints of all kinds."""
    (tmp_path / "arm.urdf").write_text(URDF)
    (tmp_path / "arm.srdf").write_text(SRDF)
    (tmp_path / "cell.yaml").write_text("format: robot_cell/1\nrobots: {arm: {urdf: arm.urdf, srdf: arm.srdf}}\n")
    return tmp_path / "cell.yaml"


def failure(capsys, *words):
    """The message and the remedy of a command that fails."""
    assert main([str(word) for word in words]) == 1
    message, remedy = capsys.readouterr().err.splitlines()[-2:]
    return message, remedy


@pytest.mark.parametrize(
    ("name", "reason", "remedy"),
    [
        ("follower", FOLLOWS, "Give the values that the message names."),
        ("bolt", "is fixed and has no value", "Leave the joint out, or make it movable in the description."),
        ("drive", PLANAR, "Give the values that the message names."),
        ("finger", f"{OTHER}; groups with it: hand", "Give joints of the planning group, or name a group that has"),
        ("drive/x", f"{OTHER}, nor of any other group", "Give joints of the planning group, or name a group that has"),
        ("Turn", "does not exist; nearest: turn", "Check the spelling"),
    ],
)
def test_a_goal_names_what_the_joint_is(name, reason, remedy, cell, capsys):
    message, advice = failure(capsys, "plan", cell, "--joint", f"{name}=0.5")
    assert message == f"robot_cell: goals: joint {name!r} of joint goal 0 {reason}"
    assert advice.startswith(f"  -> {remedy}")


@pytest.mark.parametrize(("name", "reason"), [("follower", FOLLOWS), ("drive", PLANAR)])
def test_a_start_names_what_the_joint_is(name, reason, cell, capsys):
    message, _ = failure(capsys, "fk", cell, "--from-joint", f"{name}=0.5")
    assert message == f"robot_cell: start state: joint {name!r} {reason}"


def test_the_state_of_a_cell_file_names_what_the_joint_is(cell, capsys):
    cell.write_text(f"{cell.read_text()}state: {{configuration: {{follower: 0.1}}}}\n")
    message, _ = failure(capsys, "fk", cell)
    assert re.search(rf"joint 'follower' {re.escape(FOLLOWS)}$", message)


def test_the_joint_of_a_tool_has_its_prefix(cell, capsys):
    cell.with_name("hand.urdf").write_text(URDF.replace('name="arm"', 'name="hand"', 1))
    cell.write_text(f"{cell.read_text()}tools: {{hand: {{urdf: hand.urdf}}}}\n")
    message, _ = failure(capsys, "fk", cell, "--from-joint", "hand/follower=0.1")
    expected = "follows joint hand/finger (mimic) and has no value of its own; the value to give is hand/finger"
    assert message == f"robot_cell: start state: joint 'hand/follower' {expected}"


@pytest.mark.parametrize(("name", "reason"), [("follower", FOLLOWS), ("drive", PLANAR), ("Turn", "nearest: turn")])
def test_trajectories_and_paths_name_what_the_joint_is(name, reason, cell):
    """A controller of ros2_control takes the joints of joint_states, of which some follow others."""
    scene = Scene(*load_cell(cell))
    with pytest.raises(UnknownNameError, match=re.escape(reason)):
        validated(scene, ValidationRequest(Trajectory((name,), [0.0, 1.0], np.zeros((2, 1)))))
    with pytest.raises(UnknownNameError, match=re.escape(reason)):
        space_of(scene.cell, (name,), np.zeros(1))
