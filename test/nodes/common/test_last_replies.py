"""A reply that a server has sent just before its end counts, also if it arrives after the end was noticed."""

import math
import time
from types import SimpleNamespace

import pytest
import rclpy
from action_msgs.msg import GoalStatus
from rclpy.task import Future

from robot_cell_planner.nodes.client import waits
from robot_cell_planner.nodes.common.callback_guard import GuardedExecutor
from robot_cell_planner.nodes.common.cancellation import CancellationToken, outcome
from robot_cell_planner.nodes.common.node import CellNode

REPLY = SimpleNamespace(status=GoalStatus.STATUS_SUCCEEDED, accepted=True)


class EndedServer:
    """The monitor of a server whose reply arrives when its end is noticed."""

    node, replaced = "/server", False

    def __init__(self, future):
        self._future = future

    def lost(self, ready):
        self._future.set_result(REPLY)
        return True


@pytest.fixture
def future():
    return Future()


def is_ready():
    return False


@pytest.mark.parametrize("name", ["collision/check_states", "scene/apply_changes"])
def test_the_last_reply_of_a_service_is_returned(future, name):
    client = SimpleNamespace(call_async=lambda request: future, remove_pending_request=lambda future: None)
    assert waits.reply_to(client, None, name, EndedServer(future), is_ready, 60.0) is REPLY


def test_the_last_response_to_a_goal_is_returned(future):
    until = time.monotonic() + 60.0
    assert waits.accepted_goal(lambda: future, "planning/plan", EndedServer(future), is_ready, until) is REPLY


def test_the_last_result_of_a_goal_is_returned(future):
    server, until = EndedServer(future), time.monotonic() + 60.0
    assert waits.result_of_goal(lambda: future, lambda: 0, "planning/plan", server, is_ready, until) is REPLY


def test_the_last_reply_to_a_node_is_returned(domain, future):
    rclpy.init()
    node = CellNode("last_replies", sole=False)
    executor = GuardedExecutor(node.faults)
    executor.add_node(node)
    server = EndedServer(future)
    work = outcome(node, future, CancellationToken(), math.inf, "service", lambda: not server.lost(False))
    try:
        task = executor.create_task(work)
        while not task.done():
            executor.spin_once(timeout_sec=60.0)
        assert task.result() is REPLY
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown()
