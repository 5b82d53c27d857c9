"""Viewers get the outcome of each planning request that its client gets."""

import math
from types import SimpleNamespace

import pytest
from rclpy.clock import Clock

from robot_cell_planner import action, msg
from robot_cell_planner.errors import CancelledError, InternalError, LimitExceededError, PlanningError
from robot_cell_planner.nodes.planning.outcomes import Outcomes

NAME = "planning/plan_motion"


class Recorder:
    """A node that keeps what is published, and does what is due when `finish` is called."""

    def __init__(self):
        self.published, self._due = [], []

    def create_publisher(self, kind, topic, quality):
        return SimpleNamespace(publish=self.published.append)

    def soon(self, work):
        self._due.append(work)

    def get_clock(self):
        return Clock()

    def finish(self):
        assert not self.published, "the reply is sent first"
        for work in self._due:
            work()


def outcomes_of(handler, kind=action.PlanMotion):
    """What is published of a request, and what its handler raises."""
    node, result, raised = Recorder(), kind.Result(), None
    handle = Outcomes(node).published(NAME, handler)(kind.Goal(), print, None, result)
    try:
        handle.send(None)
    except StopIteration:
        pass
    except Exception as error:
        raised = error
    node.finish()
    return node.published, raised


def raising(error):
    async def handler(goal, send, token, result):
        result.failure.blocked_motions = 7
        raise error

    return handler


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (PlanningError("no path"), PlanningError, "no path"),
        (ZeroDivisionError("division by zero"), InternalError, "ZeroDivisionError: division by zero"),
        (OverflowError("too large"), LimitExceededError, "numbers of the request are too large"),
    ],
)
def test_any_error_is_published_after_the_reply(error, kind, text):
    (outcome,), raised = outcomes_of(raising(error))
    assert raised is error
    assert outcome.error.code == kind.code
    assert text in outcome.error.message
    assert (outcome.action, outcome.plans) == (NAME, [])
    assert outcome.failure.blocked_motions == 7


def test_a_cancelled_request_is_not_published():
    published, raised = outcomes_of(raising(CancelledError("the client cancelled the goal")))
    assert not published
    assert isinstance(raised, CancelledError)


def test_a_plan_that_cannot_be_sent_is_published_as_the_error_that_its_client_gets():
    async def handler(goal, send, token, result):
        result.plan.record.path_length = math.nan

    (outcome,), raised = outcomes_of(handler)
    assert isinstance(raised, LimitExceededError)
    assert outcome.error.code == LimitExceededError.code
    assert outcome.plans == []


def test_the_plans_of_all_steps_are_published():
    async def handler(goal, send, token, result):
        result.plans = [msg.MotionPlan(), msg.MotionPlan()]

    (outcome,), raised = outcomes_of(handler, action.PlanMultistep)
    assert raised is None
    assert len(outcome.plans) == 2
    assert outcome.error.code == msg.ErrorReport.NONE
