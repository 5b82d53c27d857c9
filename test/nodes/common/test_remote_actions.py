"""Goals that a node sends to another one: lost results are requested again, and nothing is kept for lost servers."""

from contextlib import suppress
from types import SimpleNamespace

import pytest
import rclpy
from rclpy.task import Future
from spinning import spin_until

from robot_cell_planner import action, srv
from robot_cell_planner.errors import CancelledError, RobotCellError, ServerLostError, ServiceUnavailableError
from robot_cell_planner.nodes.common import remote_calls, server_monitor
from robot_cell_planner.nodes.common.action_server import GoalServer
from robot_cell_planner.nodes.common.callback_guard import GuardedExecutor
from robot_cell_planner.nodes.common.cancellation import CancellationToken
from robot_cell_planner.nodes.common.goal_requests import RepeatableActionClient, RepeatableActionServer
from robot_cell_planner.nodes.common.node import CellNode, report_error
from robot_cell_planner.nodes.common.remote_calls import REMOTE_PARAMETERS, RemoteAction, RemoteService

NAME = "planning/plan_motion"
AGAIN = 0.05  # [s]


class Caller(CellNode):
    declared = REMOTE_PARAMETERS


class Called:
    """A server of an action in the node that calls it; its goals end when the test lets them."""

    def __init__(self, node):
        self.node, self.begun = node, []
        self.executor = GuardedExecutor(node.faults)
        self.executor.add_node(node)
        self.server = GoalServer(node, action.PlanMotion, NAME, self._pursue, report_error).server
        self.remote = RemoteAction(node, action.PlanMotion, NAME, from_first_goal=True)
        self.token = CancellationToken()

    async def _pursue(self, goal, send, token, result):
        self.begun.append(Future())
        await self.begun[-1]

    def call(self, **options):
        """The task of a call whose goal has begun; it returns the result or the error."""

        async def result():
            try:
                return await self.remote(action.PlanMotion.Goal(), self.token, lambda feedback: None, **options)
            except RobotCellError as error:
                return error

        task = self.executor.create_task(result)
        spin_until(self.executor, lambda: self.begun)
        return task

    def outcome(self, task):
        spin_until(self.executor, task.done)
        if isinstance(task.result(), RobotCellError):
            raise task.result()
        return task.result()

    @property
    def kept(self):
        """What the client of the action keeps for goals."""
        client = self.remote._client
        pending = client._pending_goal_requests, client._pending_result_requests, client._pending_cancel_requests
        return [*client._futures, *client._feedback_callbacks, *client._cancellations, *(n for p in pending for n in p)]


@pytest.fixture
def called(domain, monkeypatch):
    monkeypatch.setattr(remote_calls, "REQUEST_AGAIN", AGAIN)
    rclpy.init()
    node = Caller("caller", sole=False)
    yield Called(node)
    node.destroy_node()
    rclpy.shutdown()


def test_goals_of_others_do_not_wake_a_node_that_has_sent_none(called):
    """DDS sends the states and results of all goals to every client of an action."""

    def clients():
        return [part for part in called.node.waitables if isinstance(part, RepeatableActionClient)]

    assert not clients()
    task = called.call()
    assert len(clients()) == 1
    called.begun[-1].set_result(None)
    called.outcome(task)
    assert len(clients()) == 1


def test_a_result_that_is_lost_is_requested_again(called, monkeypatch):
    send, lost = RepeatableActionServer._send_response, []

    def lose_the_first(server, header, response):
        if not lost:
            lost.append(header)
            return
        send(server, header, response)

    monkeypatch.setattr(RepeatableActionServer, "_send_response", lose_the_first)
    task = called.call()
    spin_until(called.executor, lambda: all(called.server._result_requests.values()))
    called.begun[0].set_result(None)
    assert isinstance(called.outcome(task), action.PlanMotion.Result)
    assert lost
    spin_until(called.executor, lambda: not called.kept)


def test_a_goal_that_a_server_has_forgotten_is_lost(called):
    """As one that was configured again."""
    task = called.call()
    for known in (called.server._goal_handles, called.server._result_requests):
        known.clear()
    with pytest.raises(ServerLostError, match="the goal is lost"):
        called.outcome(task)


def test_a_cancelled_call_keeps_nothing(called):
    task = called.call()
    called.token.set(CancelledError("enough"))
    with pytest.raises(CancelledError, match="enough"):
        called.outcome(task)
    spin_until(called.executor, lambda: not called.kept)
    assert called.node.faults.count == 0


@pytest.mark.parametrize("rest", [False, True])
def test_a_call_of_a_server_that_has_ended_keeps_nothing(called, monkeypatch, rest):
    monkeypatch.setattr(server_monitor, "GRAPH_TIMEOUT", 0.0)
    task = called.call(rest=rest)
    monkeypatch.setattr(called.remote._client, "server_is_ready", lambda: False)
    with pytest.raises(ServiceUnavailableError):
        called.outcome(task)
    spin_until(called.executor, lambda: not called.kept)


def test_a_call_that_waits_for_rest_has_the_reason_of_its_cancellation(called):
    task = called.call(rest=True)
    called.token.set(RobotCellError("enough"))
    spin_until(called.executor, lambda: called.remote._client._cancellations)
    called.executor.spin_once(timeout_sec=AGAIN)
    assert not task.done()
    called.begun[0].set_result(None)
    with pytest.raises(RobotCellError, match="enough"):
        called.outcome(task)


def test_a_server_that_was_lost_at_the_last_check_is_lost(monkeypatch):
    """Until the next check: who asks twice would wait for it."""
    monkeypatch.setattr(server_monitor, "GRAPH_TIMEOUT", 0.0)
    node = SimpleNamespace(resolve_service_name=lambda name: f"/{name}", get_publishers_info_by_topic=lambda topic: [])
    monitor = server_monitor.ServerMonitor(node, NAME, is_action=True)
    monitor._server = server_monitor.Server("/planning_node", None, frozenset([b"1"]))
    assert [monitor.lost(ready=False) for _ in range(2)] == [True, True]


def test_a_service_that_is_seldom_called_has_no_client_before_and_others_have(called):
    """DDS sends all replies to every client; those to other nodes would wake this one."""
    name = "kinematics/forward_kinematics"
    before = len(list(called.node.clients))
    remote = RemoteService(called.node, srv.ForwardKinematics, name, from_first_call=True)
    assert len(list(called.node.clients)) == before

    async def call():
        with suppress(ServiceUnavailableError):
            await remote(srv.ForwardKinematics.Request())

    spin_until(called.executor, called.executor.create_task(call).done)
    assert len(list(called.node.clients)) == before + 1
    RemoteService(called.node, srv.CheckStates, "collision/check_states")
    assert len(list(called.node.clients)) == before + 2
