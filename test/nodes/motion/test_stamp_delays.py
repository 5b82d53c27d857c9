"""Lags of the stamps of joint states: one that stays the same is that of another clock, one that grows is a driver that
does not keep up."""

import math

import numpy as np
import pytest

from robot_cell_planner.nodes.motion.joint_feedback import JointFeedback
from robot_cell_planner.nodes.motion.stamp_delays import CONSTANT_FOR, LEAK

SECOND = 1_000_000_000
PERIOD = 0.04
LIMIT = 2.0  # [s]
ROBOT = ("shoulder", "elbow")


class Robot:
    """Measurements of a robot whose stamps, and the clock of the node that receives them, run at rates of their own."""

    def __init__(self):
        self.feedback, self.now, self._random = JointFeedback(jump=0.5), 0.0, np.random.default_rng(4)
        self.stamp = self.clock = 1000.0  # [s]

    def run(self, seconds, stamps=1.0, clock=1.0, noise=0.0):
        """Let time pass; returns the lags after each message [s]. noise: largest delay of a message [s]."""
        lags, begin, arrived = [], self.now, self.now
        for _ in range(round(seconds / PERIOD)):
            self.now, self.stamp = self.now + PERIOD, self.stamp + PERIOD * stamps
            arrives = max(arrived, self.now + self._random.uniform(0.0, noise))  # in order
            while arrived < arrives:
                arrived = min(arrived + PERIOD, arrives)
                self.feedback.start_poll(arrived)
            stamp, received = (round(value * SECOND) for value in (self.stamp, self.clock + clock * (arrived - begin)))
            self.feedback.update(ROBOT, [0.0, 0.0], [], [], stamp, arrived, received)
            lags.append(self.feedback.lag(ROBOT))
        self.clock += clock * (self.now - begin)
        return lags


@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("rate", [2.0, 10.0, 50.0])
def test_a_clock_that_ran_too_fast_is_forgotten_after_its_lag_was_constant(rate, noise):
    robot = Robot()
    assert max(robot.run(10.0, noise=noise)) < LIMIT
    assert robot.run(60.0, clock=rate, noise=noise)[-1] > LIMIT
    found = robot.run(CONSTANT_FOR - 5.0, noise=noise)
    assert min(found[50:]) > LIMIT  # it may still grow
    assert not robot.feedback.take_warnings(robot.now)
    assert max(robot.run(60.0 + CONSTANT_FOR, noise=noise)[-100:]) <= 0.2 + noise
    (warning,) = robot.feedback.take_warnings(robot.now)
    assert "shoulder, elbow lag by" in warning
    assert not robot.feedback.take_warnings(robot.now)


@pytest.mark.parametrize("growth", [1.2 * LEAK, 2.0 * LEAK, 0.9])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_a_driver_that_lags_more_and_more_is_found_and_stays_found(growth, noise):
    robot = Robot()
    robot.run(10.0, noise=noise)
    found = robot.run(5.0 * (LIMIT + 1.0) / (growth - LEAK), stamps=1.0 - growth, noise=noise)
    first = next(index for index, lag in enumerate(found) if lag > LIMIT)
    assert first * PERIOD < 1.1 * (LIMIT + 1.0) / (growth - LEAK)
    assert min(found[first + round(CONSTANT_FOR / PERIOD) :], default=math.inf) > LIMIT - noise


def test_a_lag_that_grows_again_after_it_was_forgotten_is_found():
    robot = Robot()
    robot.run(10.0)
    robot.run(60.0, clock=10.0)
    assert robot.run(2.0 * CONSTANT_FOR)[-1] < 0.1
    assert robot.run(10.0, stamps=0.5)[-1] > LIMIT


def test_a_lag_that_comes_and_goes_is_not_taken_for_another_clock():
    """The robot catches up each time: its least delay remains that of a quick message."""
    robot = Robot()
    robot.run(10.0)
    for _ in range(4):
        lag = robot.run(5.0, stamps=0.2)[-1]
        assert lag == pytest.approx(4.0, abs=0.5)
        assert robot.run(5.0, stamps=1.8)[-1] == pytest.approx(0.0, abs=0.3)
    assert not robot.feedback.take_warnings(robot.now)


def test_without_a_reason_nothing_is_reported():
    robot = Robot()
    robot.run(5.0 * CONSTANT_FOR, noise=0.3)
    assert not robot.feedback.take_warnings(robot.now)
