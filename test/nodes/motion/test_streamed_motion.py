"""What is held against the tolerances of a motion, and what its record says of that."""

import math
import time

import numpy as np
import pytest

from robot_cell_planner.errors import StoppedError, TrackingError
from robot_cell_planner.nodes.motion.joint_feedback import JointFeedback
from robot_cell_planner.nodes.motion.path_return import FeedbackTimeouts, PathReturn
from robot_cell_planner.nodes.motion.streamed_motion import StreamedMotion
from robot_cell_planner.nodes.motion.trajectory_goals import MotionGoal, Tolerances
from robot_cell_planner.trajectory.sampler import SamplerOptions
from robot_cell_planner.trajectory.trajectory import Trajectory

SECOND = 1_000_000_000
BEGIN = 100 * SECOND  # the time of messages at which it begins
LONGEST_GAP = 0.1
TRAJECTORY = Trajectory(("joint",), np.array([0.0, 1.0, 2.0]), np.array([[0.0], [0.5], [1.0]]))


class Stream:
    """Plays a channel as far as it is told to, at a rate of 250 Hz in time that a test makes up."""

    def __init__(self):
        self.stamp = BEGIN

    def play(self, channel, seconds):
        for _ in range(round(seconds * 250)):
            now = (self.stamp - BEGIN) / SECOND
            channel.play(now, self.stamp, LONGEST_GAP)
            if channel.has_come_to_its_end(now) and not channel.ended:
                channel.ended_at = time.monotonic()
            self.stamp += SECOND // 250

    def set_scale(self, channel, scale):
        if not channel.stopping:
            channel.playback.set_scale(scale, (self.stamp - BEGIN) / SECOND)
            channel.stands = False

    def stop(self, channel):
        self.set_scale(channel, 0.0)
        channel.stopping = True

    def drop(self, channel):
        """It is played no further by who plays it here."""

    def commanded_at(self, channel, stamp):
        return channel.at(stamp)


class Case:
    def __init__(self, path_return_timeout=0.0):
        self.stream, self.feedback = Stream(), JointFeedback(jump=10.0)
        one = np.ones(1)
        tolerances = Tolerances(0.01, 0.1 * one, math.inf * one, 0.005 * one, math.inf * one, 5.0)
        self.motion = StreamedMotion(
            self.stream,
            SamplerOptions(),
            lambda: None,
            MotionGoal("owner", ("joint",), TRAJECTORY, tolerances),
            self.feedback,
            global_scale=1.0,
            timeouts=FeedbackTimeouts(60.0, 60.0, path_return_timeout),
            on_done=lambda: None,
        )
        self.channel = self.motion.channel

    def measure(self, stamp, error=0.0):
        """The robot is so far from where it was commanded to be at a time."""
        now = time.monotonic()
        self.feedback.start_poll(now)
        position = float(self.channel.at(stamp).positions[0]) + error
        self.feedback.update(["joint"], [position], [], [], stamp, now)
        self.motion.poll()


def test_what_was_measured_on_the_way_counts_when_the_end_was_commanded_meanwhile():
    """It arrives late, as from a robot whose process was held up; the motion used to end well with an error of 0.33."""
    case = Case()
    case.stream.play(case.channel, 1.0)
    case.measure(BEGIN + SECOND // 2)
    case.stream.play(case.channel, 1.5)
    assert case.channel.ended
    case.measure(BEGIN + 3 * SECOND // 2, error=0.33)
    assert isinstance(case.motion.error, TrackingError)
    assert case.motion.error.stage == "path tolerance"
    assert case.motion.account.max_tracking_error == pytest.approx(0.33)


def test_a_motion_that_ends_well_has_recorded_no_error_beyond_its_tolerance():
    case = Case()
    case.stream.play(case.channel, 1.0)
    case.measure(BEGIN + SECOND // 2, error=0.09)
    case.stream.play(case.channel, 1.5)
    # After the end it counts how near the robot is to the goal.
    case.measure(BEGIN + 5 * SECOND // 2, error=0.5)
    assert case.motion.error is None
    case.measure(BEGIN + 5 * SECOND // 2 + 1, error=0.001)
    assert case.motion.phase == "done"
    assert case.motion.error is None
    assert case.motion.account.max_tracking_error == pytest.approx(0.09)
    assert case.motion.account.goal_error == pytest.approx(0.001)


def test_after_a_pause_it_is_held_until_the_robot_has_come_back():
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


def test_a_robot_that_does_not_come_back_ends_it():
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
    case.motion.stop(StoppedError("asked for"))
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
