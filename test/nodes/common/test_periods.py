"""What is done at some of the calls of a timer: at its own rate, whatever the rate of the timer."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_cell_planner.nodes.common.periods import Periodic
from robot_cell_planner.nodes.execution.node import POLL_PERIOD, ExecutionNode
from robot_cell_planner.nodes.execution.parameters import PARAMETERS

DURATION = 60.0  # [s]


def times(period, timer, jitter):
    """When it is done, if a timer calls a little later than planned [s]."""
    random = np.random.default_rng(1)
    calls = np.arange(0.0, DURATION, timer) + random.uniform(0.0, jitter, len(np.arange(0.0, DURATION, timer)))
    periodic = Periodic(period)
    return np.array([now for now in calls if periodic.is_due(now)])


@pytest.mark.parametrize("jitter", [0.0, 0.002])
@pytest.mark.parametrize("timer", [0.004, 0.008, 0.02, 0.05])
@pytest.mark.parametrize("period", [0.05, 0.07, 1.0])
def test_the_rate_is_kept_at_any_rate_of_the_timer(period, timer, jitter):
    found = times(period, timer, jitter)
    assert len(found) == pytest.approx(DURATION / period, rel=0.01, abs=1.0)
    assert np.diff(found).max() <= period + timer + jitter + 1e-9


def test_a_timer_that_is_slower_than_the_rate_does_it_at_each_call():
    assert len(times(0.01, 0.02, 0.0)) == DURATION / 0.02


def test_after_a_pause_it_is_due_once():
    periodic = Periodic(0.05)
    assert [periodic.is_due(now) for now in (0.0, 0.06, 9.0, 9.01, 9.04, 9.06)] == [
        True,
        True,
        True,
        False,
        False,
        True,
    ]


def test_the_execution_node_polls_moving_robots_as_often_as_it_sends_feedback():
    (rate,) = [each for each in PARAMETERS if each.name == "feedback_rate"]
    for value, expected in ((rate.default, POLL_PERIOD), (rate.upper, 1.0 / rate.upper)):
        node = SimpleNamespace(_is_moving=True, _progress=Periodic(1.0 / value))
        assert ExecutionNode._poll_period.fget(node) == expected
