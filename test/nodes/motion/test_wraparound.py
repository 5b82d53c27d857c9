"""Joints whose drivers publish positions within one turn are measured, moved and checked beyond it."""

import math

import numpy as np
import pytest

from robot_cell_planner.errors import FeedbackLostError, RobotCellError
from robot_cell_planner.nodes.motion.joint_feedback import STOOD, JointFeedback
from robot_cell_planner.nodes.motion.trajectory_goals import MotionGoal
from robot_cell_planner.nodes.motion.wraparound import REMEDY, TURN, Wraparound, turns_away
from robot_cell_planner.trajectory.tracking import Tolerances
from robot_cell_planner.trajectory.trajectory import Trajectory

PERIOD, LOST_AFTER = 0.01, 2.0
SECOND = 1_000_000_000
JOINTS = ("spin", "bend")
ONE = np.ones(2)


class Driver:
    """Publishes the position of a joint within one turn."""

    def __init__(self, *wrapping):
        self.feedback, self.now = JointFeedback(0.5, wraparound=Wraparound(wrapping, LOST_AFTER)), 0.0

    def publish(self, position, after=PERIOD, polled=True):
        for _ in range(round(after / PERIOD) if polled else 1):
            self.now += PERIOD if polled else after
            self.feedback.start_poll(self.now)
        at = math.remainder(position, TURN)
        self.feedback.update(["spin"], [at], [], [], SECOND + round(SECOND * self.now), self.now)

    @property
    def position(self):
        return self.feedback.positions()["spin"]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_positions_continue_over_several_turns_and_back(sign):
    driver = Driver("spin")
    there = np.arange(0.0, 20.0, 0.05)
    for position in sign * np.concatenate([there, there[::-1]]):
        driver.publish(float(position))
        assert driver.position == pytest.approx(position)
    assert driver.feedback.take_faults() == []


def test_noise_at_the_wrap_is_noise():
    driver = Driver("spin")
    for noise in (0.0, 1e-4, -1e-4, 2e-4, -3e-4):
        driver.publish(math.pi + noise)
        assert driver.position == pytest.approx(math.pi + noise)
    assert driver.feedback.stood_for(["spin"]) == pytest.approx(4 * PERIOD)


@pytest.mark.parametrize("wrapping", [(), ("bend",)])
def test_a_wrap_of_another_joint_is_a_fault_whose_remedy_names_the_parameter(wrapping):
    driver = Driver(*wrapping)
    driver.publish(3.1)
    driver.publish(3.2)
    (fault,) = driver.feedback.take_faults()
    assert fault.remedy == REMEDY


@pytest.mark.parametrize("position", [7.0, -70.0])
def test_a_listed_joint_that_is_published_beyond_one_turn_is_an_error(position):
    """Its position by whole turns could be another than that of the robot."""
    feedback = JointFeedback(0.5, wraparound=Wraparound(["spin"], LOST_AFTER))
    for number, (spin, bend) in enumerate([(6.2, 7.0), (position, 7.0), (position, 7.0), (0.1, 7.0)]):
        now = PERIOD * (number + 1)
        feedback.start_poll(now)
        feedback.update(["spin", "bend"], [spin, bend], [], [], SECOND + round(SECOND * now), now)
        if number == 0:
            assert feedback.take_faults() == []
            assert feedback.fresh(["spin"], now, 1.0)["spin"].position == spin
    fault = next(fault for fault in feedback.take_faults() if "beyond one turn" in fault.message)
    assert fault.values[0].value == position
    assert "angle_wraparound" in fault.remedy
    with pytest.raises(FeedbackLostError, match="spin beyond one turn"):
        feedback.fresh(["spin"], now, 1.0)
    assert feedback.fresh(["bend"], now, 1.0)["bend"].position == 7.0


def is_refused(driver):
    try:
        driver.feedback.fresh(["spin"], driver.now, 1.0)
    except FeedbackLostError:
        return True
    return False


class PublishedBeyond(Driver):
    """A driver that has published 7 rad, although its joint wraps."""

    def __init__(self):
        super().__init__("spin")
        self.publish(6.2)
        self.raw(7.0)
        self.feedback.take_faults()
        assert is_refused(self)

    def raw(self, position):
        self.now += PERIOD
        self.feedback.start_poll(self.now)
        self.feedback.update(["spin"], [position], [], [], SECOND + round(SECOND * self.now), self.now)


def test_a_joint_counts_again_once_it_rests_within_a_turn():
    driver = PublishedBeyond()
    driver.raw(0.1)
    for _ in range(round(STOOD / PERIOD) - 1):
        driver.raw(0.1)
        assert is_refused(driver)
    driver.publish(0.1, after=2 * PERIOD)
    driver.raw(0.1)
    assert not is_refused(driver)
    assert driver.position == 0.1  # by how many turns it was beyond is unknown: nothing is added
    driver.publish(0.3)
    assert driver.position == pytest.approx(0.3)


@pytest.mark.parametrize("published", [(0.1, 7.0), (0.1, 0.1, 0.1, 7.0), (0.1, 0.15, 0.2), (7.0,)])
def test_a_joint_that_moves_or_goes_beyond_again_does_not_count(published):
    driver = PublishedBeyond()
    for _ in range(round(10 * STOOD / PERIOD)):
        for position in published:
            driver.raw(position)
            assert is_refused(driver)


def test_a_joint_that_goes_beyond_again_is_reported_again():
    driver = PublishedBeyond()
    for _ in range(20):
        driver.raw(0.1)
    driver.feedback.take_faults()
    driver.raw(-6.5)
    assert any("beyond one turn" in fault.message for fault in driver.feedback.take_faults())
    assert is_refused(driver)


@pytest.mark.parametrize(("step", "turns"), [(0.0, 0), (TURN, 1), (-TURN + 0.005, -1), (2 * TURN, 2), (3.0, 0)])
def test_steps_of_whole_turns_are_distinguished(step, turns):
    assert turns_away(step, 0.01) == turns


def test_a_jump_by_less_than_a_turn_stays_a_fault():
    driver = Driver("spin")
    driver.publish(3.1)
    driver.publish(4.1)
    (fault,) = driver.feedback.take_faults()
    assert fault.remedy != REMEDY
    assert fault.values[0].value == pytest.approx(1.0)


def test_after_a_loss_the_position_counts_as_it_is_published():
    """The driver may have been restarted, and counts turns anew."""
    driver = Driver("spin")
    driver.publish(3.1)
    driver.publish(3.3)
    driver.publish(3.3, after=LOST_AFTER - 0.1)
    assert driver.position == pytest.approx(3.3)
    driver.publish(3.3, after=LOST_AFTER + 0.1)
    assert driver.position == pytest.approx(3.3 - TURN)


def test_a_pause_of_this_process_loses_no_turn():
    driver = Driver("spin")
    driver.publish(3.1)
    driver.publish(3.3)
    driver.publish(3.3, after=10.0 * LOST_AFTER, polled=False)
    assert driver.position == pytest.approx(3.3)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300])
def test_values_that_cannot_be_are_faults(value):
    driver = Driver("spin")
    driver.publish(0.5)
    driver.feedback.update(["spin"], [value], [], [], 2 * SECOND, 1.0)
    (fault,) = driver.feedback.take_faults()
    assert "invalid position" in fault.message
    assert driver.position == 0.5


def goal(first, times=(0.0, 1.0, 2.0)):
    """A motion of spin by 0.4 rad, and of bend by -1 rad."""
    positions = np.array([[first, 0.0], [first + 0.2, -0.5], [first + 0.4, -1.0]])
    return MotionGoal(
        "owner", JOINTS, Trajectory(JOINTS, np.array(times), positions), Tolerances(0.01, *[ONE] * 4, 1.0)
    )


@pytest.mark.parametrize("at", [-20.0, -3.2, -3.0, 0.0, 3.0, 3.2, 7.0, 20.0])
@pytest.mark.parametrize("planned_from", [-2, -1, 0, 1, 3])
def test_a_goal_begins_where_the_robot_is_by_whole_turns(at, planned_from):
    given = goal(at + planned_from * TURN)
    found = given.turned_to({"spin": at, "bend": 0.0}, {"spin"}).starting_at({"spin": at, "bend": 0.0})
    np.testing.assert_allclose(found.trajectory.positions[[0, -1]], [[at, 0.0], [at + 0.4, -1.0]], atol=1e-12)


def test_a_goal_that_begins_there_is_not_changed():
    given = goal(3.2)
    assert given.turned_to({"spin": 3.2, "bend": 0.0}, {"spin"}) is given


def test_other_joints_are_not_shifted():
    given, here = goal(0.0), {"spin": TURN, "bend": TURN}
    with pytest.raises(RobotCellError, match="does not start at the position of bend"):
        given.turned_to(here, {"spin"}).starting_at(here)


def test_a_goal_under_way_is_shifted_to_where_it_is_at_that_time():
    """A long turn whose first point has passed long ago."""
    long = Trajectory(JOINTS, np.array([0.0, 5.0, 10.0]), np.array([[0.0, 0.0], [4.0, 0.0], [8.0, 0.0]]))
    given = MotionGoal("owner", JOINTS, long, Tolerances(0.01, *[ONE] * 4, 1.0))
    here = {"spin": 4.0 + TURN, "bend": 0.0}
    found = given.turned_to(here, {"spin"}, after=5.0)
    np.testing.assert_allclose(found.trajectory.positions[:, 0], np.array([0.0, 4.0, 8.0]) + TURN)
