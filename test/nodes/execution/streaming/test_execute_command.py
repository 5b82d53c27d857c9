"""`robot_cell execute @running`: plan files move the robot, and Ctrl-C brings it to rest on its path."""

import json
import signal
import subprocess

import numpy as np
import pytest
from fake_robot import swing
from streaming import ARM, here, on_line

from robot_cell_planner.nodes.conversions.trajectories import trajectory_from_message
from robot_cell_planner.planning.problem.plan import Plan
from robot_cell_planner.planning.problem.plan_file import plan_to_json

pytestmark = pytest.mark.alone


def write_plan(path, start, end, duration):
    trajectory = trajectory_from_message(swing(ARM, start, end, duration), "plan")
    path.write_bytes(
        plan_to_json(
            Plan(
                group="arm",
                variables=ARM,
                path=np.array([start, end]),
                planner="test",
                engine="coal",
                seed=0,
                version="test",
                cell_digest="",
                start_state_digest="",
                states_checked=0,
                motions_checked=0,
                path_length=float(np.linalg.norm(np.subtract(end, start))),
                tool_path_length=0.0,
                resolution=0.05,
                certified_fraction=1.0,
                goal=0,
                clearance=None,
                trajectory=trajectory,
            )
        )
    )
    return str(path)


def test_plan_files_are_executed_one_after_the_other(domain, robot, tmp_path):
    start, between, end = here(robot), [0.2, -0.1], [-0.3, 0.25]
    files = [
        write_plan(tmp_path / "first.json", start, between, 0.5),
        write_plan(tmp_path / "second.json", between, end, 0.5),
    ]
    done = subprocess.run(
        ["robot_cell", "execute", "@running", *files, "--json", "--speed", "0.5"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    entries = json.loads(done.stdout)["executed"]
    assert [entry["plan"] for entry in entries] == files
    assert all(entry["duration"] > 0.9 and entry["goal_error"] < 1e-9 for entry in entries)
    robot.wait_for_last_command()
    assert here(robot) == pytest.approx(end)
    assert "100%  " in done.stderr


def test_figures_are_printed_without_a_scene_node_that_knows_the_units(domain, robot, tmp_path):
    start = here(robot)
    file = write_plan(tmp_path / "plan.json", start, np.add(start, 0.1).tolist(), 0.5)
    done = subprocess.run(["robot_cell", "execute", "@running", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"executed {file}: duration 0.5")
    assert done.stdout.endswith(" rad or m\n")
    robot.wait_for_last_command()


def test_a_plan_that_begins_elsewhere_is_an_error_of_the_command(domain, robot, tmp_path):
    file = write_plan(tmp_path / "plan.json", np.add(here(robot), 0.5).tolist(), here(robot), 0.5)
    words = ["robot_cell", "execute", "@running", file, "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["name"] == "TrajectoryStartError"
    assert robot.taken() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_command_brings_the_robot_to_rest_on_its_path(number, domain, robot, tmp_path):
    start, end = here(robot), [1.5, 1.0]
    file = write_plan(tmp_path / "plan.json", start, end, 120.0)
    process = subprocess.Popen(["robot_cell", "execute", "@running", file], stderr=subprocess.PIPE, text=True)
    robot.wait_for(lambda command: command["shoulder"] > start[0] + 3e-4, timeout=120.0)
    process.send_signal(number)
    _, text = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "cancelled, the robot comes to rest on its path" in text
    robot.wait_for_rest(ARM)
    assert 0.0 < on_line(robot.all_taken(), start, end)[-1] < 0.99
