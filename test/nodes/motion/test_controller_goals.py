"""Goals that are sent to controllers: nothing is kept for those that have ended, and little for lost controllers."""

import pytest
from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from control_msgs.action import FollowJointTrajectory
from rclpy.serialization import serialize_message
from rclpy.task import Future
from spinning import spin_until

from robot_cell_planner.errors import StoppedError
from robot_cell_planner.nodes.common.action_server import GoalServer
from robot_cell_planner.nodes.motion.controller_client import MAX_OPEN, ControllerClient
from robot_cell_planner.nodes.motion.left_goals import GoalIds, LeftGoals

ACTION = "arm_controller/follow_joint_trajectory"
MANY = 10 * MAX_OPEN


def kept(controller):
    """What the client of the action keeps for goals."""
    client = controller.client
    pending = client._pending_goal_requests, client._pending_result_requests, client._pending_cancel_requests
    return [*client._futures, *client._cancellations, *(number for each in pending for number in each)]


@pytest.fixture
def controller(node):
    return ControllerClient(node, ACTION)


class Server:
    """The action of a controller that executes goals until they are cancelled, or the test lets them end."""

    def __init__(self, node):
        self.begun = []
        GoalServer(node, FollowJointTrajectory, ACTION, self._follow, lambda result, error: None)

    async def _follow(self, goal, send, token, result):
        end = Future()
        token.on_set(end.set_exception)
        self.begun.append(end)
        await end


def test_a_controller_that_has_ended_keeps_responses_of_few_goals(controller, executor):
    ended = []
    for _ in range(MANY):
        controller.send(FollowJointTrajectory.Goal(), lambda: ended.append(1)).cancel()
    executor.spin_once(timeout_sec=0.0)
    assert len(kept(controller)) <= 3 * MAX_OPEN
    assert not ended


def test_nothing_is_kept_of_goals_that_have_ended(node, controller, executor):
    server = Server(node)
    spin_until(executor, lambda: controller.is_ready)
    goals = [controller.send(FollowJointTrajectory.Goal(), lambda: None) for _ in range(3)]
    spin_until(executor, lambda: len(server.begun) == 3 and all(goal.accepted for goal in goals))
    server.begun[0].set_result(None)
    goals[1].cancel()
    spin_until(executor, lambda: goals[0].ended and goals[1].ended)
    assert goals[0].error is None
    assert isinstance(goals[1].error, StoppedError)
    assert not goals[2].ended
    server.begun[2].set_result(None)
    spin_until(executor, lambda: goals[2].ended)
    assert kept(controller) == []


def test_a_goal_that_is_cancelled_before_it_is_accepted_is_cancelled_then(node, controller, executor):
    server = Server(node)
    spin_until(executor, lambda: controller.is_ready)
    goal = controller.send(FollowJointTrajectory.Goal(), lambda: None)
    goal.cancel()
    spin_until(executor, lambda: goal.ended)
    assert len(server.begun) == 1
    assert isinstance(goal.error, StoppedError)
    assert kept(controller) == []


def test_goals_that_a_killed_process_left_have_one_request_each(node, controller, executor, monkeypatch):
    monkeypatch.setattr(controller.client, "server_is_ready", lambda: True)
    left, before = LeftGoals(node, controller.client, ACTION, controller._ids), GoalIds(node.get_fully_qualified_name())
    states = [
        GoalStatus(goal_info=GoalInfo(goal_id=before.new()), status=GoalStatus.STATUS_EXECUTING) for _ in range(3)
    ]
    left._on_status(serialize_message(GoalStatusArray(status_list=states)))
    for _ in range(MANY):
        left._cancel()
    assert len(controller.client._pending_cancel_requests) == len(states)
    left._on_status(serialize_message(GoalStatusArray()))
    left._cancel()
    assert kept(controller) == []
