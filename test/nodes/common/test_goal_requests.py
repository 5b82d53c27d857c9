"""Clients of actions that do not need the status messages of the server."""

import time

import pytest
import rclpy
from action_msgs.msg import GoalStatus
from rclpy.action.server import ActionServer

from robot_cell_planner import action
from robot_cell_planner.nodes.common.callback_guard import GuardedExecutor
from robot_cell_planner.nodes.common.goal_requests import RepeatableActionClient
from robot_cell_planner.nodes.common.node import CellNode

GOALS = 5


@pytest.fixture
def node(domain):
    rclpy.init()
    node = CellNode("goals", sole=False)
    yield node
    node.destroy_node()
    rclpy.shutdown()


def execute(handle):
    handle.publish_feedback(action.PlanMotion.Feedback())
    handle.succeed()
    return action.PlanMotion.Result()


def spin_until(executor, done):
    until = time.monotonic() + 60.0
    while not done():
        assert time.monotonic() < until
        executor.spin_once(timeout_sec=0.2)


def served(node, follows_status):
    """A client of an action that is served, and the executor of both."""
    ActionServer(node, action.PlanMotion, "plan", execute, callback_group=node.concurrent)
    client = RepeatableActionClient(
        node, action.PlanMotion, "plan", callback_group=node.concurrent, follows_status=follows_status
    )
    executor = GuardedExecutor(node.faults)
    executor.add_node(node)
    spin_until(executor, client.server_is_ready)
    return client, executor


@pytest.mark.parametrize("follows_status", [True, False])
def test_goals_have_feedback_and_results_with_and_without_status(node, follows_status):
    client, executor = served(node, follows_status)
    feedback, handles, results = [], [], []
    for _ in range(GOALS):
        sent = client.send_goal_async(action.PlanMotion.Goal(), feedback_callback=feedback.append)
        spin_until(executor, sent.done)
        handles.append(sent.result())
        requested = handles[-1].get_result_async()
        spin_until(executor, requested.done)
        results.append(requested.result())
    spin_until(executor, lambda: len(feedback) == GOALS)
    assert [result.status for result in results] == [GoalStatus.STATUS_SUCCEEDED] * GOALS
    if follows_status:
        spin_until(executor, lambda: all(handle.status == GoalStatus.STATUS_SUCCEEDED for handle in handles))
    # Nothing is left that would wake the executor again and again.
    begun = time.monotonic()
    executor.spin_once(timeout_sec=0.3)
    while time.monotonic() - begun < 0.3:
        executor.spin_once(timeout_sec=0.3)
    assert node.faults.count == 0
    if not follows_status:
        assert {handle.status for handle in handles} == {GoalStatus.STATUS_UNKNOWN}
        del handles[:], sent, requested
        last = client.send_goal_async(action.PlanMotion.Goal())
        spin_until(executor, lambda: last.done() and len(client._goal_handles) <= 1)
    executor.shutdown()
    client.destroy()


def test_a_goal_that_is_followed_has_its_status_and_the_next_one_has_not(node):
    client, executor = served(node, follows_status=False)

    def accepted():
        sent = client.send_goal_async(action.PlanMotion.Goal())
        spin_until(executor, sent.done)
        return sent.result()

    first = accepted()
    client.status_of(first)
    followed = accepted()  # its messages have the states of both goals
    spin_until(executor, lambda: client.status_of(first) == client.status_of(followed) == GoalStatus.STATUS_SUCCEEDED)
    for handle in (first, followed):
        client.unfollow(handle.goal_id)
    last = accepted()
    requested = last.get_result_async()
    spin_until(executor, requested.done)
    assert requested.result().status == GoalStatus.STATUS_SUCCEEDED
    assert last.status == GoalStatus.STATUS_UNKNOWN


def test_what_is_to_be_done_soon_follows_the_tasks_that_are_ready(node):
    """Such as those that send the results of goals."""
    executor, done = GuardedExecutor(node.faults), []
    executor.add_node(node)

    def task():
        node.soon(lambda: done.append("soon"))
        executor.create_task(lambda: done.append("task"))

    executor.create_task(task)
    spin_until(executor, lambda: len(done) == 2)
    assert done == ["task", "soon"]
    executor.shutdown()
