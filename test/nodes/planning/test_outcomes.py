"""Viewers get the outcome of each planning request that its client gets."""

import math

import pytest
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.task import Future
from spinning import spin_until

from robot_cell_planner import action, msg
from robot_cell_planner.errors import CancelledError, InternalError, LimitExceededError, PlanningError, RobotCellError
from robot_cell_planner.nodes.common.action_server import GoalServer
from robot_cell_planner.nodes.common.callback_guard import GuardedExecutor
from robot_cell_planner.nodes.common.cancellation import CancellationToken
from robot_cell_planner.nodes.common.node import CellNode, report_error
from robot_cell_planner.nodes.common.remote_calls import REMOTE_PARAMETERS, RemoteAction
from robot_cell_planner.nodes.planning.outcomes import Outcomes

NAME = "planning/plan_motion"
QUALITY = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Caller(CellNode):
    declared = REMOTE_PARAMETERS


@pytest.fixture
def node(domain):
    rclpy.init()
    node = Caller("caller", sole=False)
    yield node
    node.destroy_node()
    rclpy.shutdown()


class Service:
    """An action whose goals have a handler, with its client. sent: results and outcomes in their order."""

    def __init__(self, node, kind=action.PlanMotion, name=NAME):
        self.sent, self.outcomes = [], []
        self._executor = GuardedExecutor(node.faults)
        self._executor.add_node(node)
        outcomes = Outcomes(node)
        self._server = GoalServer(node, kind, name, self._handle, report_error, on_end=outcomes.of(name)).server
        self._record(self._server, "_send_response", "result")
        self._record(outcomes._publisher, "publish", "outcome")
        self._remote = RemoteAction(node, kind, name)
        node.create_subscription(msg.PlanningOutcome, "planning/outcome", self.outcomes.append, QUALITY)
        self._goal = kind.Goal()

    def _record(self, owner, name, what):
        function = getattr(owner, name)

        def call(*arguments):
            self.sent.append(what)
            return function(*arguments)

        setattr(owner, name, call)

    async def _handle(self, goal, send, token, result):
        await self._is_requested
        await self._handler(result)

    def result_of(self, handler):
        """Return the result of a goal with this handler."""
        self._handler, self._is_requested = handler, Future()
        task = self._executor.create_task(self._call)
        spin_until(self._executor, lambda: any(self._server._result_requests.values()))
        self._executor.create_task(self._is_requested.set_result, None)
        spin_until(self._executor, task.done)
        return task.result()

    async def _call(self):
        try:
            return await self._remote(self._goal, CancellationToken())
        except RobotCellError as error:
            return error.partial

    def outcome(self):
        """Return the outcome that is received first."""
        spin_until(self._executor, lambda: self.outcomes)
        return self.outcomes.pop(0)


def raising(error):
    async def handler(result):
        result.failure.blocked_motions = 7
        raise error

    return handler


async def nothing(result):
    pass


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (PlanningError("no path"), PlanningError, "no path"),
        (ZeroDivisionError("division by zero"), InternalError, "ZeroDivisionError: division by zero"),
        (OverflowError("too large"), LimitExceededError, "numbers of the request are too large"),
    ],
)
def test_any_error_is_published_after_the_result(node, error, kind, text):
    service = Service(node)
    result, outcome = service.result_of(raising(error)), service.outcome()
    assert service.sent == ["result", "outcome"]
    assert outcome.error == result.error
    assert outcome.error.code == kind.code
    assert text in outcome.error.message
    assert (outcome.action, outcome.plans) == (NAME, [])
    assert outcome.failure.blocked_motions == 7


def test_a_cancelled_request_is_not_published(node):
    service = Service(node)
    cancelled = service.result_of(raising(CancelledError("the client cancelled the goal")))
    assert cancelled.error.code == CancelledError.code
    service.result_of(nothing)
    assert service.outcome().error.code == msg.ErrorReport.NONE
    assert service.sent.count("outcome") == 1


def test_a_plan_that_cannot_be_sent_is_published_as_the_error_that_its_client_gets(node):
    async def handler(result):
        result.plan.record.path_length = math.nan

    service = Service(node)
    result, outcome = service.result_of(handler), service.outcome()
    assert outcome.error == result.error
    assert outcome.error.code == LimitExceededError.code
    assert outcome.plans == []


def test_the_plans_of_all_steps_are_published(node):
    async def handler(result):
        result.plans = [msg.MotionPlan(), msg.MotionPlan()]

    service = Service(node, action.PlanMultistep, "planning/plan_multistep")
    service.result_of(handler)
    outcome = service.outcome()
    assert len(outcome.plans) == 2
    assert outcome.error.code == msg.ErrorReport.NONE
