"""Many goals at once, and old ones that are sent again."""

from types import SimpleNamespace

import pytest
from action_msgs.msg import GoalInfo, GoalStatus
from rclpy.task import Future
from spinning import spin_until
from std_srvs.srv import Trigger
from test_goal_requests import goals_served, result_of, send
from unique_identifier_msgs.msg import UUID

from robot_cell_planner import action
from robot_cell_planner.nodes.common import goal_requests
from robot_cell_planner.nodes.common.callback_guard import GuardedExecutor
from robot_cell_planner.nodes.common.goal_requests import RECOGNISED, RepeatableActionClient, RepeatableActionServer
from robot_cell_planner.nodes.common.service_quality import SERVICES

BURST = 100  # more than the queues of rclpy hold by default
MANY = 1001
IDENTITY = UUID(uuid=list(range(16)))


def all_done(futures):
    return lambda: all(future.done() for future in futures)


def test_no_goal_and_no_result_of_a_burst_is_lost(node):
    client, executor = goals_served(node)
    sent = [send(client) for _ in range(BURST)]
    spin_until(executor, all_done(sent))
    results = [client.request_result(each.result().goal_id) for each in sent]
    spin_until(executor, all_done(results))
    assert {each.result().status for each in results} == {GoalStatus.STATUS_SUCCEEDED}
    executor.shutdown()


def test_no_cancellation_of_a_burst_is_lost(node):
    client, executor = goals_served(node, duration=600.0)
    sent = [send(client) for _ in range(BURST)]
    spin_until(executor, all_done(sent))
    cancelled = [each.result().cancel_goal_async() for each in sent]
    spin_until(executor, all_done(cancelled))
    executor.shutdown()


def test_no_request_of_a_burst_to_a_service_of_any_kind_is_lost(node):
    node.create_service(Trigger, "trigger", lambda request, response: response)
    client = node.create_client(Trigger, "trigger", qos_profile=SERVICES)
    executor = GuardedExecutor(node.faults)
    executor.add_node(node)
    spin_until(executor, client.service_is_ready)
    replies = [client.call_async(Trigger.Request()) for _ in range(BURST)]
    spin_until(executor, all_done(replies))
    executor.shutdown()


@pytest.fixture
def served(node):
    """A server of goals that wait for `finish`, a client, their executor, and the goals that were executed."""
    finish, executed = Future(), []

    async def execute(handle):
        executed.append(bytes(handle.goal_id.uuid))
        if executed[-1] == bytes(IDENTITY.uuid):
            await finish
        handle.succeed()
        return action.PlanMotion.Result()

    server = RepeatableActionServer(node, action.PlanMotion, "plan", execute, callback_group=node.concurrent)
    client = RepeatableActionClient(
        node, action.PlanMotion, "plan", callback_group=node.concurrent, follows_status=False
    )
    executor = GuardedExecutor(node.faults)
    executor.add_node(node)
    spin_until(executor, client.server_is_ready)
    yield SimpleNamespace(server=server, client=client, executor=executor, finish=finish, executed=executed)
    executor.shutdown()


def test_a_goal_that_is_older_than_many_others_is_executed_once(served, node):
    first = send(served.client, goal_uuid=IDENTITY)
    spin_until(served.executor, first.done)
    for _ in range(0, MANY, BURST):
        burst = [send(served.client) for _ in range(BURST)]
        spin_until(served.executor, all_done(burst))
    again = send(served.client, goal_uuid=IDENTITY)
    result = served.client.request_result(first.result().goal_id)
    last = send(served.client)
    spin_until(served.executor, last.done)
    served.finish.set_result(None)
    spin_until(served.executor, result.done)
    assert served.executed.count(bytes(IDENTITY.uuid)) == 1
    assert result.result().status == GoalStatus.STATUS_SUCCEEDED
    assert not again.done()  # a response to a goal that is known
    assert node.faults.count == 0


def test_a_goal_is_recognised_for_a_while_after_its_result_has_expired(served, node, monkeypatch):
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(goal_requests, "time", SimpleNamespace(monotonic=lambda: clock.now))
    served.finish.set_result(None)

    def expire(identity):
        served.executor.create_task(served.server._execute_expire_goals, (GoalInfo(goal_id=identity),))
        spin_until(served.executor, lambda: bytes(identity.uuid) not in served.server._goal_handles)

    result_of(served.client, served.executor, goal_uuid=IDENTITY)
    expire(IDENTITY)
    send(served.client, goal_uuid=IDENTITY)
    other, _ = result_of(served.client, served.executor)
    assert served.executed.count(bytes(IDENTITY.uuid)) == 1
    clock.now += RECOGNISED
    expire(other.goal_id)
    server = served.server
    assert list(server._past) == [bytes(other.goal_id.uuid)]
    assert not any((server._begun, server._responses, server._result_requests, server._goal_handles))
    assert node.faults.count == 0
