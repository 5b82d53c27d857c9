"""`robot_cell plan --poses`: the poses of a file are followed in straight lines."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from robot_cell_planner.commands.actions.pose_files import REMEDY, read_poses
from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import FileError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.kinematics.forward import forward_kinematics_to_frame
from robot_cell_planner.model.pose import Pose

DEMO = str(Path(__file__).parents[3] / "config" / "demo" / "cell.yaml")
TURNED = Pose((0.1, -0.2, 0.3), (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)))
FORMS = {
    "heading.csv": f"x, y, z, roll, pitch, yaw\n0.1, -0.2, 0.3, 0, 0, {math.pi / 2!r}\n",
    "numbers.csv": f"\n0.1,-0.2,0.3,0,0,{math.pi / 2!r}\n\n",
    "windows.csv": f"\ufeffX,Y,Z,QX,QY,QZ,QW\r\n1e-1,-0.2,.3,0,0,{math.sqrt(0.5)!r},{math.sqrt(0.5)!r}\r\n",
    "lists.json": json.dumps([[0.1, -0.2, 0.3, 0, 0, math.pi / 2]]),
    "objects.JSON": json.dumps([{"position": TURNED.position, "quaternion": TURNED.quaternion}]),
}


@pytest.mark.parametrize("name", FORMS)
def test_all_forms_of_a_file_have_the_same_pose(name, tmp_path):
    (tmp_path / name).write_text(FORMS[name], newline="", encoding="utf-8")
    (pose,) = read_poses(tmp_path / name)
    assert pose.position == TURNED.position
    assert pose.quaternion == pytest.approx(TURNED.quaternion, abs=1e-15)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "has no pose"),
        ("a.csv", "x,y,z\n", "has no pose"),
        ("a.csv", "x,z,y\n1,2,3\n", "a.csv:1: 'x,z,y' is not a pose"),
        ("a.csv", "x;y;z\n1;2;3\n", "a.csv:1: 'x;y;z' is not a pose"),
        ("a.csv", "1,2,3\n\n1,2,3,0,0,0\n", "a.csv:3: has 6 numbers, expected 3"),
        ("a.csv", "1,2,3\nx,y,z\n", "a.csv:2: 'x,y,z' is not a pose"),
        ("a.csv", "1,2,3\n1,nan,3\n", "a.csv:2: "),
        ("a.csv", "1,2,3,0,0,0,2\n", "a.csv:1: quaternion [0.0, 0.0, 0.0, 2.0] has length 2"),
        ("a.csv", "1,2\n", "a.csv:1: '1,2' is not a pose"),
        ("a.csv", f"1,2,3\n{'9' * 200_000},2,3\n", "a.csv:2: field larger than field limit"),
        ("a.json", "[]", "has no pose"),
        ("a.json", "[[1,2,3],[1,2]]", "a.json, pose 1: '1.0,2.0' is not a pose"),
        ("a.json", '[{"position": [1,2,3], "quaternion": [0,0,0,2]}]', "has length 2"),
        ("a.json", '{"x": 1}', "a.json: Expected `array`"),
        ("a.json", "[[NaN,0,0]]", "a.json: JSON is malformed"),
        ("a.json", "[" * 100_000, "a.json: "),
    ],
)
def test_other_content_is_refused_with_its_place(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(FileError) as error:
        read_poses(tmp_path / name)
    assert message in str(error.value)
    assert error.value.remedy == REMEDY


def test_the_first_angle_of_more_than_a_turn_has_a_warning(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("0,0,0,0,0,1\n0,0,0,0,0,90\n0,0,0,0,0,90\n")
    assert len(read_poses(tmp_path / "a.csv")) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "a.csv:2: the angle 90 rad is more than a turn" in line


@pytest.mark.parametrize(("unit", "scale"), [([], 1.0), (["--unit", "m"], 1.0), (["--unit", "mm"], 1e3)])
def test_a_plan_passes_through_the_poses_in_their_order(unit, scale, tmp_path, capsys):
    offsets = [(0.0, 0.0, 0.05), (0.0, 0.04, 0.05), (0.0, 0.04, 0.0)]
    (tmp_path / "a.csv").write_text("".join(",".join(str(scale * v) for v in each) + "\n" for each in offsets))
    words = ["--poses", str(tmp_path / "a.csv"), *unit, "--frame", "flange", "--in", "wrist_3_link", "--json"]
    cell, state = load_cell(DEMO)
    start = forward_kinematics_to_frame(cell, state, "wrist_3_link").matrix
    assert main(["plan", DEMO, *words]) == 0
    found = json.loads(capsys.readouterr().out)
    moved = [state.with_configuration(dict(zip(found["joints"], row, strict=True))) for row in found["path"]]
    places = np.array([forward_kinematics_to_frame(cell, each, found["frame"]).position for each in moved])
    expected = [(start @ [*offset, 1.0])[:3] for offset in offsets]
    distances = np.linalg.norm(places[:, None] - expected, axis=2)  # of each row of the path from each pose
    nearest = distances.argmin(axis=0).tolist()
    assert nearest == sorted(set(nearest))
    assert nearest[-1] == len(places) - 1
    assert distances.min(axis=0).max() < 1e-5


def test_poses_in_millimetres_are_explained_by_their_unit(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("400,-100,300\n")
    assert main(["plan", DEMO, "--poses", str(tmp_path / "a.csv")]) == 1
    assert "-> Positions of --poses are in m: if these are in mm, add `--unit mm`." in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--poses", "a.csv", "--to", "home"],
        ["--poses", "a.csv", "--pose=0,0,0"],
        ["--poses", "a.csv", "--line"],
        ["--poses", "a.csv", "--planner", "RRTConnect"],
        ["--poses", "a.csv", "--output", "a.csv"],
        ["--to", "home", "--unit", "mm"],
    ],
)
def test_options_that_contradict_each_other_are_refused(words):
    assert main(["plan", DEMO, *words]) == 2
