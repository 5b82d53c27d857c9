"""Requests with long trajectories are sent by functions of rcl that release the interpreter, with the
contents and the errors of rclpy's own functions."""

import ctypes
import os
import threading
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from rclpy.action import ActionServer
from rclpy.exceptions import InvalidHandle
from rclpy.impl.implementation_singleton import rclpy_implementation
from spinning import spin_until
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_cell_planner import action, srv
from robot_cell_planner.nodes.common import large_trajectories, unlocked_requests
from robot_cell_planner.nodes.common.unlocked_requests import (
    RequestId,
    call_async,
    send_goal_response,
    take_goal_request,
)
from robot_cell_planner.nodes.conversions.point_blocks import PointBlocks
from robot_cell_planner.nodes.conversions.trajectories import long_trajectory_to_message, trajectory_to_message
from robot_cell_planner.trajectory.trajectory import Trajectory

NAMES = ("shoulder", "elbow")
COUNT = 2000


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


def long_request():
    return srv.ValidateTrajectory.Request(trajectory=long_trajectory_to_message(long_trajectory()))


def test_a_destroyed_client_is_an_error(node):
    client, request = node.service_client(srv.ValidateTrajectory, "validate"), long_request()
    node.destroy_client(client)
    with pytest.raises(InvalidHandle):
        call_async(client, request)
    assert client._pending_requests == {}
    assert list(request.trajectory.points) == trajectory_to_message(long_trajectory()).points


def test_a_destroyed_action_server_is_an_error(node):
    kind = action.ExecuteTrajectory.Impl.SendGoalService
    server = ActionServer(node, action.ExecuteTrajectory, "execute", lambda handle: None)
    handle = server._handle
    assert take_goal_request(handle, kind.Request) is None
    server.destroy()
    with pytest.raises(InvalidHandle):
        take_goal_request(handle, kind.Request)
    with pytest.raises(InvalidHandle):
        send_goal_response(handle, RequestId(), kind.Response())


def test_a_response_to_nobody_is_no_crash(node):
    """Middlewares send it, or report that the client is unknown."""
    server = ActionServer(node, action.ExecuteTrajectory, "execute", lambda handle: None)
    with suppress(RuntimeError):
        send_goal_response(server._handle, RequestId(), action.ExecuteTrajectory.Impl.SendGoalService.Response())
    server.destroy()


def test_a_client_that_is_destroyed_and_a_context_that_ends_while_requests_are_sent(node):
    """The thread that sends ends by an error, at the latest with its next request."""
    client, request = node.service_client(srv.ValidateTrajectory, "validate"), long_request()
    sent, ends = threading.Semaphore(0), []

    def send():
        try:
            while True:
                client.remove_pending_request(call_async(client, request))
                sent.release()
        except (InvalidHandle, RuntimeError) as error:
            ends.append(error)

    threads = [threading.Thread(target=send) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        assert sent.acquire(timeout=60.0)
    rclpy.shutdown()
    node.destroy_client(client)
    for thread in threads:
        thread.join(timeout=60.0)
        assert not thread.is_alive()
    assert len(ends) == len(threads)
    rclpy.init()


def test_a_request_of_another_service_is_refused_as_by_rclpy(node):
    """Its memory would be read as that of the other type."""
    client = node.service_client(srv.SetSpeedScale, "scale")
    with pytest.raises(TypeError):
        call_async(client, long_request())


@pytest.mark.parametrize("missing", ["_lock", "_pending_requests", "pointer"])
def test_requests_are_sent_by_a_rclpy_that_registers_them_otherwise(node, missing):
    """Private attributes of other releases."""
    fields = {"_lock": None, "_pending_requests": {}, "handle": SimpleNamespace(pointer=1)}
    fields |= {"handle": SimpleNamespace()} if missing == "pointer" else {}
    fields.pop(missing, None)
    client = SimpleNamespace(srv_type=srv.ValidateTrajectory, call_async=lambda request: request, **fields)
    request = long_request()
    assert call_async(client, request) is request


def test_a_message_that_is_not_converted_is_an_error(node, monkeypatch):
    """It would be sent with empty fields."""
    client, request = node.service_client(srv.ValidateTrajectory, "validate"), long_request()
    call_async(client, request)
    client._pending_requests.clear()
    monkeypatch.setattr(large_trajectories, "FILLING", lambda function: lambda message, address: False)
    with pytest.raises(TypeError, match="could not be converted"):
        call_async(client, request)
    assert client._pending_requests == {}


def test_a_header_has_room_for_that_of_each_release():
    longest = 24 + 8  # an identifier of 24 bytes and a number
    assert ctypes.sizeof(RequestId) >= longest


LINE = "7f0000000000-7f0000001000 r-xp 00000000 08:01 123                        {}\n"


@pytest.mark.parametrize(
    "paths",
    [
        [],
        ["/opt/my ros/lib/librcl.so"],  # not loaded by this process
        ["/opt/ros/lib/librcl.so (deleted)"],
        ["/opt/ros/lib/librcl.so", "/opt/other/lib/librcl.so"],
        ["/opt/ros/lib/librcl_action.so", "/opt/ros/lib/librcl_yaml_param_parser.so", "/opt/ros/librcl.so.d/text"],
    ],
)
def test_a_library_that_rclpy_does_not_use_is_not_loaded(monkeypatch, tmp_path, paths):
    maps = tmp_path / "maps"
    maps.write_text("7f00-7f01 rw-p 00000000 00:00 0 \n" + "".join(map(LINE.format, paths)), encoding="utf-8")
    monkeypatch.setattr(unlocked_requests, "MAPS", maps)
    assert unlocked_requests._library.__wrapped__("rcl") is None


def test_a_library_below_a_folder_with_a_space_is_found(monkeypatch, tmp_path, node):
    """Loaded under the other name, it is the same file."""
    (found,) = {
        line.split(maxsplit=5)[5] for line in unlocked_requests.MAPS.read_text().splitlines() if "/librcl.so" in line
    }
    place = tmp_path / "my ros" / "librcl.so"
    place.parent.mkdir()
    place.symlink_to(found)
    maps = tmp_path / "maps"
    maps.write_text(LINE.format(place), encoding="utf-8")
    monkeypatch.setattr(unlocked_requests, "MAPS", maps)
    assert unlocked_requests._library.__wrapped__("rcl")._handle == ctypes.CDLL(found, mode=os.RTLD_NOLOAD)._handle


def test_a_library_without_a_function_is_not_used(monkeypatch, node):
    monkeypatch.setitem(unlocked_requests.FUNCTIONS, "rcl", ("rcl_send_request", "rcl_of_another_release"))
    assert unlocked_requests._library.__wrapped__("rcl") is None
