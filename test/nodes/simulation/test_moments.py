"""Stamps of commands: carried out at their times, on arrival, or refused."""

import time

import pytest
from rclpy.clock import Clock, ClockType

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.nodes.conversions.basic import NANOSECONDS
from robot_cell_planner.nodes.simulation.moments import MAX_SKEW, SimulatedMoments, SteadyMoments

NOW = 50.0


def simulated():
    moments = SimulatedMoments()
    moments.nanoseconds(NOW)
    return moments, NOW


def steady():
    return SteadyMoments(Clock(clock_type=ClockType.STEADY_TIME)), time.monotonic()


def stamp_at(seconds):
    return round(seconds * NANOSECONDS)


@pytest.mark.parametrize("begin", [simulated, steady])
def test_stamps_near_the_present_are_the_times_of_their_commands(begin):
    moments, now = begin()
    for ahead in (-0.2, 0.0, 0.9):
        assert moments.moment(stamp_at(now + ahead)) == pytest.approx(now + ahead, abs=1e-3)


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
