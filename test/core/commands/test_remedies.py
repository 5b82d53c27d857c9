"""The remedy that the command line prints fits the cause, also if one type of error has several causes."""

import json
import pickle
from pathlib import Path

import pytest

from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import FileError, ResourceError, UnknownNameError
from robot_cell_planner.errors.remedies import (
    EXISTING_FILE,
    MISSING_FILE,
    NO_FILE,
    OTHER_CAUSE,
    OUTSIDE_FOLDERS,
    UNKNOWN_PACKAGE,
)

OTHER_FORMAT = "Give a cell file first, plan files after it; a file of a later version needs that version."
CORRECT = "Correct the file at the position that the message gives."
DEMO = str(Path(__file__).parents[3] / "config" / "demo" / "cell.yaml")
MESH = '<link name="a"><collision><geometry><mesh filename="{0}"/></geometry></collision></link>'
CELL = "format: robot_cell/1\nname: x\nrobots: {arm: {urdf: ../urdf/arm.urdf}}\n"
JOINT = (
    '<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>'
    '<limit lower="-2" upper="2" effort="9" velocity="1"/></joint>'
)


def without(mesh):
    """How a description can be used without a collision mesh."""
    return (
        f"To leave this mesh out of all checks, add {{'{mesh}': unchecked}} to `mesh_uses` in the cell file, or draft"
        f" with `robot_cell new --unchecked {mesh}`."
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with incomplete files, and a cell in a folder that is not a package."""
    monkeypatch.chdir(tmp_path)
    texts = {
        "mesh.urdf": f'<robot name="r">{MESH.format("no.stl")}</robot>',
        "package.urdf": f'<robot name="r">{MESH.format("package://nowhere/no.stl")}</robot>',
        "still.urdf": '<robot name="r"><link name="a"/></robot>',
        "urdf/arm.urdf": f'<robot name="r"><link name="base"/><link name="arm"/>{JOINT}</robot>',
        "cells/cell.yaml": CELL,
        "mesh.yaml": CELL.replace("../urdf/arm.urdf", "mesh.urdf"),
        "malformed.yaml": "format: ]",
        "unknown.yaml": f"{CELL}robot: {{}}\n",
        "empty.json": " \n",
        "plan.json": '{"format": "robot_plan/1"}',
        "other.json": '{"a": 1}',
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def advice(capsys, *words):
    """Return message and remedy of a command that fails."""
    capsys.readouterr()
    assert main(list(words)) == 1
    lines = capsys.readouterr().err.splitlines()
    place = next(index for index, line in enumerate(lines) if line.startswith("robot_cell: "))
    assert lines[place + 1].startswith("  -> ")
    return lines[place], lines[place + 1].removeprefix("  -> ")


@pytest.mark.parametrize(
    ("words", "message", "remedy"),
    [
        (["plan", "no.yaml", "--to", "home"], "no.yaml: No such file or directory", MISSING_FILE),
        (["verify", DEMO, "no.json"], "no.json: No such file or directory", MISSING_FILE),
        (["new", "no.urdf"], "no.urdf: No such file or directory", MISSING_FILE),
        (["new", "mesh.urdf"], "mesh.urdf:1: 'no.stl' resolves to", f"{MISSING_FILE} {without('no.stl')}"),
        (["fk", "mesh.yaml"], "mesh.urdf:1: 'no.stl' resolves to", f"{MISSING_FILE} {without('no.stl')}"),
        (["reproduce", "no.case"], "case: no.case: No such file or directory", MISSING_FILE),
        (["keystore", "keys", "--policy", "no.xml"], "no.xml: No such file or directory", MISSING_FILE),
        (["fk", "cells"], "cells is not a regular file; is cells/cell.yaml meant?", NO_FILE),
        (["fk", "urdf"], "urdf is not a regular file", NO_FILE),
        (["view", "plan.json"], "plan.json:1: format: is 'robot_plan/1', expected 'robot_cell/1'", OTHER_FORMAT),
        (["fk", "malformed.yaml"], "malformed.yaml:1: is not well-formed YAML", CORRECT),
        (["fk", "unknown.yaml"], "unknown.yaml:4: robot: key 'robot' does not exist", CORRECT),
        (["plan", DEMO, "--to", "home", "--output", "x" * 300], "File name too long", OTHER_CAUSE),
        (
            ["new", "package.urdf"],
            "package 'nowhere' was not found",
            f"{UNKNOWN_PACKAGE} {without('package://nowhere/no.stl')}",
        ),
        (["fk", "cells/cell.yaml"], "'../urdf/arm.urdf' is outside the allowed folders", OUTSIDE_FOLDERS),
        (
            ["new", "urdf/arm.urdf", "--folder", "cells"],
            "cell.yaml exists, and is not to be overwritten",
            EXISTING_FILE,
        ),
        (["fk", DEMO, "gripper/tpc"], "nearest: gripper/tcp", UnknownNameError.remedy),
    ],
    ids=lambda value: f"{value[0]} {value[-1]}" if isinstance(value, list) else "",
)
def test_the_remedy_fits_the_cause(words, message, remedy, folder, capsys):
    found = advice(capsys, *words)
    assert message in found[0]
    assert "Errno" not in found[0]
    assert found[1] == remedy


def test_options_in_remedies_solve_the_problem(folder, capsys):
    assert main(["fk", "cells/cell.yaml", "--root", "."]) == 0
    words = ["new", "urdf/arm.urdf", "--folder", "cells", "--samples", "10"]
    assert main(words) == 1
    assert main([*words, "--overwrite"]) == 0
    assert main([*words, "--folder", "others"]) == 0
    for text, options in ((OUTSIDE_FOLDERS, ["--root"]), (EXISTING_FILE, ["--overwrite", "--folder"])):
        assert all(option in text for option in options)
    assert "running nodes" in UnknownNameError.remedy


def test_check_and_json_have_the_same_remedies(folder, capsys):
    assert main(["check", "cells/cell.yaml", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["remedy"] == OUTSIDE_FOLDERS
    assert main(["plan", "no.yaml", "--to", "home", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["remedy"] == MISSING_FILE


@pytest.mark.parametrize("file", ["empty.json", "other.json"])
@pytest.mark.parametrize("command", ["verify", "execute", "view"])
def test_a_file_that_is_not_a_plan_is_refused(command, file, folder, capsys):
    message, remedy = advice(capsys, command, DEMO, file)
    assert f"{file} is no plan file that can be read: " in message
    assert ("it is empty" in message) == (file == "empty.json")
    assert remedy == "Give a file that `robot_cell plan --output` of this version wrote."


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["plan", DEMO, "--joint", "elbow_joint=90"], "--joint"),
        (["plan", DEMO, "--to", "home", "--from-joint", "elbow_joint=90"], "--from-joint"),
        (["fk", DEMO, "--check-limits", "--from-joint", "elbow_joint=90"], "--from-joint"),
    ],
)
def test_a_joint_value_beyond_limits_is_explained_by_its_unit(words, option, capsys):
    _, remedy = advice(capsys, *words)
    assert remedy == (f"Values of {option} are in rad, and within the limits of the joint: 90 degrees are 1.5708 rad.")
    words[-1] = "elbow_joint=4"
    assert advice(capsys, *words)[1] == f"Values of {option} are in rad, and within the limits of the joint."


@pytest.mark.parametrize("words", [["fk"], ["ik", "--pose=0.4,0,0.2"]])
def test_a_misspelt_joint_of_the_start_is_about_the_start_state(words, capsys):
    message, _ = advice(capsys, *words, DEMO, "--from-joint", "elbow=1")
    assert message == "robot_cell: start state: joint 'elbow' does not exist; nearest: elbow_joint"


def test_the_only_name_that_exists_is_named_in_the_singular(capsys):
    message, _ = advice(capsys, "ik", DEMO, "--group", "arm", "--pose", "0.4,0,0.2")
    assert message == "robot_cell: request: group 'arm' does not exist; there is only manipulator"


@pytest.mark.parametrize("words", [["plan", "--line"], ["plan"], ["ik"]])
def test_a_pose_in_millimetres_is_explained_by_its_unit(words, capsys):
    command = [words[0], DEMO, *words[1:], "--pose"]
    message, remedy = advice(capsys, *command, "400,-100,300")
    assert "out of reach" in message
    assert remedy == "Positions of --pose are in m: if these are in mm, write 0.4,-0.1,0.3."
    assert "--pose" not in advice(capsys, *command, "4,-1,3")[1]
    assert "--pose" not in advice(capsys, *command, "4e300,0,0")[1]


def test_a_description_without_joints_is_an_error(folder, capsys):
    for words in (["new", "still.urdf"], ["check", "still_cell/cell.yaml"]):
        assert main(words) == 1
        text = capsys.readouterr().out
        assert "error   groups: robot r has no movable joint, so that nothing can be planned for it" in text
        assert "robot_cell new" not in text


def test_copies_of_an_error_keep_its_remedy():
    error = FileError.existing("a.yaml", "read cell")
    moved = error.with_message("b.yaml:3: a.yaml exists")
    assert (moved.remedy, moved.subjects, str(moved)) == (
        EXISTING_FILE,
        ("a.yaml",),
        "read cell: b.yaml:3: a.yaml exists",
    )
    assert type(moved) is FileError
    assert pickle.loads(pickle.dumps(moved)).remedy == EXISTING_FILE
    assert ResourceError("a").remedy == ResourceError.remedy != OUTSIDE_FOLDERS
