"""Validations that take seconds: the path ahead of the running motion of another client is checked meanwhile, and a
repeated one is computed once."""

import threading

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from loaded_cells import loaded
from running import DEMO, wait_for_message

from robot_cell_planner import srv
from robot_cell_planner.nodes.common.node import reliable
from robot_cell_planner.nodes.conversions.trajectories import trajectory_to_message
from robot_cell_planner.trajectory.trajectory import Trajectory

CELL, STATE = loaded()
JOINTS = CELL.group().variables
HOME = np.array([STATE.configuration[name] for name in JOINTS])
RESOLUTION = 2e-5  # [rad] between checks, so that validation takes seconds


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client):
    start_node("scene_node", cell_file=DEMO)
    node = start_node("planning_node", resolution=RESOLUTION, diagnostics_period=0.1)
    node.wait_for("ready: sphere models and 4 workers are prepared")
    client.scene()


def swings(count, amplitude):
    """Slow motions of all joints and back, from rest to rest."""
    times = np.linspace(0.0, 4.0 * count, 40 * count + 1)
    rows = HOME - amplitude * np.sin(0.25 * np.pi * times)[:, None] ** 2
    return trajectory_to_message(Trajectory(JOINTS, times, rows))


def test_a_look_ahead_does_not_wait_for_the_validation_of_another_trajectory(client):
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


def served(client):
    """Number of computations so far."""
    found = []

    def is_of_node(message):
        for status in message.status:
            values = {entry.key: entry.value for entry in status.values}
            if status.name == "planning" and "requests served" in values:
                found.append(int(values["requests served"]))
        return bool(found)

    wait_for_message(client, DiagnosticArray, "/diagnostics", reliable(10), is_of_node)
    return found[0]


def test_equal_requests_get_the_reply_of_one_computation(client):
    request = srv.ValidateTrajectory.Request(trajectory=swings(40, 0.05))
    requests = client.node.create_client(
        srv.ValidateTrajectory, "planning/validate_trajectory", callback_group=client._group
    )
    assert requests.wait_for_service(60.0)
    before, replies, all_replied = served(client), [], threading.Event()

    def note(future):
        replies.append(future.result())
        if len(replies) == 2:
            all_replied.set()

    for _ in range(2):
        requests.call_async(request).add_done_callback(note)
    assert all_replied.wait(120.0)
    assert all(reply.report.valid for reply in replies)
    assert str(replies[0]) == str(replies[1])  # with distances that are not a number
    assert served(client) == before + 1
