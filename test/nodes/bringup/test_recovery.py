"""The supervisor restarts a killed node, which continues from its previous state. Tested with nodes and a client."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from running import DEMO

from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.msg import SceneChange
from robot_cell_planner.nodes.client.client import CellClient, make_goal

PARAMETERS = DEMO.parents[1] / "parameters.yaml"


class Cell:
    """The supervisor with some nodes, and its output."""

    def __init__(self, *arguments):
        command = ["robot_cell", "--cell", str(DEMO), "--only", "scene", "planning", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.lines = []
        self._printed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stderr:
            with self._printed:
                self.lines.append(line)
                self._printed.notify_all()

    def wait_for(self, text, count=1):
        with self._printed:
            assert self._printed.wait_for(lambda: sum(text in line for line in self.lines) >= count, 120), self.lines

    def node(self, name):
        """The process of a node."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                    if parent == self.process.pid and f"{name}_node" in (entry / "cmdline").read_text():
                        return int(entry.name)
                except (OSError, IndexError):
                    continue
        raise AssertionError(f"{name} does not run")

    def kill(self, name):
        os.kill(self.node(name), signal.SIGKILL)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)


@pytest.fixture(scope="module")
def cell(domain):
    cell = Cell()
    yield cell
    if cell.process.poll() is None:
        cell.end()


@pytest.fixture
def client(domain):
    with CellClient("test_recovery", discovery_timeout=120.0) as client:
        yield client


def plan(client):
    """A plan, requested until the node is available."""
    for _ in range(20):
        try:
            return client.plan_motion(make_goal([{"shoulder_pan_joint": 0.3}]))
        except RobotCellError as error:
            last = error
    raise last


def test_a_killed_scene_node_restores_every_change(cell, client):
    change = SceneChange(operation=SceneChange.HIDE, name="workpiece")
    revision = client.apply(change)
    cell.kill("scene")
    cell.wait_for("scene ended with signal SIGKILL; restarting it")
    scene, after = client.scene()
    assert after == revision
    assert scene.state.bodies["workpiece"].hidden
    change.operation = SceneChange.SHOW
    assert client.apply(change) == revision + 1


def test_a_killed_planning_node_is_restarted_and_plans(cell, client):
    assert plan(client).trajectory.points
    cell.kill("planning")
    cell.wait_for("planning ended with signal SIGKILL; restarting it")
    assert plan(client).trajectory.points


def test_the_parameters_may_name_another_journal(tmp_path, domain):
    named = tmp_path / "own.journal"
    parameters = tmp_path / "parameters.yaml"
    text = PARAMETERS.read_text().replace("    tf_rate:", f"    journal_file: {named}\n    tf_rate:")
    parameters.write_text(text)
    # In another namespace than the cell of the other tests.
    command = ["robot_cell", "--cell", str(DEMO), "--only", "scene", "--params", str(parameters), "--namespace", "two"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with CellClient("test_journal", namespace="two", discovery_timeout=120.0) as client:
            client.apply(SceneChange(operation=SceneChange.HIDE, name="workpiece"))
        assert named.stat().st_size > 0
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def test_a_node_without_its_physics_is_restarted_also_soon_after_its_first_start(domain):
    robot = Cell("--only", "simulated_robot")
    try:
        robot.wait_for("is simulated")
        pid = robot.node("simulated_robot")
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        robot.wait_for("simulated_robot ended with exit status 4; restarting it")
        robot.wait_for("is simulated", count=2)
    finally:
        robot.end()
    assert robot.process.returncode == 0
