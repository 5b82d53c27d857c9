"""The age in `execution/status` is that of the robot's measurements, whatever somebody published once."""

import math

import pytest

from robot_cell_planner.nodes.execution.node import POLL_PERIOD, REST_POLL_PERIOD
from robot_cell_planner.nodes.motion.joint_feedback import JointFeedback

SECOND = 1_000_000_000
PERIOD = 0.01
ROBOT = ("shoulder", "elbow")


class Robot:
    """Measurements of joints; now: steady clock [s]."""

    def __init__(self):
        self.now = 0.0
        self.feedback = JointFeedback(jump=0.5)

    def publish(self, *names):
        self.feedback.update(names, [0.0] * len(names), [], [], SECOND + round(self.now * SECOND), self.now)

    def run(self, count, *names):
        """Poll for some periods, in each of which joints are published."""
        for _ in range(count):
            self.now += PERIOD
            self.feedback.start_poll(self.now)
            if names:
                self.publish(*names)

    def age(self, own=()):
        return self.feedback.age_of_published(own, self.now)


@pytest.fixture
def robot():
    return Robot()


def test_without_joint_states_it_is_infinite(robot):
    robot.run(5)
    assert robot.age() == math.inf
    assert robot.age(own=ROBOT) == math.inf


@pytest.mark.parametrize("times", [1, 2])
def test_a_joint_that_was_published_by_mistake_does_not_count(robot, times):
    robot.run(5, *ROBOT)
    for _ in range(times):
        robot.run(1, *ROBOT)
        robot.publish("stray")
    robot.run(100, *ROBOT)
    assert robot.age() == pytest.approx(0.0)
    assert robot.age(own=ROBOT) == pytest.approx(0.0)


def test_a_joint_that_is_not_published_any_more_counts(robot):
    robot.run(5, *ROBOT)
    robot.run(100, ROBOT[0])
    assert robot.age() == pytest.approx(1.0)


def test_a_joint_of_the_robot_counts_from_its_first_measurement_on(robot):
    robot.run(1, *ROBOT)
    robot.run(100, ROBOT[0])
    assert robot.age(own=ROBOT) == pytest.approx(1.0)
    assert robot.age() == pytest.approx(0.0)


def test_the_only_message_counts(robot):
    robot.run(1, *ROBOT)
    robot.run(100)
    assert robot.age() == pytest.approx(1.0)


def silence(robot, interval, period, count=200):
    """The time that has passed, and by how much the age has grown, in polls without messages [s]."""
    robot.run(20, *ROBOT)
    robot.feedback.start_poll(robot.now, period)
    began, age = robot.now, robot.age()
    for _ in range(count):
        robot.now += interval
        robot.feedback.start_poll(robot.now, period)
    return robot.now - began, robot.age() - age


@pytest.mark.parametrize("period, lateness", [(REST_POLL_PERIOD, 0.001), (REST_POLL_PERIOD, 0.03), (POLL_PERIOD, 0.02)])
def test_polls_that_are_a_little_late_are_no_pauses(robot, period, lateness):
    passed, grown = silence(robot, period + lateness, period)
    assert grown == pytest.approx(passed)


@pytest.mark.parametrize("interval", [0.11, 0.2, 1.0])
def test_a_node_that_is_always_late_notices_silence(robot, interval):
    """Each of its polls would have found messages."""
    count = 200
    passed, grown = silence(robot, interval, POLL_PERIOD, count)
    assert (count - 2) * POLL_PERIOD < grown < passed


def test_time_for_which_a_simulation_stands_does_not_count(robot):
    robot.run(5, *ROBOT)
    for _ in range(300):
        robot.now += PERIOD
        robot.feedback.start_poll(robot.now, stood=PERIOD)
    assert robot.age(own=ROBOT) == pytest.approx(0.0, abs=1e-9)
    robot.run(20)
    assert robot.age(own=ROBOT) == pytest.approx(20 * PERIOD)
    robot.run(1, *ROBOT)
    assert robot.age(own=ROBOT) == pytest.approx(0.0)


def test_joint_states_do_not_lag_because_simulated_time_was_unknown_at_first(robot):
    begin = 5000 * SECOND
    for count in range(100):
        robot.now += PERIOD
        robot.feedback.start_poll(robot.now)
        stamp = begin + round(robot.now * SECOND)
        received = 0 if count < 3 else stamp
        robot.feedback.update(ROBOT, [0.0] * len(ROBOT), [], [], stamp, robot.now, received)
        assert robot.feedback.lag(ROBOT) == pytest.approx(0.0, abs=1e-9)
