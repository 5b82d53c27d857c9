"""Errors of joint states say which joints are missing, whether they come with invalid positions, and what helps."""

import math

import pytest

from robot_cell_planner.errors import FeedbackLostError
from robot_cell_planner.nodes.motion.joint_feedback import JointFeedback

SECOND = 1_000_000_000
START = 1000 * SECOND
PERIOD, TIMEOUT = 0.01, 0.25
LEFT, RIGHT = ("left/shoulder", "left/elbow"), ("right/shoulder", "right/elbow")


class Robots:
    """Measurements of two robots; now: steady clock [s]."""

    def __init__(self):
        self.now = 0.0
        self.feedback = JointFeedback(jump=0.5)

    def run(self, count, **positions):
        """Poll for some periods, in each of which the robots that are named have all joints at a position [rad]."""
        for _ in range(count):
            self.now += PERIOD
            self.feedback.start_poll(self.now)
            for side, position in positions.items():
                names = {"left": LEFT, "right": RIGHT}[side]
                stamp = START + round(self.now * SECOND)
                self.feedback.update(names, [position] * len(names), [], [], stamp, self.now)

    def error(self, joints):
        with pytest.raises(FeedbackLostError) as raised:
            self.feedback.fresh(joints, self.now, TIMEOUT)
        return raised.value


@pytest.fixture
def robots():
    return Robots()


def test_the_joints_of_one_robot_are_named_where_others_are_received(robots):
    robots.run(5, left=0.0, right=0.0)
    robots.run(100, right=0.0)
    error = robots.error((*LEFT, *RIGHT))
    assert error.message == "no joint_states received for 1.00 s (limit 0.25 s) with left/shoulder, left/elbow"
    assert error.subjects == LEFT
    assert set(robots.feedback.fresh(RIGHT, robots.now, TIMEOUT)) == set(RIGHT)


def test_without_any_joint_states_no_joints_are_named(robots):
    robots.run(5, left=0.0, right=0.0)
    robots.run(100)
    assert robots.error(LEFT).message == "no joint_states received for 1.00 s (limit 0.25 s)"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_positions_that_are_not_finite_are_the_reason(robots, value):
    robots.run(5, left=0.0, right=0.0)
    robots.run(100, left=value, right=0.0)
    reason = f"; they are received, but the position of left/shoulder is {value}, left/elbow is {value}"
    assert robots.error(LEFT).message.endswith(f"with left/shoulder, left/elbow{reason}")
    robots.run(1, left=0.0, right=0.0)
    robots.run(100, right=0.0)
    assert "position of" not in robots.error(LEFT).message, "they were valid since then"


def test_positions_that_were_never_finite_are_the_reason(robots):
    robots.run(5, left=math.nan, right=0.0)
    expected = "since the node started; they are received, but the position of left/shoulder is nan, left/elbow is nan"
    assert robots.error(LEFT).message.endswith(expected)


def test_joints_with_invalid_positions_are_kept_within_bounds(robots, monkeypatch):
    monkeypatch.setattr("robot_cell_planner.nodes.motion.invalid_positions.MAX_JOINTS", 3)
    for number in range(10):
        robots.feedback.update([f"joint_{number}"], [math.nan], [], [], SECOND, 0.0)
    assert "joint_9 is nan" in robots.error(["joint_9"]).message
    assert "is nan" not in robots.error(["joint_6"]).message


def test_an_error_says_what_was_received_last_and_when(robots):
    """Also of a driver that has fallen silent since."""
    robots.run(5, left=0.25, right=0.0)
    robots.run(50, left=math.nan, right=0.0)
    robots.run(200, right=0.0)
    error = robots.feedback.unknown(LEFT[:1], robots.now)
    assert error.subjects == LEFT[:1]
    assert error.message == (
        "joint_states do not say where left/shoulder is; they are received, but the position of left/shoulder is nan, "
        "received 2.00 s ago (the last valid one is 0.25, 2.50 s ago)"
    )
    assert "once a valid position arrives, or if the request gives it (`state.configuration`)" in error.remedy
    robots.run(1, left=0.3)
    assert robots.feedback.unknown(LEFT, robots.now) is None


def cut_off(robots, count, positions=(0.1,)):
    """Poll for some periods, in each of which a message of the left robot has fewer positions than names."""
    for _ in range(count):
        robots.run(1, right=0.0)
        robots.feedback.update(LEFT, list(positions), [], [], START + round(robots.now * SECOND), robots.now)


def test_messages_with_fewer_positions_than_names_are_the_reason(robots):
    robots.run(5, left=0.0, right=0.0)
    cut_off(robots, 100)
    missing = "missing (the message has 2 names and 1 positions)"
    assert f"the position of left/shoulder is {missing}, left/elbow is {missing}" in robots.error(LEFT).message
    unknown = robots.feedback.unknown((*LEFT, *RIGHT), robots.now)
    assert unknown.subjects == tuple(sorted(LEFT))
    assert f"left/elbow is {missing}, received 0.00 s ago (the last valid one is 0, 1.00 s ago)" in unknown.message


def test_messages_without_positions_say_nothing_about_them(robots):
    robots.run(5, left=0.0, right=0.0)
    cut_off(robots, 100, positions=())
    assert robots.feedback.unknown(LEFT, robots.now) is None
    assert not robots.feedback.problem(robots.now)


def test_malformed_messages_are_in_the_log_now_and_then_and_in_the_diagnostics_while_they_arrive(robots):
    robots.run(5, left=0.0, right=0.0)
    assert (robots.feedback.problem(robots.now), robots.feedback.take_warnings(robots.now)) == ("", [])
    warnings = []
    for _ in range(25):
        cut_off(robots, 100)
        warnings += robots.feedback.take_warnings(robots.now)
        problem = robots.feedback.problem(robots.now)
        assert problem == "joint_states: a message has 2 names and 1 positions: left/shoulder, left/elbow"
    assert len(warnings) == 3
    assert all(warning.startswith(problem) for warning in warnings)
    robots.run(1000, left=0.0, right=0.0)
    assert (robots.feedback.problem(robots.now), robots.feedback.take_warnings(robots.now)) == ("", [])


@pytest.mark.parametrize("position, age, text", [(0.0, 100.0, "was set back"), (3.0, 0.0, "jumped")])
def test_a_second_publisher_is_among_the_causes_of_jumps(robots, position, age, text):
    """A record that is played has old stamps, another simulation other positions."""
    robots.run(20, left=0.0)
    robots.now += PERIOD
    stamp = START + round((robots.now - age) * SECOND)
    robots.feedback.update(LEFT, [position] * len(LEFT), [], [], stamp, robots.now)
    fault, *_ = robots.feedback.take_faults()
    assert text in fault.message
    assert fault.remedy.startswith("Stop a second publisher of the joint")
