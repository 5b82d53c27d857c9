"""The last barrier, tested alone: channels with an invalid trajectory or sampler send no command beyond a limit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_cell_planner.errors import InternalError, TrajectoryLimitError
from robot_cell_planner.nodes.motion.channels import Channel
from robot_cell_planner.nodes.servo.channel import ServoChannel
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.parameterization import time_path
from robot_cell_planner.trajectory.sampler import SamplerOptions, TrajectorySample
from robot_cell_planner.trajectory.servo import ServoState
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions
from robot_cell_planner.trajectory.trajectory import Trajectory

LONGEST_GAP, PERIOD = 0.1, 0.004
JOINTS = ("pan", "lift")
LIMITS = MotionLimits(
    JOINTS,
    np.array([-3.0, -1.0]),
    np.array([3.0, 1.0]),
    np.array([2.0943951, 3.0]),
    np.array([4.0, 6.0]),
    np.array([40.0, 60.0]),
)
ALLOWED_SPEED, ALLOWED_ACCELERATION = 1.0 + 1e-3, 1.0 + 0.05  # as in docs/execution.md


def trajectory(times, *rows):
    return Trajectory(JOINTS, np.array(times), *(np.array(given, dtype=float) for given in rows))


def channel(played, limits=LIMITS):
    return Channel(JOINTS, "owner", played, 1.0, SamplerOptions(), lambda: None, limits=limits)


class Sent:
    """The commands that a channel made, at the times for which they are."""

    def __init__(self, played, intervals, on_step=lambda now: None):
        self.times, self.samples, now = [], [], 10.0
        for interval in intervals:
            now += interval
            on_step(now)
            played.play(now, round(now * 1e9), LONGEST_GAP)
            self.times.append(now)
            self.samples.append(played.last)
            if played.has_come_to_its_end(now):
                break
        self.times = np.array(self.times)
        self.positions = np.array([sample.positions for sample in self.samples])
        self.velocities = np.array([sample.velocities for sample in self.samples])

    def check(self, start, held=False):
        """Every command keeps the limits, by its own numbers and by those of the command before; held: the last one may
        be the hold of the one before."""
        positions, velocities = np.vstack([start, self.positions]), np.vstack([np.zeros(2), self.velocities])
        assert np.isfinite(positions).all()
        assert np.isfinite(velocities).all()
        assert (self.positions <= LIMITS.upper + 1e-6).all()
        assert (self.positions >= LIMITS.lower - 1e-6).all()
        assert (np.abs(velocities) <= LIMITS.velocity * ALLOWED_SPEED).all()
        # The first command may have been for any time before: nothing moved.
        intervals = np.concatenate([[PERIOD], np.diff(self.times)])[:, None]
        steps, changes = np.diff(positions, axis=0) / intervals, np.diff(velocities, axis=0) / intervals
        assert (np.abs(steps) <= LIMITS.velocity * ALLOWED_SPEED + 1e-3).all()
        within = (np.abs(changes) <= LIMITS.acceleration * ALLOWED_ACCELERATION + 1e-3).all(axis=1)
        if held and not within[-1]:
            assert np.array_equal(positions[-1], positions[-2])
            within[-1] = True
        assert within.all()


def steady(seconds):
    return [PERIOD] * round(seconds / PERIOD)


# Two points 0.3 rad apart in 0.02 s at rest: 22.5 rad/s between them.
STEEP = trajectory([0.0, 0.02], np.array([[0.0, 0.0], [0.3, 0.0]]), np.zeros((2, 2)))


def test_a_curve_that_is_too_fast_between_its_points_is_not_sent():
    played = channel(STEEP)
    sent = Sent(played, steady(1.0))
    sent.check([0.0, 0.0])
    assert np.abs(sent.positions).max() < 1e-3
    assert isinstance(played.violation, TrajectoryLimitError)
    assert played.violation.stage == "command limits"
    assert played.violation.subjects == ("pan",)
    assert played.violation.values[0].value > 5 * played.violation.values[0].limit == pytest.approx(5 * 2.0943951)
    assert played.halted


def test_without_the_barrier_it_would_have_been_sent():
    """The same without known limits, to show that the test above can fail."""
    sent = Sent(channel(STEEP, None), steady(1.0))
    assert np.abs(sent.velocities).max() > 10 * LIMITS.velocity[0]


def ramp(acceleration, seconds=1.5):
    """From rest with one acceleration of the first joint, the other along with it."""
    times = np.linspace(0.0, seconds, 151)
    rates = 0.5 * acceleration * times**2, acceleration * times, np.full_like(times, acceleration)
    rows = [rate[:, None] * [1.0, 0.3] for rate in rates]
    return trajectory(times, rows[0] - [1.0, 0.3], *rows[1:])


def test_it_stops_on_the_path_within_the_limits():
    """A curve that keeps the acceleration limit, and exceeds the velocity limit 0.5 s on."""
    played = channel(ramp(3.9))
    sent = Sent(played, steady(3.0))
    sent.check([-1.0, -0.3])
    assert played.violation.values[0].name == "velocity"
    assert played.violation.values[0].limit == pytest.approx(2.0943951)
    moved = np.add(sent.positions, [1.0, 0.3])
    np.testing.assert_allclose(moved[:, 1], 0.3 * moved[:, 0], atol=1e-9)
    assert (np.diff(moved[:, 0]) >= 0.0).all()
    assert not sent.velocities[-1].any()
    # As soon as 4 rad/s2 allow from 2.09 rad/s.
    fastest = int(np.argmax(sent.velocities[:, 0]))
    assert sent.times[-1] - sent.times[fastest] == pytest.approx(2.09 / 4.0, rel=0.05)


GOOD = time_path(
    np.array([[-1.0, -0.3], [1.0, 0.4], [-0.5, 0.6]]), LIMITS, TimingOptions(method=TimingMethod.SMOOTH, period=0.004)
).trajectory


class BadSampler:
    """A sampler that is correct until some time; then its samples are changed by a function."""

    def __init__(self, played, spoil, since):
        self._played, self._spoil, self._since = played, spoil, since
        self.time_scaling, self.scale = played.time_scaling, 1.0

    def sample(self, now):
        found = self._played.sample(now)
        return self._spoil(found) if now > self._since else found

    def __getattr__(self, name):
        return getattr(self._played, name)


def changed(**rows):
    def spoil(sample):
        values = {name: getattr(sample, name) for name in ("parameter", "positions", "velocities", "accelerations")}
        for name, change in rows.items():
            values[name] = change(values[name])
        return TrajectorySample(**values)

    return spoil


def failing(sample):
    raise ZeroDivisionError("planted")


@pytest.mark.parametrize(
    "spoil",
    [
        changed(positions=lambda p: p * np.nan),
        changed(positions=lambda p: np.add(p, [np.inf, 0.0])),
        changed(velocities=lambda v: np.add(v, [0.0, np.nan])),
        changed(positions=lambda p: np.add(p, [0.005, 0.0])),
        changed(positions=lambda p: np.add(p, [0.0, -0.4])),
        changed(velocities=lambda v: v * 1e308),
        changed(velocities=lambda v: -v),
        changed(positions=lambda p: p * 0.0, velocities=lambda v: v * 0.0),
        changed(parameter=lambda s: np.nan, positions=lambda p: p[::-1]),
        failing,
    ],
)
def test_a_sampler_that_fails_in_motion_ends_in_a_stop_on_the_path(spoil):
    played = channel(GOOD)
    played.play(10.0, 0, LONGEST_GAP)
    played.sampler = BadSampler(played.sampler, spoil, 10.4)
    sent = Sent(played, steady(4.0))
    sent.check([-1.0, -0.3])
    assert isinstance(played.violation, InternalError if spoil is failing else TrajectoryLimitError)
    places = [sample.parameter for sample in sent.samples]
    np.testing.assert_allclose(sent.positions, GOOD.at(np.array(places)), atol=1e-9)
    assert sent.velocities[95].any()
    assert not sent.velocities[-1].any()
    assert sent.times[-1] < 10.4 + 1.5
    # No further command follows.
    last = sent.positions[-1]
    assert np.array_equal(Sent(played, steady(0.1)).positions[-1], last)


def test_a_position_limit_is_not_passed():
    """A curve that keeps the rates and leads beyond the limit of the second joint: the last command is held."""
    times = np.linspace(0.0, 2.0, 201)
    phase = times / 2.0
    blend = 10 * phase**3 - 15 * phase**4 + 6 * phase**5
    rate = (30 * phase**2 - 60 * phase**3 + 30 * phase**4) / 2.0
    bend = (60 * phase - 180 * phase**2 + 120 * phase**3) / 4.0
    direction = np.array([0.0, 1.4])
    played = channel(Trajectory(JOINTS, times, *(row[:, None] * direction for row in (blend, rate, bend))))
    sent = Sent(played, steady(3.0))
    sent.check([0.0, 0.0], held=True)
    assert played.violation.values[0].name == "position"
    assert played.violation.values[0].limit == 1.0
    assert 0.98 < sent.positions[-1, 1] <= 1.0 + 1e-6


def test_a_joint_that_starts_beyond_a_limit_may_move_back_and_not_on():
    for end, allowed in ((0.8, True), (1.2, False)):
        path = np.array([[0.0, 1.1], [0.0, end]])
        wide = MotionLimits(JOINTS, LIMITS.lower - 1, LIMITS.upper + 1, *(getattr(LIMITS, n) for n in RATES))
        timed = time_path(path, wide, TimingOptions(method=TimingMethod.STOP_AT_WAYPOINTS, period=0.004)).trajectory
        played = channel(timed)
        Sent(played, steady(3.0))
        assert (played.violation is None) is allowed


@pytest.mark.parametrize("scale", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("moment", np.linspace(1.95, 2.05, 6))
def test_a_motion_that_cannot_become_slower_at_once_does_so_later(moment, scale):
    """Just before the fastest part of a corner that is as fast as the limits allow."""
    played = channel(GOOD)

    pending = [moment]

    def change(now):
        if pending and now - 10.0 >= pending[0]:
            pending.pop()
            played.sampler.set_scale(scale, now)

    Sent(played, steady(4.0), change)
    assert not pending
    assert played.violation is None


RATES = ("velocity", "acceleration", "jerk")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(0.001, 0.09), min_size=400, max_size=400),
    st.lists(st.tuples(st.floats(0.0, 3.0), st.floats(0.0, 1.0)), max_size=3),
)
def test_gaps_and_changes_of_speed_are_no_violation(intervals, changes):
    """However unevenly a busy machine sends them, commands of a valid trajectory are accepted."""
    played = channel(GOOD)
    played.play(10.0, 0, LONGEST_GAP)
    pending = sorted(changes)

    def change(now):
        while pending and now - 10.0 >= pending[0][0]:
            played.sampler.set_scale(pending.pop(0)[1], now)

    Sent(played, intervals, change)
    assert played.violation is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0.02, 0.6), st.floats(-1.2, 1.2), st.floats(-1.2, 1.2), st.floats(-4, 4), st.floats(-4, 4)),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(["positions", "velocities"]),
)
def test_no_curve_leads_to_a_command_beyond_a_limit(points, kind):
    times = np.concatenate([[0.0], np.cumsum([point[0] for point in points])])
    positions = np.array([[0.0, 0.0], *(point[1:3] for point in points)])
    velocities = np.array([[0.0, 0.0], *(point[3:5] for point in points)])
    rows = (positions,) if kind == "positions" else (positions, velocities)
    played = channel(Trajectory(JOINTS, times, *rows))
    Sent(played, steady(times[-1] + 3.0)).check([0.0, 0.0], held=True)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_without_limits_commands_are_finite(value):
    played = channel(GOOD, None)
    played.play(10.0, 0, LONGEST_GAP)
    played.sampler = BadSampler(played.sampler, changed(positions=lambda p: np.add(p, [0.0, value])), 10.4)
    sent = Sent(played, steady(1.0))
    assert np.isfinite(sent.positions).all()
    assert played.violation.subjects == ("lift",)


class BadFollower:
    """Follows correctly, until its state is changed by a function."""

    def __init__(self, follower, spoil):
        self._follower, self._spoil, self._steps = follower, spoil, 0

    @property
    def state(self):
        return self._follower.state

    @state.setter
    def state(self, value):
        self._follower.state = value

    def step(self, requested, seconds):
        self._steps += 1
        self._follower.step(requested, seconds)
        if self._steps == 100:
            state = self._follower.state
            self._follower.state = ServoState(*self._spoil(state.positions, state.velocities, state.accelerations))
        return self._follower.state

    def go_on_from_rest(self):
        self._follower.go_on_from_rest()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda p, v, a: (p * np.nan, v, a),
        lambda p, v, a: (p + 0.1, v, a),
        lambda p, v, a: (p, v * 4.0, a),
        lambda p, v, a: (p, -v, a),
    ],
)
def test_servo_that_fails_stops_within_the_limits(spoil):
    played = ServoChannel(JOINTS, "owner", LIMITS, np.zeros(2))
    played.follower = BadFollower(played.follower, spoil)
    played.follow(np.array([1.0, -0.5]), 100.0)
    sent = Sent(played, steady(2.0))
    sent.check([0.0, 0.0])
    assert isinstance(played.violation, TrajectoryLimitError)
    assert np.abs(sent.velocities).max() > 0.9
    assert not sent.velocities[-1].any()
