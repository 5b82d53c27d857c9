"""The commands `fk`, `ik`, `plan`, `verify` and `view` print the results of the library, or the reason of a failure."""

import json
import re
from pathlib import Path

import click
import msgspec
import pytest
from loaded_cells import loaded

from robot_cell_planner.commands.group import COMMANDS, commands
from robot_cell_planner.commands.main import main
from robot_cell_planner.io.cell_file.cell_file import load_cell, save_cell
from robot_cell_planner.kinematics.forward import forward_kinematics_to_frame
from robot_cell_planner.kinematics.targets import TargetMode, target_frame
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.problem.plan_file import plan_from_json

ROOT = Path(__file__).parents[3]
DEMO = str(ROOT / "config" / "demo" / "cell.yaml")


@pytest.fixture(scope="module")
def demo():
    return loaded()


def answer(capsys, *words, status=0):
    assert main([*words, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_fk_prints_the_poses_of_frames_in_the_requested_state(demo, capsys):
    cell, state = demo
    found = answer(capsys, "fk", DEMO, "gripper/tcp", "--in", "base_link", "--from-joint", "elbow_joint=1.0")
    expected = forward_kinematics_to_frame(
        cell, state.with_configuration({"elbow_joint": 1.0}), "gripper/tcp", "base_link"
    )
    pose = found["poses"]["gripper/tcp"]
    assert pose["position"] == pytest.approx(expected.position)
    assert pose["quaternion"] == pytest.approx(expected.quaternion)
    assert set(answer(capsys, "fk", DEMO)["poses"]) > {"world", "base_link", "gripper/tcp", "table", "above_pick"}


def test_solutions_of_ik_reach_the_pose(demo, capsys):
    cell, state = demo
    found = answer(capsys, "ik", DEMO, "--pose=0.4,-0.3,1.1,3.14159265,0,0.5", "--colliding")
    tool = target_frame(cell, state, mode=TargetMode.TOOL)
    assert len(found["solutions"]) > 1
    for row in found["solutions"]:
        reached = state.with_configuration(dict(zip(found["joints"], row, strict=True)))
        pose = forward_kinematics_to_frame(cell, reached, tool)
        distance, angle = pose.distance_to(Pose.from_rpy((0.4, -0.3, 1.1), (3.14159265, 0.0, 0.5)))
        assert (distance, angle) == pytest.approx((0.0, 0.0), abs=1e-5)


def test_a_planned_motion_is_a_file_that_verify_accepts_and_view_shows(tmp_path, capsys):
    file, page = tmp_path / "plan.json", tmp_path / "plan.html"
    given = ["plan", DEMO, "--in", "above_pick", "--output", str(file), "--view", str(page)]
    entry = answer(capsys, *given)
    plan = plan_from_json(file.read_bytes())
    assert entry["path"] == plan.path.tolist()
    assert entry["duration"] == plan.duration > 0.0
    assert entry["clearance"]["distance"] == plan.clearance.closest.distance
    assert answer(capsys, "verify", DEMO, str(file)) == {"valid": True, "violations": []}
    assert "robot_cell_replay" in page.read_text()
    assert main(["view", DEMO, str(file), "--output", str(tmp_path / "other.html")]) == 0
    assert main(["view", DEMO, "--output", str(tmp_path / "cell.html")]) == 0
    assert (tmp_path / "cell.html").stat().st_size > 100_000


def test_verify_fails_for_another_state_than_the_plan_is_for(tmp_path, capsys):
    file = str(tmp_path / "plan.json")
    assert main(["plan", DEMO, "--joint", "shoulder_pan_joint=0.3", "--output", file]) == 0
    capsys.readouterr()
    found = answer(capsys, "verify", DEMO, file, "--from-joint", "elbow_joint=1.0", status=1)
    assert not found["valid"]
    assert any("does not begin at the state" in violation["message"] for violation in found["violations"])
    assert main(["verify", DEMO, file, "--from-joint", "elbow_joint=1.0"]) == 1
    assert "NOT VALID" in capsys.readouterr().out


def test_another_start_is_explained_by_the_joint_that_differs_most(tmp_path, capsys):
    file = str(tmp_path / "plan.json")
    start = ["--from-joint", "elbow_joint=1.0", "--from-joint", "wrist_1_joint=0.1"]
    assert main(["plan", DEMO, *start, "--joint", "shoulder_pan_joint=0.3", "--output", file]) == 0
    capsys.readouterr()
    given = ["--from-joint", "elbow_joint=1.5", "--from-joint", "wrist_1_joint=0.2"]
    text = "elbow_joint differs most: the plan begins at 1 rad, and this state has 1.5 rad"
    found = answer(capsys, "verify", DEMO, file, *given, status=1)["violations"]
    about_start = [each for each in found if text in each["message"]]
    assert [each["name"] for each in about_start] == ["StateError", "PathInvalidError"]
    assert all(each["remedy"].startswith("Repeat the --from and --from-joint") for each in about_start)
    assert main(["verify", DEMO, file, *given]) == 1
    printed = capsys.readouterr().out
    assert f"{text}" in printed
    assert "\n  -> Repeat the --from and --from-joint that the plan was made with" in printed
    error = answer(capsys, "execute", DEMO, file, *given, status=1)["error"]
    assert text in error["message"]
    assert error["remedy"].startswith("Repeat the --from")
    assert answer(capsys, "verify", DEMO, file, *start)["valid"]
    hand = answer(capsys, "verify", DEMO, file, *start, "--from-joint", "gripper/finger_joint=0.01", status=1)
    assert "another joint, a tool or a body differs" in hand["violations"][0]["message"]


def test_a_plan_of_another_cell_is_reported_by_verify_and_view(tmp_path, capsys):
    file, other = str(tmp_path / "plan.json"), tmp_path / "other.yaml"
    assert main(["plan", DEMO, "--to", "home", "--joint", "elbow_joint=1.0", "--output", file]) == 0
    page = ["--output", str(tmp_path / "page.html")]
    assert main(["view", DEMO, file, *page]) == 0
    assert "digest" not in capsys.readouterr().err
    cell, state = load_cell(DEMO)
    save_cell(other, msgspec.structs.replace(cell, name="b"), state)
    found = answer(capsys, "verify", str(other), file, status=1)["violations"][0]
    assert found["remedy"] == "Give the cell file that the plan was made for, or plan again."
    assert main(["view", str(other), file, *page]) == 0
    assert f"warning {file} is for a cell with digest {cell.digest()}, this one has" in capsys.readouterr().err


def test_view_says_that_a_plan_was_made_in_another_state(tmp_path, capsys):
    file, moved = str(tmp_path / "plan.json"), str(tmp_path / "moved.json")
    page = ["--output", str(tmp_path / "page.html")]
    assert main(["plan", DEMO, "--to", "home", "--joint", "elbow_joint=1.0", "--output", file]) == 0
    assert main(["plan", DEMO, "--from-joint", "elbow_joint=1.8", "--to", "home", "--output", moved]) == 0
    capsys.readouterr()
    assert main(["view", DEMO, file, moved, *page]) == 0
    assert "warning" not in capsys.readouterr().err, "the joints of a plan may begin elsewhere"
    assert main(["view", DEMO, file, "--from-joint", "gripper/finger_joint=0.01", *page]) == 0
    assert f"warning {file} was made in a state with digest" in capsys.readouterr().err


def test_a_line_to_a_frame(capsys):
    entry = answer(capsys, "plan", DEMO, "--line", "--frame", "flange", "--in", "wrist_3_link", "--pose=0,0,0.05")
    assert len(entry["path"]) > 2


@pytest.mark.parametrize("words", [["--to", "home"], ["--line", "--in", "tool0", "--pose=0,0,0.05"]])
def test_a_plan_has_the_seed_that_is_given(words, capsys):
    assert answer(capsys, "plan", DEMO, *words, "--seed", "7")["seed"] == 7


def test_folders_of_meshes_are_refused_for_the_running_nodes(capsys):
    assert main(["fk", "@running", "--root", "."]) == 2
    assert "--root is for a cell file" in capsys.readouterr().err


def test_a_failure_is_named_as_text_and_as_json(tmp_path, capsys):
    error = answer(capsys, "plan", DEMO, "--joint", "elbow_joint=9", status=1)["error"]
    assert (error["name"], error["subjects"]) == ("JointLimitError", ["elbow_joint"])
    assert main(["fk", DEMO, "gripper/tpc"]) == 1
    assert "nearest: gripper/tcp" in capsys.readouterr().err
    assert main(["plan", DEMO, "--to", "home", "--output", str(tmp_path)]) == 1
    assert f"{tmp_path}: Is a directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["plan", DEMO], "no goal"),
        (["plan", DEMO, "--line", "--to", "home"], "--line needs a pose"),
        (["ik", DEMO, "--pose", "1,2"], "'1,2' is not a pose"),
        (["ik", DEMO, "--pose", "nan,0,0"], "finite"),
        (["fk", DEMO, "--from-joint", "elbow"], "'elbow' is not JOINT=VALUE"),
    ],
)
def test_a_wrong_command_line_has_the_exit_status_2(words, text, capsys):
    assert main(words) == 2
    assert text in capsys.readouterr().err


def test_every_command_is_in_the_help_with_a_line(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    with click.Context(commands) as context:
        for name in COMMANDS:
            assert isinstance(commands.get_command(context, name), click.Command)
            assert re.search(rf"^  {name} +{re.escape(COMMANDS[name][1])}$", text, re.M)
