"""Poses on the command line: the frame that moves to them, their orientation, and warnings about angles in degrees."""

import json
from pathlib import Path

import pytest
from robots import MANIPULATORS

from robot_cell_planner.commands.main import main
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.kinematics.forward import forward_kinematics_to_frame
from robot_cell_planner.model.pose import Pose

DEMO = str(Path(__file__).parents[3] / "config" / "demo" / "cell.yaml")
GOAL = "0.4,0.1,0.4,3.14159265,0,0"


@pytest.fixture(scope="module")
def panda(tmp_path_factory):
    """Folder of a cell that was drafted for an arm with a gripper in its URDF, and what `new` printed."""
    folder = tmp_path_factory.mktemp("panda") / "cell"
    assert main(["new", str(MANIPULATORS["panda"]), "--folder", str(folder), "--samples", "200"]) == 0
    return folder


def answer(capsys, *words, status=0):
    capsys.readouterr()
    assert main([*words, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_new_prints_the_tool_centre_point_and_how_to_move_it(panda, tmp_path, capsys):
    words = ["new", str(MANIPULATORS["panda"]), "--folder", str(tmp_path / "cell"), "--samples", "200"]
    assert answer(capsys, *words)["frames"] == {"tcp": "panda_hand"}
    assert main([*words, "--overwrite"]) == 0
    assert "frame tcp: tool centre point of the hand, on panda_hand; `robot_cell plan --frame tcp`" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize(("given", "moved"), [([], "panda_hand"), (["--frame", "tcp"], "tcp")])
def test_a_frame_of_the_cell_moves_to_the_pose_and_is_printed(given, moved, panda, capsys):
    file = str(panda / "cell.yaml")
    cell, state = load_cell(file)
    found = answer(capsys, "ik", file, f"--pose={GOAL}", "--solutions", "1", *given)
    plan = answer(capsys, "plan", file, f"--pose={GOAL}", *given)
    assert found["frame"] == plan["frame"] == moved
    for joints, values in ((found["joints"], found["solutions"][0]), (plan["joints"], plan["path"][-1])):
        reached = state.with_configuration(dict(zip(joints, values, strict=True)))
        pose = forward_kinematics_to_frame(cell, reached, moved)
        assert pose.distance_to(Pose.from_rpy((0.4, 0.1, 0.4), (3.14159265, 0.0, 0.0))) == pytest.approx(
            (0, 0), abs=1e-5
        )
    assert main(["plan", file, f"--pose={GOAL}", *given]) == 0
    assert capsys.readouterr().out.startswith(f"moves     {moved} to the pose\n")
    assert main(["ik", file, f"--pose={GOAL}", *given]) == 0
    assert f"that bring {moved} to the pose" in capsys.readouterr().out


def test_of_several_goals_the_one_that_is_reached_is_printed(panda, capsys):
    """The robot is at home, so that it does not move to the pose or to the joint values."""
    words = ["plan", str(panda / "cell.yaml"), "--to", "home", f"--pose={GOAL}"]
    assert main([*words, "--joint", "panda_joint1=1.0"]) == 0
    assert capsys.readouterr().out.startswith("moves     the robot to named state home\n")
    assert "frame" not in answer(capsys, *words)


def test_a_frame_moves_on_a_line(panda, capsys):
    file = str(panda / "cell.yaml")
    cell, state = load_cell(file)
    plan = answer(capsys, "plan", file, "--line", "--in", "tcp", "--frame", "tcp", "--pose=0,0,-0.02")
    before = forward_kinematics_to_frame(cell, state, "tcp")
    moved = state.with_configuration(dict(zip(plan["joints"], plan["path"][-1], strict=True)))
    offset = before.inverse() @ forward_kinematics_to_frame(cell, moved, "tcp")
    assert offset.position == pytest.approx((0.0, 0.0, -0.02), abs=1e-5)


def test_the_grid_of_reach_is_of_any_frame(panda, capsys):
    file = str(panda / "cell.yaml")
    cell, state = load_cell(file)
    found = answer(capsys, "reach", file, f"--pose={GOAL}", "--frame", "tcp", "--size", "0.1", "0", "0")
    reached = [entry for entry in found["poses"] if entry["configuration"]]
    assert reached
    for entry in reached:
        at = state.with_configuration(dict(zip(found["joints"], entry["configuration"], strict=True)))
        position = forward_kinematics_to_frame(cell, at, "tcp").position
        assert position == pytest.approx(entry["position"], abs=1e-5)


@pytest.mark.parametrize(("given", "nearest"), [("gripper/tpc", "gripper/tcp"), ("flangee", "flange")])
def test_a_misspelt_frame_is_refused_with_the_nearest_name(given, nearest, capsys):
    for command in ("ik", "plan", "reach"):
        assert main([command, DEMO, "--in", "above_pick", "--pose=0,0,0", "--frame", given]) == 1
        assert f"frame {given!r} does not exist; nearest: {nearest}" in capsys.readouterr().err


def test_a_reference_frame_alone_is_the_target(capsys):
    alone = answer(capsys, "ik", DEMO, "--in", "above_pick")
    assert alone == answer(capsys, "ik", DEMO, "--in", "above_pick", "--pose", "0,0,0")
    assert main(["ik", DEMO]) == 2
    assert "no target: give --pose, or a frame by --in" in capsys.readouterr().err


def test_angles_of_more_than_a_turn_have_a_warning_with_the_value_in_radians(capsys):
    assert main(["ik", DEMO, "--pose", "0.4,0.1,0.6,180,0,90"]) in (0, 1)
    assert "warning --pose 0.4,0.1,0.6,180,0,90: the angle 180 rad is more than a turn" in (
        text := capsys.readouterr().err
    )
    assert "write 3.141593, 0, 1.570796" in text
    for pose in ("0.4,0.1,0.6,6.2831853,0,0", "50,0.1,0.6", "0.4,0.1,0.6,0,0,0,1"):
        main(["ik", DEMO, "--pose", pose])
        assert "more than a turn" not in capsys.readouterr().err


@pytest.mark.parametrize("words", [["plan", DEMO, "--joint"], ["fk", DEMO, "--from-joint"]])
def test_a_joint_with_two_values_is_refused(words, capsys):
    option = words.pop()
    assert main([*words, option, "elbow_joint=1", option, "elbow_joint=0.5", option, "wrist_1_joint=0"]) == 2
    text = capsys.readouterr().err
    assert option in text
    assert "a joint has more than one value: elbow_joint=1, elbow_joint=0.5\n" in text


@pytest.mark.parametrize("goal", [["--joint", "elbow_joint=1.1"], ["--line", "--in", "tool0", "--pose", "0,0,0.05"]])
def test_a_motion_at_a_fraction_of_the_speed_takes_as_much_longer(goal, capsys):
    fast, slow = (answer(capsys, "plan", DEMO, *goal, "--speed", speed) for speed in ("1", "0.25"))
    assert slow["path"] == fast["path"]
    assert slow["duration"] == pytest.approx(fast["duration"] / 0.25, rel=0.01)
    assert main(["plan", DEMO, *goal, "--speed", "0"]) == 2


def test_a_plan_to_the_current_configuration_has_a_note(panda, capsys):
    assert main(["plan", str(panda / "cell.yaml"), "--to", "home"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("already at the goal: nothing moves\n")
    assert "certified" not in text


def test_assumed_limits_are_reported_in_one_line(panda, capsys):
    assert main(["plan", str(panda / "cell.yaml"), "--joint", "panda_joint1=0.5"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "limits" in line]
    assert len(lines) == 1
    assert "acceleration limits of all joints and jerk limits of all joints are assumed" in lines[0]


def test_warnings_that_a_plan_repeats_are_not_logged(panda, capsys, caplog):
    known = "acceleration limits of all joints and jerk limits of all joints are assumed"
    assert main(["plan", str(panda / "cell.yaml"), "--joint", "panda_joint1=0.5"]) == 0
    assert known in capsys.readouterr().out
    assert known not in caplog.text
    assert main(["plan", str(panda / "cell.yaml"), "--joint", "panda_joint1=50"]) != 0
    assert known in caplog.text  # there is no plan that has it


def test_assumed_limits_are_one_warning_of_a_plan_which_all_clients_receive(panda, capsys):
    found = answer(capsys, "plan", str(panda / "cell.yaml"), "--joint", "panda_joint1=0.5")["warnings"]
    assert [text for text in found if "limits" in text] == [
        "acceleration limits of all joints and jerk limits of all joints are assumed, "
        "because no file gives values above 0"
    ]


ELBOW = """<robot name="elbow"><link name="base"/><link name="a"/><link name="b"/><link name="tip"/>
<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
  <limit lower="-2" upper="2" velocity="2" effort="9"/></joint>
<joint name="j2" type="revolute"><origin xyz="0 0 0.2"/><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" velocity="2" effort="9"/></joint>
<joint name="j3" type="prismatic"><origin xyz="0.3 0 0"/><parent link="b"/><child link="tip"/>
  <limit lower="0" upper="0.4" velocity="1" effort="9"/></joint></robot>"""


@pytest.fixture(scope="module")
def three_joints(tmp_path_factory):
    """A cell of an arm whose three joints move its tip in all directions, with their orientation."""
    folder = tmp_path_factory.mktemp("elbow")
    (folder / "elbow.urdf").write_text(ELBOW)
    words = ["new", str(folder / "elbow.urdf"), "--folder", str(folder / "cell"), "--samples", "200"]
    assert main(words) == 0
    return str(folder / "cell" / "cell.yaml")


START = ("--from-joint", "j1=0.1", "--from-joint", "j2=0.2", "--from-joint", "j3=0.1")


@pytest.mark.parametrize("command", ["ik", "plan", "line"])
def test_an_arm_with_three_joints_reaches_a_position_with_free_rotations(command, three_joints, capsys):
    words = ["plan", three_joints, "--line"] if command == "line" else [command, three_joints]
    words += [*START, "--in=tip", "--pose=0,0.1,0.05"]
    cell, state = load_cell(three_joints)
    before = state.with_configuration({"j1": 0.1, "j2": 0.2, "j3": 0.1})
    goal = forward_kinematics_to_frame(cell, before, "tip") @ Pose((0.0, 0.1, 0.05))
    found = answer(capsys, *words, "--free", "xyz")
    values = found["solutions"][0] if command == "ik" else found["path"][-1]
    reached = state.with_configuration(dict(zip(found["joints"], values, strict=True)))
    assert forward_kinematics_to_frame(cell, reached, "tip").position == pytest.approx(goal.position, abs=1e-5)
    assert main(words) == 1
    assert "-> Free rotations of the pose: `--free xyz` for its position only" in capsys.readouterr().err


def test_the_positions_of_a_grid_are_reached_with_free_rotations(three_joints, capsys):
    words = ["reach", three_joints, *START, "--pose=0.4,0,0.2", "--size", "0.1", "0.1", "0", "--step", "0.05"]
    turned = [entry["result"] for entry in answer(capsys, *words)["poses"]]
    assert turned.count("reached") == 3  # those straight ahead
    assert {entry["result"] for entry in answer(capsys, *words, "--free", "xyz")["poses"]} == {"reached"}


@pytest.mark.parametrize("axes", ["a", "zz", "xyzx"])
def test_free_axes_are_letters(axes, three_joints, capsys):
    assert main(["ik", three_joints, "--pose=0.4,0,0.2", "--free", axes]) == 2
    assert f"'{axes}' names no axes, expected letters of xyz" in capsys.readouterr().err


def test_free_axes_are_those_of_a_pose(three_joints, capsys):
    assert main(["plan", three_joints, "--joint", "j1=1", "--free", "z"]) == 2
    assert "--free needs a pose" in capsys.readouterr().err
