"""Output and exit status of the commands `execute` and `bench` for a cell file."""

import io
import json
import re
import threading
from pathlib import Path

import numpy as np
import pytest

from robot_cell_planner import Goals, MotionRequest, OfflineCell, Trajectory, measure_speed, plan_motion
from robot_cell_planner.commands.main import main
from robot_cell_planner.commands.progress import Elapsed, Progress, Stages
from robot_cell_planner.errors import InvalidRequestError, InvalidValueError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.planning.problem.plan_file import plan_to_json
from robot_cell_planner.planning.problem.progress import Progress as Stage
from robot_cell_planner.system.physics import has_physics

DEMO = Path(__file__).parents[3] / "config" / "demo" / "cell.yaml"
TWO_ARMS = DEMO.parents[1] / "two_arms" / "cell.yaml"
TURN, MORE = {"shoulder_pan_joint": 0.3}, {"shoulder_pan_joint": 0.5}


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    """Files of two plans, of which the second begins where the first ends, and of a path without timing."""
    folder = tmp_path_factory.mktemp("plans")
    cell, state = load_cell(DEMO)
    first = plan_motion(cell, state, MotionRequest(Goals((TURN,))))
    after = state.with_configuration(first.end_configuration())
    second = plan_motion(cell, after, MotionRequest(Goals((MORE,))))
    path = plan_motion(cell, state, MotionRequest(Goals((TURN,)), timing=None))
    files = {"first": first, "second": second, "path": path}
    for name, plan in files.items():
        (folder / name).write_bytes(plan_to_json(plan))
    return {name: str(folder / name) for name in files}


def answer(capsys, *words, status=0):
    assert main([*words, "--json"]) == status
    return json.loads(capsys.readouterr().out)


@pytest.mark.skipif(not has_physics(), reason="the simulation needs PyBullet, which is not installed")
def test_plans_are_executed_one_after_the_other(plans, tmp_path, capsys):
    page = tmp_path / "replay.html"
    files = [plans["first"], plans["second"]]
    entries = answer(capsys, "execute", str(DEMO), *files, "--view", str(page))["executed"]
    assert [entry["plan"] for entry in entries] == files
    assert all(0.0 < entry["goal_error"] < entry["max_tracking_error"] < 0.05 for entry in entries)
    assert all(Path(file).name in page.read_text() for file in files)


@pytest.mark.skipif(not has_physics(), reason="the simulation needs PyBullet, which is not installed")
def test_figures_of_an_executed_plan_have_units(plans, capsys):
    assert main(["execute", str(DEMO), plans["first"]]) == 0
    form = r"executed .*first: duration [\d.e-]+ s, max tracking error [\d.e-]+ rad, goal error [\d.e-]+ rad\n"
    assert re.fullmatch(form, capsys.readouterr().out)


@pytest.mark.skipif(not has_physics(), reason="the simulation needs PyBullet, which is not installed")
def test_a_plan_for_another_state_is_not_executed(plans, capsys):
    error = answer(capsys, "execute", str(DEMO), plans["second"], status=1)["error"]
    assert "start state" in error["message"]
    error = answer(capsys, "execute", str(DEMO), plans["first"], plans["first"], status=1)["error"]
    assert "start state" in error["message"]


@pytest.mark.skipif(not has_physics(), reason="the simulation needs PyBullet, which is not installed")
def test_the_error_of_a_plan_is_also_reported_if_a_page_is_written(plans, tmp_path, capsys):
    page = tmp_path / "page.html"
    error = answer(capsys, "execute", str(DEMO), plans["second"], "--view", str(page), status=1)["error"]
    assert "start state" in error["message"]
    assert page.exists()


def test_a_wrong_command_line_of_execute_is_reported(plans, capsys):
    assert answer(capsys, "execute", str(DEMO), plans["path"], status=1)["error"]["name"] == "InvalidRequestError"
    assert main(["execute", str(DEMO)]) == 2
    assert main(["execute", str(DEMO), plans["first"], "--speed", "0.5"]) == 2
    text = capsys.readouterr().err
    assert "--speed is for the running nodes" in text
    assert "plan a slower motion with `plan --speed`" in text
    assert main(["execute", "@running", plans["first"], "--from", "home"]) == 2
    assert "the nodes have a scene of their own" in capsys.readouterr().err


@pytest.fixture(scope="module")
def among(tmp_path_factory):
    """A plan that was made among another robot that moves, and its file."""
    cell, state = load_cell(TWO_ARMS)
    names = cell.group("left/manipulator").variables
    here = np.array([[state.configuration[name] for name in names]])
    moving = Trajectory(names, np.array([0.0, 1.0]), np.vstack((here, here + 0.1)))
    request = MotionRequest(Goals(named_states=("up",)), "right/manipulator", moving=(moving,))
    plan = plan_motion(cell, state, request)
    file = tmp_path_factory.mktemp("among") / "among.json"
    file.write_bytes(plan_to_json(plan))
    return plan, str(file)


@pytest.mark.parametrize("cell", [str(TWO_ARMS), "@running"])
def test_a_plan_among_moving_robots_is_executed_nowhere_alone(among, plans, capsys, cell):
    """Neither in the simulation nor by the nodes, and nothing moves before it is refused."""
    plan, file = among
    error = answer(capsys, "execute", cell, plans["first"], file, status=1)["error"]
    assert error["name"] == "InvalidRequestError"
    assert f"{file} is valid only together with the motions of other robots" in error["message"]
    assert "nodes" not in error["message"]
    assert error["subjects"] == list(plan.moving[0].variables)
    assert "--group" in error["remedy"]


def test_an_offline_cell_does_not_execute_a_plan_among_moving_robots(among):
    with OfflineCell(*load_cell(TWO_ARMS)) as cell:
        with pytest.raises(InvalidRequestError, match="valid only together"):
            cell.follow("motion", among[0])
        assert not cell.motions


def test_bench_reports_figures_of_a_cell(capsys):
    found = answer(capsys, "bench", str(DEMO), "--motions", "2", "--seed", "3")
    figures = {figure["operation"]: figure for figure in found["figures"]}
    assert list(figures) == ["forward kinematics", "inverse kinematics", "collision check", "planned motion"]
    assert all(0.0 < figure["median"] <= figure["p95"] for figure in figures.values())
    assert figures["inverse kinematics"]["succeeded"] == figures["inverse kinematics"]["calls"]
    assert figures["planned motion"]["calls"] == 2
    assert figures["collision check"]["median"] < figures["planned motion"]["median"]


def test_a_cell_in_which_everything_collides_cannot_be_measured():
    with pytest.raises(InvalidValueError, match="motions is 0"):
        measure_speed(*load_cell(DEMO), motions=0)
    with OfflineCell.load(DEMO) as cell:
        cell.add_box("around everything", (9.0, 9.0, 9.0))
        with pytest.raises(InvalidValueError, match="0 are free of collisions"):
            measure_speed(cell.cell, cell.state, motions=1)


def test_progress_is_a_few_lines_where_the_stream_is_no_terminal(capsys):
    progress = Progress()
    for fraction in np.linspace(0.0, 1.0, 1001):
        progress("motion", fraction)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 11
    assert lines[0].split() == ["0%", "motion"]
    assert lines[-1].split() == ["100%", "motion"]


def test_stages_of_a_request_are_shown_after_a_second(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("robot_cell_planner.commands.progress.time.monotonic", lambda: now[0])
    with Stages() as stages:
        for seconds, stage in ((0.0, "start"), (0.9, "goals"), (1.1, "search"), (1.2, "search"), (9.0, "verify")):
            now[0] = seconds
            stages(Stage(stage))
    captured = capsys.readouterr()
    assert captured.err.splitlines() == ["stage: search", "stage: verify"]
    assert captured.out == ""


class Terminal(io.StringIO):
    """A stream that reports to be a terminal."""

    def isatty(self):
        return True


def test_long_computations_are_shown_on_a_terminal_and_cleared(monkeypatch):
    terminal, shown = Terminal(), threading.Event()
    monkeypatch.setattr("robot_cell_planner.commands.progress.sys.stderr", terminal)
    monkeypatch.setattr("robot_cell_planner.commands.progress.SILENT", 0.001)
    with Elapsed("drafting"):
        while not re.search(r"drafting: ([3-9]|\d\d+) s", terminal.getvalue()):
            shown.wait(0.001)
    assert terminal.getvalue().rpartition("\r")[2] == ""
    assert terminal.getvalue().split("\r")[-2].strip() == ""


def test_long_computations_are_shown_on_terminals_only():
    before = threading.active_count()
    with Elapsed("drafting"):
        assert threading.active_count() == before
