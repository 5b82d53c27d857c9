"""Simulated time that is lost, since nobody publishes it any longer, is reported once."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from rclpy.clock import ROSClock

from robot_cell_planner.errors import StoppedError
from robot_cell_planner.nodes.execution import clock_supervision
from robot_cell_planner.nodes.execution.clock_supervision import ClockSupervision

SECOND = 1_000_000_000
LOST_AFTER = 2.0


class Case:
    """A clock of motions, and a steady clock, that a test sets."""

    def __init__(self, monkeypatch, simulated=True):
        self.steady, self.stamp = 100.0, 7 * SECOND
        self.clock, self.conflict = SimpleNamespace(stands=False, runs=True, fault=lambda: self.conflict), None
        ros = MagicMock(spec=ROSClock, ros_time_is_active=simulated)
        ros.now = lambda: SimpleNamespace(nanoseconds=self.stamp)
        monkeypatch.setattr(clock_supervision, "time", SimpleNamespace(monotonic=lambda: self.steady))
        self.supervision = ClockSupervision(SimpleNamespace(get_clock=lambda: ros), self.clock, LOST_AFTER)

    def faults(self, seconds, rate=0.0):
        found = []
        for _ in range(round(seconds / 0.02)):
            self.steady += 0.02
            self.stamp += round(0.02 * rate * SECOND)
            found.append(self.supervision.fault())
        return [fault for fault in found if fault is not None]


@pytest.fixture
def case(monkeypatch):
    return Case(monkeypatch)


def test_a_clock_that_stands_is_no_fault_while_somebody_publishes_it(case):
    assert case.faults(10.0, rate=1.0) == []
    case.clock.stands = True
    assert case.faults(100.0) == []


def test_a_clock_without_a_publisher_is_lost_once(case):
    for _ in range(2):
        case.clock.stands, case.clock.runs = True, False
        assert case.faults(LOST_AFTER - 0.1) == []
        (fault,) = case.faults(100.0)
        assert (fault.name, fault.stage) == ("StoppedError", "clock")
        assert fault.values[0].value > fault.values[0].limit == LOST_AFTER
        case.clock.stands, case.clock.runs = False, True
        assert case.faults(1.0, rate=1.0) == []


def test_a_clock_that_is_set_is_a_fault(case):
    case.faults(1.0, rate=1.0)
    case.stamp += 3600 * SECOND
    assert len(case.faults(1.0, rate=1.0)) == 1


def test_several_publishers_are_reported_again_and_again(case):
    assert case.faults(1.0, rate=1.0) == []
    case.conflict = StoppedError("/clock has 2 publishers")
    assert case.faults(2.5, rate=1.0) == [case.conflict] * 3
    case.conflict = None
    assert case.faults(10.0, rate=1.0) == []


def test_nothing_is_supervised_on_the_time_of_the_computer(monkeypatch):
    case = Case(monkeypatch, simulated=False)
    case.clock.stands, case.clock.runs = True, False
    case.stamp += 3600 * SECOND
    assert case.faults(10.0) == []
