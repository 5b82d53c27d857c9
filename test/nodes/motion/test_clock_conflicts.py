"""Several publishers of /clock: motions end if their times differ, and none begins."""

import numpy as np
import pytest
from rosgraph_msgs.msg import Clock

from robot_cell_planner.nodes.conversions.basic import time_to_message
from robot_cell_planner.nodes.motion.clock_conflicts import MIN_BACK, TIMES, ClockConflicts
from robot_cell_planner.nodes.motion.motion_clock import SimulatedClock

SECOND = 1_000_000_000
BEGIN = 1000  # [s]
PERIOD = 0.01  # [s] of each publisher


def largest(*readings):
    """What a clock reports for readings at times of the steady clock [s]."""
    conflicts = ClockConflicts()
    for now, reading in sorted(readings):
        conflicts.note(round((BEGIN + reading) * SECOND), now)
    return conflicts.largest(max(now for now, _ in readings))


def publisher(seconds, rate=1.0, ahead=0.0, begin=0.0):
    return [(now, rate * now + ahead) for now in np.arange(begin, seconds, PERIOD).tolist()]


@pytest.mark.parametrize("ahead", [-3600.0, -0.9, -0.2, 0.2, 0.9, 3600.0])
def test_different_times_are_a_conflict(ahead):
    found = largest(*publisher(2.0), *publisher(2.0, ahead=ahead, begin=0.003))
    assert found == pytest.approx(abs(ahead), abs=PERIOD)


@pytest.mark.parametrize("rate", [0.0, 0.5, 2.0, 10.0])
def test_different_rates_are_a_conflict_once_the_times_differ(rate):
    assert largest(*publisher(2.0), *publisher(2.0, rate=rate, begin=0.003)) > MIN_BACK


def test_a_relay_of_the_same_clock_that_is_a_little_late_is_none():
    assert largest(*publisher(2.0), *publisher(2.0, ahead=-0.05, begin=0.003)) == 0.0


def test_a_clock_that_one_node_sets_back_is_none():
    """It is reported as such."""
    runs = [(now, reading % 0.3) for now, reading in publisher(1.1)]
    assert largest(*runs) == 0.0


def test_a_conflict_ends_with_the_second_publisher():
    both = [*publisher(2.0), *publisher(2.0, ahead=0.5, begin=0.003)]
    assert largest(*both) > 0.0
    assert largest(*both, *publisher(4.0, begin=2.0)) == 0.0


@pytest.mark.parametrize("publishers", [1, 2])
def test_the_error_of_a_clock_names_the_number_of_publishers(monkeypatch, publishers):
    class Messages:
        def __init__(self):
            self.publishers, self.times = publishers, []

        def take(self):
            taken, self.times = self.times, []
            return [Clock(clock=time_to_message(each)) for each in taken]

    messages, steady = Messages(), [0.0]
    monkeypatch.setattr("robot_cell_planner.nodes.motion.motion_clock.PolledSubscription", lambda *_: messages)
    clock = SimulatedClock(None, 0.1, lambda: steady[0])
    for _ in range(TIMES):
        assert clock.fault() is None
        for ahead in (0.5, 0.0):
            steady[0] += PERIOD
            messages.times.append(round((BEGIN + steady[0] + ahead) * SECOND))
    fault = clock.fault()
    if publishers == 1:
        assert fault is None
        return
    assert "/clock has 2 publishers with different times" in fault.message
    assert (fault.name, fault.stage) == ("StoppedError", "clock")
    assert fault.values[0].value == pytest.approx(0.5, abs=0.02)
    assert "Stop all publishers of /clock but one" in fault.remedy
