"""Workers that are killed during a check: it is repeated once, so that no motion ends, or is refused, for that."""

import numpy as np
import pytest
from loaded_cells import loaded
from running import DEMO

from robot_cell_planner import srv
from robot_cell_planner.errors import WorkerCrashedError
from robot_cell_planner.nodes.conversions.trajectories import trajectory_to_message
from robot_cell_planner.trajectory.trajectory import Trajectory

CELL, STATE = loaded()
JOINTS = CELL.group().variables
HOME = np.array([STATE.configuration[name] for name in JOINTS])
CHECKS = ((srv.LookAhead, "planning/look_ahead"), (srv.ValidateTrajectory, "planning/validate_trajectory"))
# Which attempts of each check end by a killed worker: that of the first request, and both of the second.
KILLED = """
import os, signal
from robot_cell_planner.planning.workers import handle, tasks
killed = {task: [True, False, True, True, False] for task in (tasks.LOOK_AHEAD, tasks.VALIDATE)}
send = handle.Worker._send
def killing(self, task, *arguments):
    if not (killed.get(task) and killed[task].pop(0)):
        return send(self, task, *arguments)
    os.kill(self.process.pid, signal.SIGSTOP)
    try:
        return send(self, task, *arguments)
    finally:
        os.kill(self.process.pid, signal.SIGKILL)
handle.Worker._send = killing
"""


@pytest.fixture(scope="module")
def planning_node(start_node, client):
    start_node("scene_node", cell_file=DEMO)
    node = start_node("planning_node", before=KILLED)
    node.wait_for("ready: sphere models and 4 workers are prepared")
    client.scene()
    return node


def swing(amplitude):
    """A slow motion of all joints and back, from rest to rest."""
    times = np.linspace(0.0, 4.0, 41)
    rows = HOME - amplitude * np.sin(0.25 * np.pi * times)[:, None] ** 2
    return trajectory_to_message(Trajectory(JOINTS, times, rows))


@pytest.mark.parametrize(("kind", "name"), CHECKS)
def test_a_check_is_repeated_once(planning_node, client, kind, name):
    def check(amplitude):
        return client.call_service(kind, name, kind.Request(trajectory=swing(amplitude)), timeout=120.0)

    assert check(0.01).report.valid
    task = name.rpartition("/")[2]
    assert planning_node.wait_for(f"the worker that ran {task} ended with status -9: it was killed by SIGKILL")
    with pytest.raises(WorkerCrashedError, match="killed by SIGKILL"):
        check(0.02)
    assert check(0.03).report.valid
