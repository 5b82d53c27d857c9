"""Clients and servers of actions: goals, results and status."""

import gc
import time

import pytest
from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from rclpy.action.server import ActionServer
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.task import Future
from spinning import spin_until
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from unique_identifier_msgs.msg import UUID

from robot_cell_planner import action
from robot_cell_planner.nodes.common import goal_requests, unlocked_requests
from robot_cell_planner.nodes.common.action_server import GoalServer
from robot_cell_planner.nodes.common.callback_guard import GuardedExecutor
from robot_cell_planner.nodes.common.goal_requests import RepeatableActionClient, RepeatableActionServer
from robot_cell_planner.nodes.common.large_trajectories import MIN_POINTS
from robot_cell_planner.nodes.common.node import report_error
from robot_cell_planner.nodes.common.waiting import delay
from robot_cell_planner.nodes.conversions.point_blocks import PointBlocks

GOALS = 5


def execute(handle):
    handle.publish_feedback(action.PlanMotion.Feedback())
    handle.succeed()
    return action.PlanMotion.Result()


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
    # No event remains that would wake the executor repeatedly.
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


def test_calls_scheduled_soon_follow_the_tasks_that_are_ready(node):
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


def goals_served(node, duration=0.0, begins_early=False, on_begin=int, **client_options):
    """A client of an action whose server is that of this package, and the executor of both. duration: of goals [s]."""

    async def end(handle):
        on_begin()
        if duration:
            await delay(node, duration)
        handle.publish_feedback(action.PlanMotion.Feedback())
        handle.succeed()
        return action.PlanMotion.Result()

    options = {"begins_early": begins_early, "callback_group": node.concurrent}
    RepeatableActionServer(node, action.PlanMotion, "plan", end, **options)
    client = RepeatableActionClient(node, action.PlanMotion, "plan", callback_group=node.concurrent, **client_options)
    executor = GuardedExecutor(node.faults)
    executor.add_node(node)
    spin_until(executor, client.server_is_ready)
    return client, executor


def test_a_client_has_all_feedback_when_it_has_the_result(node):
    """Also feedback that was sent at once with it; a caller does not wait for more after the result."""

    async def end(handle):
        await asked  # so that feedback and result wait for the client together
        for number in range(GOALS):
            feedback = action.PlanMotion.Feedback()
            feedback.progress.step = number
            handle.publish_feedback(feedback)
        handle.succeed()
        return action.PlanMotion.Result()

    server = RepeatableActionServer(node, action.PlanMotion, "plan", end, callback_group=node.concurrent)
    client = RepeatableActionClient(node, action.PlanMotion, "plan", callback_group=node.concurrent)
    executor = GuardedExecutor(node.faults)
    executor.add_node(node)
    spin_until(executor, client.server_is_ready)
    asked, received = Future(), []
    sent = client.send_goal_async(
        action.PlanMotion.Goal(), feedback_callback=lambda message: received.append(message.feedback.progress.step)
    )
    spin_until(executor, sent.done)
    requested = client.request_result(sent.result().goal_id)
    spin_until(executor, lambda: any(server._result_requests.values()))
    executor.create_task(asked.set_result, None)
    spin_until(executor, requested.done)
    assert received == list(range(GOALS))
    executor.shutdown()


def send(client, **options):
    """Send a goal in this thread, in which the executor spins, too."""
    return client.send_goal_async(action.PlanMotion.Goal(), **options)


def result_of(client, executor, **options):
    """The handle of a goal, and the response with its result."""
    sent = send(client, **options)
    spin_until(executor, sent.done)
    requested = client.request_result(sent.result().goal_id)
    spin_until(executor, requested.done)
    return sent.result(), requested.result()


@pytest.mark.parametrize("begins_early", [False, True])
def test_a_goal_begins_before_its_response_is_sent_only_if_that_is_requested(node, monkeypatch, begins_early):
    """One without a response is not executed otherwise, until it is sent again."""
    events, send, failures = [], rclpy_implementation.ActionServer.send_goal_response, [RuntimeError("lost")]

    def respond(*arguments):
        events.append("response")
        if failures:
            raise failures.pop()
        send(*arguments)

    monkeypatch.setattr(rclpy_implementation.ActionServer, "send_goal_response", respond)
    client, executor = goals_served(node, 0.01, begins_early, lambda: events.append("begun"))
    goal_id = UUID(uuid=list(range(16)))
    client.send_goal_async(action.PlanMotion.Goal(), goal_uuid=goal_id)
    spin_until(executor, lambda: "response" in events)
    assert events == (["begun", "response"] if begins_early else ["response"])
    result_of(client, executor, goal_uuid=goal_id)
    assert events == (["begun", "response", "response"] if begins_early else ["response", "response", "begun"])
    executor.shutdown()


def test_a_goal_without_a_response_ends_with_a_reason_if_it_is_not_sent_again(node, monkeypatch):
    """Every message of states would contain it otherwise, for as long as the server exists."""
    send, failures, executed, states = (
        rclpy_implementation.ActionServer.send_goal_response,
        [RuntimeError("lost")],
        [],
        [],
    )

    def respond(*arguments):
        if failures:
            raise failures.pop()
        send(*arguments)

    async def execute(*arguments):
        executed.append(arguments)

    monkeypatch.setattr(rclpy_implementation.ActionServer, "send_goal_response", respond)
    monkeypatch.setattr(goal_requests, "UNANSWERED", 0.05)
    server = GoalServer(node, action.PlanMotion, "plan", execute, report_error).server
    client = RepeatableActionClient(node, action.PlanMotion, "plan", callback_group=node.concurrent)
    quality = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(
        GoalStatusArray, "plan/_action/status", lambda each: states.extend(each.status_list), quality
    )
    executor = GuardedExecutor(node.faults)
    executor.add_node(node)
    spin_until(executor, client.server_is_ready)
    goal_id = UUID(uuid=list(range(16)))
    client.send_goal_async(action.PlanMotion.Goal(), goal_uuid=goal_id)
    spin_until(executor, lambda: states and states[-1].status == GoalStatus.STATUS_ABORTED)
    # A client that sends it again nevertheless gets the reason.
    _, response = result_of(client, executor, goal_uuid=goal_id)
    assert response.status == GoalStatus.STATUS_ABORTED
    assert "could not be sent" in response.result.error.message
    assert not executed
    executor.create_task(server._execute_expire_goals, (GoalInfo(goal_id=goal_id),))
    spin_until(executor, lambda: not server._goal_handles)
    assert node.faults.count == 0
    executor.shutdown()


def futures():
    """The number of futures that exist."""
    gc.collect()
    return sum(type(each) is Future for each in gc.get_objects())


def test_goals_that_have_ended_leave_no_futures(node):
    """rclpy goes through the futures that a client or a server keeps at each of their events."""
    client, executor = goals_served(node)
    result_of(client, executor)
    before = futures()
    for _ in range(GOALS):
        result_of(client, executor)
    assert futures() == before
    executor.shutdown()


def test_a_result_can_be_requested_again_until_the_goal_expires(node):
    client, executor = goals_served(node)
    handle, first = result_of(client, executor)
    for _ in range(2):
        again = client.request_result(handle.goal_id)
        spin_until(executor, again.done)
        assert again.result() == first
    server = next(part for part in node.waitables if isinstance(part, RepeatableActionServer))
    executor.create_task(server._execute_expire_goals, (GoalInfo(goal_id=handle.goal_id),))
    unknown = client.request_result(handle.goal_id)
    spin_until(executor, unknown.done)
    assert unknown.result().status == GoalStatus.STATUS_UNKNOWN
    assert node.faults.count == 0
    executor.shutdown()


@pytest.mark.parametrize(
    ("duration", "changes"),
    [(0.05, (GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_SUCCEEDED)), (0.0, (GoalStatus.STATUS_SUCCEEDED,))],
)
def test_the_status_of_a_goal_is_published_when_it_is_executed_and_when_it_ends(node, duration, changes):
    """Once only for one that ends at once."""
    client, executor = goals_served(node, duration)
    received = []
    quality = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(GoalStatusArray, "plan/_action/status", received.append, quality)
    goals = [result_of(client, executor)[0].goal_id for _ in range(GOALS)]

    def ended(message):
        return message.status_list[-1].status == GoalStatus.STATUS_SUCCEEDED

    spin_until(executor, lambda: sum(map(ended, received)) == GOALS)
    states = [(bytes(last.goal_info.goal_id.uuid), last.status) for last in (each.status_list[-1] for each in received)]
    assert states == [(bytes(goal.uuid), state) for goal in goals for state in changes]
    executor.shutdown()


@pytest.mark.parametrize("requested", [True, False])
def test_a_client_executes_nothing_for_messages_that_nobody_needs(node, monkeypatch, requested):
    executed = []
    execute_data = RepeatableActionClient.execute

    async def record(client, data):
        executed.extend(data)
        await execute_data(client, data)

    monkeypatch.setattr(RepeatableActionClient, "execute", record)
    client, executor = goals_served(node, follows_status=requested)
    feedback = []
    for number in range(GOALS):
        result_of(client, executor, feedback_callback=feedback.append if requested else None)
        spin_until(executor, lambda number=number: not requested or len(feedback) > number)
    assert executed.count("goal") == executed.count("result") == GOALS
    assert ("feedback" in executed, "status" in executed) == (requested, requested)
    executor.shutdown()


@pytest.mark.parametrize("missing", [False, True])
def test_a_goal_is_taken_and_answered_while_other_threads_run(node, monkeypatch, missing):
    """Or by rclpy where the functions of rcl are not found. A response that is not sent is repeated."""
    monkeypatch.setattr(goal_requests, "is_available", lambda: not missing)
    received, lost, call = [], [1], unlocked_requests._call

    def lose(library, name, *arguments):
        if name == "rcl_action_send_goal_response" and lost:
            lost.pop()
            return False
        return call(library, name, *arguments)

    def refuse(*_):
        raise AssertionError("the interpreter is held while this function runs")

    async def keep(goal, send, token, result):
        received.append(goal.trajectory)

    if not missing:
        monkeypatch.setattr(rclpy_implementation.ActionServer, "take_goal_request", refuse)
        monkeypatch.setattr(rclpy_implementation.ActionServer, "send_goal_response", refuse)
        monkeypatch.setattr(unlocked_requests, "_call", lose)
    GoalServer(node, action.ExecuteTrajectory, "execute", keep, report_error)
    client = RepeatableActionClient(node, action.ExecuteTrajectory, "execute", callback_group=node.concurrent)
    executor = GuardedExecutor(node.faults)
    executor.add_node(node)
    spin_until(executor, client.server_is_ready)
    points = [JointTrajectoryPoint(positions=[0.5 * index]) for index in range(2 * MIN_POINTS)]
    goal = action.ExecuteTrajectory.Goal(trajectory=JointTrajectory(points=points))
    if not missing:
        client.send_goal_async(goal, goal_uuid=UUID(uuid=list(range(16))))
        spin_until(executor, lambda: not lost)
        assert not received
    sent = client.send_goal_async(goal, goal_uuid=UUID(uuid=list(range(16))))
    spin_until(executor, sent.done)
    assert sent.result().accepted
    ended = client.request_result(sent.result().goal_id)
    spin_until(executor, ended.done)
    (found,) = received
    assert list(found.points) == points
    executor.shutdown()
    client.destroy()


@pytest.mark.parametrize("count", [3, MIN_POINTS])
def test_a_goal_contains_a_long_trajectory_as_arrays(node, count):
    points = [JointTrajectoryPoint(positions=[0.5 * index]) for index in range(count)]
    goal, received = action.ExecuteTrajectory.Goal(trajectory=JointTrajectory(points=points)), []

    async def keep(goal, send, token, result):
        received.append(goal.trajectory.points)

    GoalServer(node, action.ExecuteTrajectory, "execute", keep, report_error)
    client = RepeatableActionClient(node, action.ExecuteTrajectory, "execute", callback_group=node.concurrent)
    executor = GuardedExecutor(node.faults)
    executor.add_node(node)
    spin_until(executor, client.server_is_ready)
    sent = client.send_goal_async(goal)
    spin_until(executor, sent.done)
    ended = client.request_result(sent.result().goal_id)
    spin_until(executor, ended.done)
    assert ended.result().status == GoalStatus.STATUS_SUCCEEDED
    assert isinstance(received[0], PointBlocks) == (count >= MIN_POINTS)
    assert list(received[0]) == points
    executor.shutdown()
    client.destroy()
