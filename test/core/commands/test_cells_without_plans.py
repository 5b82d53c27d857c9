"""Cells that nothing can be planned or proven for: the errors and the output of `plan` say why, and what to do."""

import pytest

from robot_cell_planner.commands.main import main

STILL = '<robot name="arm"><link name="base"/></robot>'
MOVING = """<robot name="arm"><link name="base"/><link name="arm"/><joint name="turn" type="continuous">
<parent link="base"/><child link="arm"/></joint></robot>"""
GROUP = '<robot name="arm"><group name="g"><joint name="turn"/></group></robot>'


def cell_file(folder, urdf="", srdf=""):
    """A cell file with a robot, or without one."""
    (folder / "arm.urdf").write_text(urdf)
    (folder / "arm.srdf").write_text(srdf)
    robot = f"robots: {{arm: {{urdf: arm.urdf{', srdf: arm.srdf' if srdf else ''}}}}}" if urdf else ""
    (folder / "cell.yaml").write_text(f"format: robot_cell/1\n{robot}\n")
    return str(folder / "cell.yaml")


@pytest.mark.parametrize(
    ("urdf", "message", "remedy"),
    [
        ("", "cell cell has no robots, expected one", "a cell without one needs an entry in `robots` of its file."),
        (MOVING, "robot arm has no planning group", "`robot_cell new` drafts an SRDF; name it as `srdf` of the robot."),
        (STILL, "robot arm has no planning group", "Give a description with revolute, continuous or prismatic joints"),
    ],
)
def test_the_error_says_what_the_cell_lacks(urdf, message, remedy, tmp_path, capsys):
    assert main(["plan", cell_file(tmp_path, urdf), "--joint", "turn=1"]) == 1
    found, advice = capsys.readouterr().err.splitlines()[-2:]
    assert found == f"robot_cell: request: {message}"
    assert remedy in advice


def test_a_group_without_joints_is_refused_by_its_name(tmp_path, capsys):
    """With a named state too, which plans of the group would end at without a motion."""
    empty = '<group name="empty"/><group_state name="home" group="empty"><joint name="turn" value="1"/></group_state>'
    cell = cell_file(tmp_path, MOVING, GROUP.replace("</robot>", f"{empty}</robot>"))
    for goal in (("--to", "home"), ("--joint", "turn=1")):
        assert main(["plan", cell, "--group", "empty", *goal]) == 1
        message, remedy = capsys.readouterr().err.splitlines()[-2:]
        assert message == "robot_cell: request: group empty has no joint that moves; groups with joints: g"
        assert remedy.startswith("  -> Name a group with joints")
    assert main(["check", cell]) == 0
    assert "warning groups: group empty of robot arm is empty, so that nothing can be" in capsys.readouterr().out


def test_a_plan_of_which_nothing_can_be_proven_says_so(tmp_path, capsys):
    assert main(["plan", cell_file(tmp_path, MOVING, GROUP), "--joint", "turn=1"]) == 0
    assert "certified nothing: no certificates, or no checked pair of objects moves\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "limits"),
    [("continuous", "no joint has limits, besides those of hands"), ("revolute", "1 rad from the nearest limit")],
)
def test_a_draft_of_one_joint_is_described_in_the_singular(kind, limits, tmp_path, capsys):
    limit = '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>'
    (tmp_path / "one.urdf").write_text(MOVING.replace("continuous", kind).replace("</joint>", limit))
    assert main(["new", str(tmp_path / "one.urdf"), "--folder", str(tmp_path / "cell"), "--samples", "10"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "group manipulator: 1 joint, base to arm" in lines
    assert f"home: free of collisions, {limits}" in lines
    assert limits in (tmp_path / "cell" / "report.md").read_text()
