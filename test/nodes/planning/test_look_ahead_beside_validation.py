"""The path ahead of a running motion is checked while a long trajectory of another client is validated."""

import threading

import numpy as np
import pytest
from loaded_cells import loaded
from running import DEMO

from robot_cell_planner import srv
from robot_cell_planner.nodes.conversions.trajectories import trajectory_to_message
from robot_cell_planner.trajectory.trajectory import Trajectory

CELL, STATE = loaded()
JOINTS = CELL.group().variables
HOME = np.array([STATE.configuration[name] for name in JOINTS])
RESOLUTION = 2e-5  # [rad] between checks, so that validation takes seconds


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client):
    start_node("scene_node", cell_file=DEMO)
    node = start_node("planning_node", resolution=RESOLUTION)
    node.wait_for("ready: sphere models and 4 workers are prepared")
    client.scene()


def swings(count, amplitude):
    """Slow motions of all joints and back, from rest to rest."""
    times = np.linspace(0.0, 4.0 * count, 40 * count + 1)
    rows = HOME - amplitude * np.sin(0.25 * np.pi * times)[:, None] ** 2
    return trajectory_to_message(Trajectory(JOINTS, times, rows))


def test_it_does_not_wait_for_the_validation_of_another_trajectory(client):
    ended, all_ended = [], threading.Event()

    def send(kind, name, trajectory):
        def note(future):
            ended.append((name, future.result()))
            if len(ended) == 2:
                all_ended.set()

        requests = client.node.create_client(kind, f"planning/{name}", callback_group=client._group)
        assert requests.wait_for_service(60.0)
        request = kind.Request(trajectory=trajectory)
        return requests.call_async(request).add_done_callback(note)

    send(srv.ValidateTrajectory, "validate_trajectory", swings(75, 0.05))
    send(srv.LookAhead, "look_ahead", swings(1, 1e-4))
    assert all_ended.wait(120.0)
    assert [name for name, _ in ended] == ["look_ahead", "validate_trajectory"]
    assert all(reply.report.valid for _, reply in ended), ended
