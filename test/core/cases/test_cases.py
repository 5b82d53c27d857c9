"""Case files contain all inputs of a request and reproduce its result on another machine."""

import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from loaded_cells import loaded
from sources import ROOT

from robot_cell_planner.cases import case_file, open_case, reproduce, save_case
from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import (
    FileError,
    InvalidRequestError,
    LimitExceededError,
    PlanningError,
    RobotCellError,
)
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints
from robot_cell_planner.planning.cartesian.planner import CartesianRequest, plan_cartesian
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.look_ahead import LookAheadRequest, look_ahead
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.problem.steps import MotionStep, MultistepRequest
from robot_cell_planner.planning.sequence import plan_multistep
from robot_cell_planner.planning.workers.tasks import ValidationRequest, validated
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.trajectory.tracking import Check, Tolerances, TrackingRow, supervise, supervised
from robot_cell_planner.trajectory.trajectory import Trajectory

DEMO = ROOT / "config" / "demo" / "cell.yaml"
UR10 = ROOT / "config" / "ur10" / "cell.yaml"
AWAY = FrameTarget(pose=Pose((4.0, 0.0, 0.0)), mode=TargetMode.TOOL)


@pytest.fixture(scope="module")
def demo():
    return loaded()


def motion(**options):
    return MotionRequest(Goals(joint_goals=({"shoulder_pan_joint": 0.9},)), options=PlanningOptions(**options))


def above(cell, state):
    return FrameTarget(pose=world_pose(cell, state, "above_pick"), mode=TargetMode.TOOL)


def steps(cell, state):
    return MultistepRequest(
        (MotionStep(Goals(targets=(above(cell, state),))), MotionStep(Goals(named_states=("home",))))
    )


def line(cell, state, height):
    x, y, z = world_pose(cell, state, "gripper/tcp").position
    quaternion = world_pose(cell, state, "gripper/tcp").quaternion
    poses = (Pose((x, y, z + height), quaternion),)
    return CartesianRequest(FrameWaypoints(poses, mode=TargetMode.TOOL))


def answered(function, cell, state, request):
    try:
        return function(cell, state, request)
    except RobotCellError as error:
        return error


def through_the_table(cell, state):
    """A trajectory that exceeds velocity limits and collides."""
    rows = np.array([list(state.configuration.values())[:6]] * 2)
    rows[1, 1] += 3.0
    names = tuple(state.configuration)[:6]
    return ValidationRequest(Trajectory(names, np.array([0.0, 0.1]), rows, np.zeros((2, 6)), np.zeros((2, 6))))


def executed(cell, state, error):
    """A motion whose tracking error reaches `error` [rad] after half of its duration."""
    trajectory = plan_motion(cell, state, motion()).trajectory
    names, one = trajectory.variables, np.ones(len(trajectory.variables))
    times = np.linspace(0.0, 0.5 * trajectory.duration, 20)
    commands, speeds = trajectory.at(times), trajectory.at(times, 1)
    measured = commands - error * np.linspace(0.0, 1.0, 20)[:, None]
    rows = [
        TrackingRow(Check.PATH, time, time, 0.0, command, speed, actual, np.nan * one)
        for time, command, speed, actual in zip(times.tolist(), commands, speeds, measured, strict=True)
    ]
    tolerances = Tolerances(0.01, 0.1 * one, np.inf * one, 0.01 * one, 0.1 * one, 2.0)
    return supervised(trajectory, names, tolerances, rows, silence=0.2, lost_after=0.5)


def in_scene(function):
    return lambda cell, state, request: function(Scene(cell, state), request)


CASES = {
    "motion": lambda cell, state: (plan_motion, motion(seed=3)),
    "search exhausted": lambda cell, state: (plan_motion, MotionRequest(Goals(targets=(AWAY,)))),
    "line": lambda cell, state: (plan_cartesian, line(cell, state, 0.05)),
    "line that ends": lambda cell, state: (plan_cartesian, line(cell, state, 3.0)),
    "steps": lambda cell, state: (plan_multistep, steps(cell, state)),
    "invalid trajectory": lambda cell, state: (in_scene(validated), through_the_table(cell, state)),
    "collision ahead": lambda cell, state: (
        in_scene(look_ahead),
        LookAheadRequest(through_the_table(cell, state).trajectory),
    ),
    "off the path": lambda cell, state: (lambda _, __, request: supervise(request), executed(cell, state, 0.3)),
    "on the path": lambda cell, state: (lambda _, __, request: supervise(request), executed(cell, state, 0.05)),
}


@pytest.mark.parametrize("kind", CASES)
def test_a_case_is_reproduced(demo, tmp_path, kind):
    cell, state = demo
    function, request = CASES[kind](cell, state)
    answer = answered(function, cell, state, request)
    file = save_case(tmp_path / "new" / "a.case", cell, state, request, answer)
    assert file.stat().st_mode & 0o077 == 0
    with open_case(file) as case:
        assert case.cell.digest() == cell.digest()
        assert case.state == state
        found = reproduce(case)
    assert found.same, str(found)
    assert found.difference is None
    assert not found.versions
    assert isinstance(found.result, RobotCellError) == isinstance(answer, RobotCellError)


def test_a_case_contains_its_meshes_and_no_path_of_this_machine(tmp_path):
    cell, state = loaded("ur10")
    request = MotionRequest(Goals(joint_goals=({cell.group().variables[0]: 0.3},)), timing=None)
    plan = plan_motion(cell, state, request)
    file = save_case(tmp_path / "a.case", cell, state, request, plan)
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        texts = b"".join(archive.read(name) for name in names if name.endswith(".json"))
    assert any(name.startswith("meshes/") for name in names)
    assert str(ROOT).encode() not in texts
    assert b"package://" not in texts
    # As on another machine: in a process that finds no ROS package.
    code = (
        "import sys; from robot_cell_planner.cases import *\nwith open_case(sys.argv[1]) as c: print(reproduce(c).same)"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AMENT", "ROS", "COLCON"))}
    command = [sys.executable, "-c", code, str(file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout == "True\n", done.stderr


def test_equal_cases_have_equal_bytes(demo, tmp_path):
    cell, state = demo
    for name in "ab":
        save_case(tmp_path / name, cell, state, motion(), plan_motion(cell, state, motion()))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_different_result_is_reported_with_its_location(demo, tmp_path):
    cell, state = demo
    plan = plan_motion(cell, state, motion(seed=1))
    file = save_case(tmp_path / "a.case", cell, state, motion(seed=2), plan)
    with open_case(file) as case:
        found = reproduce(case)
    assert not found.same
    assert found.difference == ("plans[0].seed", "1", "2")
    assert "the answer differs: plans[0].seed was 1, is 2" in str(found)


def test_unsupported_requests_and_occupied_folders_are_refused(demo, tmp_path):
    cell, state = demo
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises(FileError, match="Not a directory"):
        save_case(blocked / "a.case", cell, state, motion(), PlanningError("none"))
    with pytest.raises(InvalidRequestError, match="request is a Goals"):
        save_case(tmp_path / "a.case", cell, state, Goals(targets=(AWAY,)), PlanningError("none"))
    assert list(tmp_path.iterdir()) == [blocked]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A case with meshes, as names and contents."""
    cell, state = loaded("ur10")
    request = MotionRequest(Goals(named_states=("nowhere",)), timing=None)
    file = save_case(tmp_path_factory.mktemp("case") / "a.case", cell, state, request, PlanningError("none"))
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(content, **changes):
    return json.dumps({**json.loads(content), **changes}).encode()


def a_mesh(whole):
    return next(name for name in whole if name.startswith("meshes/"))


DAMAGES = {
    "another format": lambda whole: {**whole, "case.json": rewritten(whole["case.json"], format="zip/2")},
    "another method": lambda whole: {**whole, "case.json": rewritten(whole["case.json"], method="os.system")},
    "another request": lambda whole: {**whole, "case.json": rewritten(whole["case.json"], request={"goals": 3})},
    "no answer": lambda whole: {**whole, "case.json": rewritten(whole["case.json"], answer=None)},
    "another cell": lambda whole: {**whole, "case.json": rewritten(whole["case.json"], cell_digest="0")},
    "no JSON": lambda whole: {**whole, "cell.json": b"{"},
    "deep JSON": lambda whole: {**whole, "cell.json": b"[" * 100_000},
    "no state": lambda whole: {name: data for name, data in whole.items() if name != "state.json"},
    "no mesh": lambda whole: {name: data for name, data in whole.items() if name != a_mesh(whole)},
    "a changed mesh": lambda whole: {**whole, a_mesh(whole): b"solid"},
    "a path": lambda whole: {**whole, "cell.json": whole["cell.json"].replace(a_mesh(whole).encode(), b"/etc/passwd")},
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_case_is_refused(whole, tmp_path, damage):
    file = tmp_path / "a.case"
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in DAMAGES[damage](whole).items():
            archive.writestr(name, data)
    with pytest.raises(RobotCellError), open_case(file):
        pass


@pytest.mark.parametrize("cut", [0, 10, 1000, -10])
def test_files_that_are_not_archives_are_refused(whole, tmp_path, cut):
    file = tmp_path / "a.case"
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in whole.items():
            archive.writestr(name, data)
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(FileError, match="no case file that can be read"), open_case(file):
        pass


def test_damaged_compression_is_refused(whole, tmp_path):
    file = tmp_path / "a.case"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in whole.items():
            archive.writestr(name, data)
    data = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as archive:
        start = archive.getinfo("case.json").header_offset + len("case.json") + 30
    data[start : start + 20] = b"\xff" * 20
    file.write_bytes(data)
    with pytest.raises(FileError, match="no case file that can be read"), open_case(file):
        pass


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(whole, tmp_path, compression):
    file = tmp_path / "a.case"
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in whole.items():
            archive.writestr(name, data, compression if name == "case.json" else zipfile.ZIP_STORED)
    with pytest.raises(FileError, match="neither stored nor deflated"), open_case(file):
        pass


def test_nothing_is_written_outside_of_the_folder(whole, tmp_path):
    file = tmp_path / "a.case"
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in {**whole, "../evil": b"x", "meshes/../../evil": b"x", "/tmp/evil_case": b"x"}.items():
            archive.writestr(name, data)
    with open_case(file):
        assert not list(tmp_path.glob("**/evil*"))


def test_an_archive_that_grows_is_refused(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(case_file, "MAX_BYTES", 10_000_000)
    file = tmp_path / "a.case"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("case.json", b" " * 20_000_000)
    with pytest.raises(LimitExceededError, match="20000000 bytes"), open_case(file):
        pass


def test_the_commands_write_and_reproduce_cases(tmp_path, capsys):
    def run(*words):
        status = main(list(words))
        return status, "".join(capsys.readouterr())

    def run_elsewhere(*words):
        done = subprocess.run(["robot_cell", *words], capture_output=True, text=True, check=False, cwd=ROOT)
        return done.returncode, done.stdout + done.stderr

    file, page = tmp_path / "a.case", tmp_path / "a.html"
    assert run("plan", str(DEMO), "--joint", "elbow_joint=1.2", "--case", str(file))[0] == 0
    status, text = run_elsewhere("reproduce", str(file), "--view", str(page))
    assert status == 0, text
    assert "the same answer" in text
    assert page.stat().st_size > 10_000
    status, text = run("plan", str(DEMO), "--pose", "4,0,0", "--case", str(file))
    assert status == 1
    status, text = run("reproduce", str(file))
    assert status == 0, text
    assert "MPNoIKSolutionError" in text


def test_the_commands_show_a_motion_that_failed(demo, tmp_path, capsys):
    cell, state = demo
    motion, file, page = executed(cell, state, 0.3), tmp_path / "a.case", tmp_path / "a.html"
    save_case(file, cell, state, motion, answered(lambda _, __, motion: supervise(motion), cell, state, motion))
    assert main(["reproduce", str(file)]) == 0
    text = capsys.readouterr().out
    assert "TrackingError: path tolerance: path tolerance violated" in text
    assert "supervision of 20 recorded measurements" in text
    assert main(["view", str(file), "--output", str(page)]) == 0
    content = page.read_text()
    assert "path tolerance violated" in content
    assert "measured" in content
    other = executed(cell, state, 0.31)
    save_case(file, cell, state, other, answered(lambda _, __, motion: supervise(motion), cell, state, motion))
    assert main(["reproduce", str(file)]) == 1
    assert "answer differs: error.message" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["invalid trajectory", "collision ahead"])
def test_the_command_prints_the_violations_of_a_trajectory(demo, tmp_path, capsys, kind):
    cell, state = demo
    function, request = CASES[kind](cell, state)
    report = answered(function, cell, state, request)
    first = report.violations[0] if report.violations else report.collisions[0]
    assert main(["reproduce", str(save_case(tmp_path / "a.case", cell, state, request, report))]) == 0
    text = str(first) if report.violations else f"{first.first} and {first.second} collide at {first.time:.3f} s"
    assert f"not valid: {text}" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["search exhausted", "steps", "invalid trajectory", "collision ahead", "on the path"])
def test_a_page_shows_every_kind_of_case(demo, tmp_path, kind):
    cell, state = demo
    function, request = CASES[kind](cell, state)
    file = save_case(tmp_path / "a.case", cell, state, request, answered(function, cell, state, request))
    assert main(["view", str(file), "--output", str(tmp_path / "a.html")]) == 0
    assert (tmp_path / "a.html").stat().st_size > 10_000
