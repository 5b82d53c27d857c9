"""Stamps of commands: carried out at their times, on arrival, or refused."""

import time

import pytest
from rclpy.clock import Clock, ClockType
from rclpy.time import Time

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.nodes.conversions.basic import NANOSECONDS
from robot_cell_planner.nodes.simulation.moments import MAX_SKEW, SimulatedMoments, SteadyMoments

NOW = 50.0
AHEAD = 7_000_000_000  # [ns]


def simulated():
    moments = SimulatedMoments()
    moments.nanoseconds(NOW)
    return moments, NOW


def steady():
    return SteadyMoments(Clock(clock_type=ClockType.STEADY_TIME)), time.monotonic()


class SlowClock:
    """The clock of a node that is AHEAD of the steady clock, whose readings take given times [ns] until they end."""

    def __init__(self, monkeypatch, durations):
        self.time, self.durations, self.readings = stamp_at(NOW), iter(durations), 0
        monkeypatch.setattr(time, "monotonic_ns", lambda: self.time)

    def now(self):
        self.readings += 1
        self.time += next(self.durations)
        return Time(nanoseconds=self.time + AHEAD)


def stamp_at(seconds):
    return round(seconds * NANOSECONDS)


@pytest.mark.parametrize("begin", [simulated, steady])
def test_stamps_near_the_present_are_the_times_of_their_commands(begin):
    moments, now = begin()
    for ahead in (-0.2, 0.0, 0.9):
        assert moments.moment(stamp_at(now + ahead)) == pytest.approx(now + ahead, abs=1e-3)


def test_a_clock_that_is_always_slow_to_read_gives_stamps(monkeypatch):
    """A node that waited for a quick reading would publish nothing any more."""
    clock = SlowClock(monkeypatch, [300_000] * 1000)
    assert SteadyMoments(clock).nanoseconds(NOW) == pytest.approx(stamp_at(NOW) + AHEAD, abs=150_000)
    assert clock.readings < 1000


def test_the_quickest_reading_of_a_slow_clock_counts(monkeypatch):
    durations = [50_000_000] * 1000
    durations[3] = 200_000
    moments = SteadyMoments(SlowClock(monkeypatch, durations))
    assert moments.nanoseconds(NOW) == pytest.approx(stamp_at(NOW) + AHEAD, abs=100_000)


@pytest.mark.parametrize("begin", [simulated, steady])
def test_commands_without_a_stamp_or_with_an_old_one_are_carried_out_on_arrival(begin):
    moments, now = begin()
    assert moments.moment(0) is None
    assert moments.moment(stamp_at(now - MAX_SKEW - 0.1)) is None


@pytest.mark.parametrize("begin", [simulated, steady])
def test_stamps_far_ahead_are_refused(begin):
    moments, now = begin()
    with pytest.raises(InvalidRequestError, match=r"s ahead of the clock of the simulation, expected at most 1 s"):
        moments.moment(stamp_at(now + MAX_SKEW + 60.0))
