"""Errors that are checked against the tolerances of a motion, and their record."""

import math
import time

import numpy as np
import pytest

from robot_cell_planner.errors import FeedbackLostError, StoppedError, TrackingError
from robot_cell_planner.nodes.motion import streamed_motion
from robot_cell_planner.nodes.motion.joint_feedback import JointFeedback
from robot_cell_planner.nodes.motion.motion_clock import SteadyClock
from robot_cell_planner.nodes.motion.path_return import MAX_SLOWNESS, FeedbackTimeouts, PathReturn, RobotTimeout
from robot_cell_planner.nodes.motion.streamed_motion import StreamedMotion
from robot_cell_planner.nodes.motion.trajectory_goals import MotionGoal
from robot_cell_planner.trajectory.sampler import SamplerOptions
from robot_cell_planner.trajectory.tracking import Tolerances, supervise
from robot_cell_planner.trajectory.trajectory import Trajectory

SECOND = 1_000_000_000
BEGIN = 100 * SECOND  # the time of messages at which it begins
LONGEST_GAP = 0.1
GOAL_TIME = 5.0  # [s]
POLL = 0.04  # [s] between two polls, short enough to be no pause
TRAJECTORY = Trajectory(("joint",), np.array([0.0, 1.0, 2.0]), np.array([[0.0], [0.5], [1.0]]))


class Stream:
    """Plays a channel for a given duration, at a rate of 250 Hz in time that the test advances."""

    def __init__(self):
        self.stamp = BEGIN
        self.clock = SteadyClock(None)

    def play(self, channel, seconds):
        for _ in range(round(seconds * 250)):
            now = (self.stamp - BEGIN) / SECOND
            channel.play(now, self.stamp, LONGEST_GAP)
            if channel.has_come_to_its_end(now) and not channel.ended:
                channel.ended_at = time.monotonic()
            self.stamp += SECOND // 250

    def set_scale(self, channel, scale):
        if not channel.stopping:
            channel.sampler.set_scale(scale, (self.stamp - BEGIN) / SECOND)
            channel.awaits_resume = False

    def stop(self, channel):
        self.set_scale(channel, 0.0)
        channel.stopping = True

    def drop(self, channel):
        """The test does not play it any further."""

    def commanded_at(self, channel, stamp):
        return channel.at(stamp)


class Case:
    def __init__(self, path_return_timeout=0.0, timeouts=None):
        self.stream, self.feedback = Stream(), JointFeedback(jump=10.0)
        one = np.ones(1)
        tolerances = Tolerances(0.01, 0.1 * one, math.inf * one, 0.005 * one, math.inf * one, GOAL_TIME)
        self.timeouts = FeedbackTimeouts(60.0, 60.0, path_return_timeout) if timeouts is None else timeouts
        self.motion = StreamedMotion(
            self.stream,
            SamplerOptions(),
            lambda: None,
            MotionGoal("owner", ("joint",), TRAJECTORY, tolerances),
            self.feedback,
            global_scale=1.0,
            timeouts=self.timeouts,
            on_done=lambda: None,
        )
        self.channel = self.motion.channel

    def measure(self, stamp, error=0.0, now=None, received=None):
        """Measure the robot at a time, with an error from its command. now: of the steady clock; received: of the
        clock of the stamps."""
        now = time.monotonic() if now is None else now
        self.feedback.start_poll(now)
        position = float(self.channel.at(stamp).positions[0]) + error
        self.feedback.update(["joint"], [position], [], [], stamp, now, received)
        self.motion.poll()


def test_measurements_on_the_path_count_when_the_end_was_commanded_meanwhile():
    """They arrive late, as from a robot whose process was delayed; the motion used to succeed with an error of 0.33."""
    case = Case()
    case.stream.play(case.channel, 1.0)
    case.measure(BEGIN + SECOND // 2)
    case.stream.play(case.channel, 1.5)
    assert case.channel.ended
    case.measure(BEGIN + 3 * SECOND // 2, error=0.33)
    assert isinstance(case.motion.error, TrackingError)
    assert case.motion.error.stage == "path tolerance"
    assert case.motion.account.max_tracking_error == pytest.approx(0.33)


def test_a_motion_that_succeeds_has_recorded_no_error_beyond_its_tolerance():
    case = Case()
    case.stream.play(case.channel, 1.0)
    case.measure(BEGIN + SECOND // 2, error=0.09)
    case.stream.play(case.channel, 1.5)
    # After the end, the distance of the robot to the goal counts.
    case.measure(BEGIN + 5 * SECOND // 2, error=0.5)
    assert case.motion.error is None
    case.measure(BEGIN + 5 * SECOND // 2 + 1, error=0.001)
    assert case.motion.phase == "done"
    assert case.motion.error is None
    assert case.motion.account.max_tracking_error == pytest.approx(0.09)
    assert case.motion.account.goal_error == pytest.approx(0.001)


class Clock:
    """A steady clock that a test advances."""

    def __init__(self):
        self.now = time.monotonic()

    def monotonic(self):
        return self.now


@pytest.mark.parametrize("speed", [1.0, 0.5, 0.25])
def test_the_robot_has_the_goal_time_in_its_own_time(monkeypatch, speed):
    """A simulation that is slower than real time is late, but not away from its goal."""
    clock = Clock()
    monkeypatch.setattr(streamed_motion, "time", clock)
    case = Case()
    case.stream.play(case.channel, 2.5)
    assert case.channel.ended
    end = BEGIN + 5 * SECOND // 2
    polls = round(GOAL_TIME / POLL / speed)
    for poll in range(2 * polls):
        clock.now += POLL
        case.measure(end + round(poll * POLL * speed * SECOND), error=0.1, now=clock.now)
        if case.motion.error is not None:
            break
    assert isinstance(case.motion.error, TrackingError)
    assert case.motion.error.stage == "goal tolerance"
    assert poll == pytest.approx(polls, abs=2)


def test_a_robot_without_a_clock_has_the_goal_time_by_the_clock_of_the_computer_several_times():
    timeout = RobotTimeout()
    assert not timeout.has_expired(2.0, 10.0, 0, counts=False)
    assert not timeout.has_expired(2.0, 10.0 + 1.99 * MAX_SLOWNESS, 1, counts=True)
    assert timeout.has_expired(2.0, 10.0 + 2.01 * MAX_SLOWNESS, 2, counts=True)


def test_time_that_the_robot_skips_does_not_count():
    """A simulation that skips the time by which it was late has not moved meanwhile."""
    timeout = RobotTimeout()
    assert not timeout.has_expired(2.0, 10.0, 0, counts=True)
    assert not timeout.has_expired(2.0, 11.0, SECOND, counts=True)
    assert not timeout.has_expired(2.0, 11.1, 4 * SECOND, counts=True)
    assert not timeout.has_expired(2.0, 11.9, round(4.8 * SECOND), counts=True)
    assert timeout.has_expired(2.0, 12.2, round(5.1 * SECOND), counts=True)


@pytest.mark.parametrize("period", [0.002, 0.005, 0.02, 0.05, 0.1])
def test_the_time_of_a_robot_counts_whole_whatever_the_period_of_its_messages(period):
    """Several messages are read at once, or none: neither makes a time limit longer."""
    timeout, now = RobotTimeout(), 0.0
    while not timeout.has_expired(2.0, now, round(now // period * period * SECOND), counts=True):
        now += POLL
        for message in range(math.ceil((now - POLL) / period), math.floor(now / period)):
            if timeout.has_expired(2.0, now, round(message * period * SECOND), counts=True):
                break
    assert now == pytest.approx(2.0, abs=POLL + period + 1e-6)


def test_it_waits_for_a_robot_that_lags(monkeypatch):
    """A simulation that is slower than the clock skips time when it is too late: the robot should be at rest then."""
    clock = Clock()
    monkeypatch.setattr(streamed_motion, "time", clock)
    case, lag = Case(timeouts=FeedbackTimeouts(0.25, 60.0, 60.0)), 0.0

    def run(seconds, end):
        """Let time pass, in which the lag changes linearly to its end [s]; returns the phase of the motion."""
        nonlocal lag
        steps = round(seconds / POLL)
        for value in np.linspace(lag, end, steps + 1)[1:]:
            lag = float(value)
            clock.now += POLL
            case.stream.play(case.channel, POLL)
            stamp = case.stream.stamp
            case.measure(stamp - round(lag * SECOND), now=clock.now, received=stamp)
        return case.motion.phase

    assert run(0.2, 0.0) == "moving"
    assert run(0.4, 0.2) == "moving"
    assert run(0.2, 0.3) == "paused"
    assert run(1.0, 0.4) == "paused"
    place = case.channel.last.parameter
    assert not case.channel.last.velocities.any()
    assert run(0.4, 0.25) == "paused"
    assert run(0.4, 0.0) == "moving"
    assert case.channel.last.parameter > place


@pytest.mark.parametrize("rate", [1.0, 10.0])
def test_a_robot_on_another_clock_ends_it_with_the_reason(monkeypatch, rate):
    """The clock of this node runs faster than the robot's stamps: it was held, as for a robot that catches up."""
    clock = Clock()
    monkeypatch.setattr(streamed_motion, "time", clock)
    case, begin = Case(timeouts=FeedbackTimeouts(0.25, 2.0, 60.0)), clock.now
    while case.motion.error is None and clock.now < begin + 10.0:
        clock.now += POLL
        case.stream.play(case.channel, POLL)
        passed = clock.now - begin
        stamp, received = (BEGIN + round(speed * passed * SECOND) for speed in (0.2, rate))
        case.measure(stamp, now=clock.now, received=received)
    error = case.motion.error
    assert isinstance(error, FeedbackLostError)
    assert "the stamps of joint_states lag by 2.0" in error.message
    assert "use_sim_time" in error.remedy
    assert case.motion.phase == "stopping"


def test_after_a_pause_it_is_held_until_the_robot_has_returned():
    case = Case(path_return_timeout=60.0)
    case.stream.play(case.channel, 1.0)
    case.measure(BEGIN + SECOND // 2)
    case.channel.sent.paused_at = time.monotonic()
    case.measure(BEGIN + 6 * SECOND // 10, error=0.33)
    assert case.motion.error is None
    assert case.motion.phase == "paused"
    case.stream.play(case.channel, 1.0)
    place = case.channel.last.parameter
    assert not case.channel.last.velocities.any()
    case.measure(case.stream.stamp, error=0.2)
    assert case.motion.phase == "paused"
    case.measure(case.stream.stamp + 1, error=0.01)
    assert case.motion.phase == "moving"
    case.stream.play(case.channel, 1.0)
    assert case.channel.last.parameter > place
    # Another pause is another reason to wait.
    assert not case.motion._return.is_out
    account = case.motion.account
    assert account.max_tracking_error == pytest.approx(0.01)
    assert account.max_returning_error == pytest.approx(0.33)
    assert account.pauses == 1


def test_a_robot_that_does_not_return_ends_it():
    case = Case(path_return_timeout=1e-3)
    case.stream.play(case.channel, 1.0)
    case.channel.sent.paused_at = time.monotonic()
    case.measure(BEGIN + SECOND // 2, error=0.33)
    for step in range(1, 1000):
        case.measure(BEGIN + SECOND // 2 + step, error=0.33)
        if case.motion.error is not None:
            break
        time.sleep(1e-4)
    assert isinstance(case.motion.error, TrackingError)
    assert case.motion.account.max_tracking_error == pytest.approx(0.33)


def test_without_a_pause_it_is_stopped_at_once():
    case = Case(path_return_timeout=60.0)
    case.stream.play(case.channel, 1.0)
    case.measure(BEGIN + SECOND // 2, error=0.33)
    assert isinstance(case.motion.error, TrackingError)


def test_a_stop_for_another_reason_is_no_tracking_error():
    case = Case()
    case.stream.play(case.channel, 1.0)
    case.measure(BEGIN + SECOND // 2)
    case.motion.stop(StoppedError("requested"))
    case.stream.play(case.channel, 2.0)
    case.measure(case.stream.stamp)
    assert case.motion.phase == "done"
    assert isinstance(case.motion.error, StoppedError)


def test_an_excuse_ends_however_many_pauses_follow():
    returned = PathReturn(2.0)
    assert not returned.excuses(-math.inf, 0.0)
    assert returned.excuses(10.0, 10.5)
    assert returned.excuses(11.9, 12.4)
    assert not returned.excuses(12.4, 12.6)
    returned.is_back()
    assert returned.excuses(12.4, 12.7)


def check_record(motion):
    """The record of a motion leads to the same error."""
    with pytest.raises(type(motion.error)) as caught:
        supervise(motion.supervised())
    assert str(caught.value) == str(motion.error)
    assert caught.value.values == motion.error.values


def test_the_record_of_a_motion_that_left_its_path_leads_to_the_same_error():
    case = Case()
    case.stream.play(case.channel, 1.0)
    for step in range(3):
        case.measure(BEGIN + SECOND // 2 + step, error=0.02 * step)
    case.measure(BEGIN + 6 * SECOND // 10, error=0.33)
    record = case.motion.supervised()
    assert record.actual[:3, 0] - record.desired[:3, 0] == pytest.approx([0.0, 0.02, 0.04])
    case.measure(BEGIN + 7 * SECOND // 10, error=0.5)
    assert len(case.motion.supervised()) > len(record)  # the stop is recorded, too
    check_record(case.motion)


def test_the_record_of_an_excused_deviation_is_no_error():
    case = Case(path_return_timeout=60.0)
    case.stream.play(case.channel, 1.0)
    case.channel.sent.paused_at = time.monotonic()
    case.measure(BEGIN + SECOND // 2, error=0.33)
    assert supervise(case.motion.supervised()).max_error == pytest.approx(0.33)


def test_the_record_of_a_motion_that_was_stopped_has_the_reason():
    case = Case()
    case.stream.play(case.channel, 1.0)
    case.measure(BEGIN + SECOND // 2)
    case.motion.stop(StoppedError("the emergency stop is pressed", stage="emergency stop"))
    assert case.motion.supervised().interruption.stage == "emergency stop"
    check_record(case.motion)
