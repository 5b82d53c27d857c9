"""Requests with long trajectories are sent by functions of rcl that release the interpreter, with the
contents and the errors of rclpy's own functions."""

import time

import numpy as np
import pytest
import rclpy
from rclpy.impl.implementation_singleton import rclpy_implementation
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_cell_planner import srv
from robot_cell_planner.nodes.common import unlocked_requests
from robot_cell_planner.nodes.common.callback_guard import GuardedExecutor
from robot_cell_planner.nodes.common.node import CellNode
from robot_cell_planner.nodes.common.unlocked_requests import call_async
from robot_cell_planner.nodes.conversions.point_blocks import PointBlocks
from robot_cell_planner.nodes.conversions.trajectories import long_trajectory_to_message, trajectory_to_message
from robot_cell_planner.trajectory.trajectory import Trajectory

NAMES = ("shoulder", "elbow")
COUNT = 2000


@pytest.fixture
def node(domain):
    rclpy.init()
    node = CellNode("requests", sole=False)
    yield node
    node.destroy_node()
    rclpy.shutdown()


@pytest.fixture
def executor(node):
    executor = GuardedExecutor(node.faults)
    executor.add_node(node)
    yield executor
    executor.shutdown()


def spin_until(executor, done):
    until = time.monotonic() + 60.0
    while not done():
        assert time.monotonic() < until
        executor.spin_once(timeout_sec=0.2)


def long_trajectory(velocities=True, accelerations=True):
    random = np.random.default_rng(1)
    rows = random.normal(size=(3, COUNT, len(NAMES)))
    times = np.cumsum(random.uniform(0.001, 0.1, COUNT))
    return Trajectory(NAMES, times, rows[0], rows[1] if velocities else None, rows[2] if accelerations else None)


@pytest.mark.parametrize("kinds", [(True, True), (True, False), (False, False)])
def test_the_message_of_a_long_trajectory_is_that_of_any(kinds):
    trajectory = long_trajectory(*kinds)
    found, expected = long_trajectory_to_message(trajectory), trajectory_to_message(trajectory)
    assert isinstance(found.points, PointBlocks)
    assert list(found.points) == expected.points
    assert (found.header, found.joint_names) == (expected.header, expected.joint_names)


def refuse(*_):
    raise AssertionError("the interpreter is held while this function runs")


@pytest.mark.parametrize("kinds", [(True, True), (True, False), (False, False)])
def test_a_long_request_is_sent_whole_again_and_again_while_other_threads_run(node, executor, monkeypatch, kinds):
    received = []

    async def answer(request, response):
        received.append(request)
        response.state.revision = len(received)

    node.serve(srv.ValidateTrajectory, "validate", answer)
    client = node.service_client(srv.ValidateTrajectory, "validate")
    spin_until(executor, client.service_is_ready)
    trajectory = long_trajectory(*kinds)
    message = long_trajectory_to_message(trajectory)
    request = srv.ValidateTrajectory.Request(trajectory=message, start_tolerance=0.25)
    request.state.configuration.joint_names = list(NAMES)
    monkeypatch.setattr(rclpy_implementation.Client, "send_request", refuse)
    for number in range(1, 6):
        sent = call_async(client, request)
        assert request.trajectory is message
        assert isinstance(message.points, PointBlocks)
        spin_until(executor, sent.done)
        assert sent.result().state.revision == number
    spin_until(executor, lambda: not client._pending_requests)
    for each in received:
        assert list(each.trajectory.points) == trajectory_to_message(trajectory).points
        assert (each.trajectory.joint_names, each.start_tolerance) == (list(NAMES), 0.25)
        assert each.state == request.state


def test_a_request_that_is_not_sent_is_an_error_and_leaves_nothing(node, monkeypatch):
    client = node.service_client(srv.ValidateTrajectory, "validate")
    request = srv.ValidateTrajectory.Request(trajectory=long_trajectory_to_message(long_trajectory()))
    monkeypatch.setattr(unlocked_requests, "_call", lambda *_: False)
    with pytest.raises(RuntimeError, match="validate was not sent"):
        call_async(client, request)
    assert client._pending_requests == {}
    assert list(request.trajectory.points) == trajectory_to_message(long_trajectory()).points


def test_short_requests_are_sent_by_rclpy(node, executor):
    client = node.service_client(srv.ValidateTrajectory, "validate")
    message = JointTrajectory(points=[JointTrajectoryPoint()])
    sent = call_async(client, srv.ValidateTrajectory.Request(trajectory=message))
    assert list(client._pending_requests.values()) == [sent]
    client.remove_pending_request(sent)
