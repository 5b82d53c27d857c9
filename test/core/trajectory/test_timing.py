"""Timed motions obey their limits everywhere, stop at corners, and stay on their path."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_cell_planner.errors import InvalidRequestError, JointLimitError, TimedOutError
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.parameterization import PathModel, time_path
from robot_cell_planner.trajectory.sampled_paths import sharp_corners
from robot_cell_planner.trajectory.timing import (
    TimedMotion,
    TimingMethod,
    TimingOptions,
    follow_samples,
    stop_at_waypoints,
)
from robot_cell_planner.trajectory.validation import validate

TOLERANCE = 1.0 + 1e-6


def limits_for(dof, seed=0):
    rng = np.random.default_rng(seed)
    return MotionLimits(
        tuple(f"j{index}" for index in range(dof)),
        np.full(dof, -3.0),
        np.full(dof, 3.0),
        rng.uniform(0.2, 3.0, dof),
        rng.uniform(0.5, 15.0, dof),
        rng.uniform(5.0, 500.0, dof),
    )


def assert_within(motion: TimedMotion, limits: MotionLimits, period: float) -> None:
    """Checks derivatives of the exact curve at ten times its sampling, and differences of its positions."""
    times = np.arange(0.0, motion.curve.duration, period / 10)
    for order, bound in enumerate((limits.velocity, limits.acceleration, limits.jerk), start=1):
        assert (np.abs(motion.curve.evaluate(times, order)) <= bound * TOLERANCE).all()
    speeds = np.diff(motion.curve.evaluate(times), axis=0) / (period / 10)
    assert (np.abs(speeds) <= limits.velocity * TOLERANCE + 1e-8).all()


paths = st.integers(1, 7).flatmap(
    lambda dof: st.lists(
        st.lists(st.floats(-3.0, 3.0).map(lambda x: round(x, 3)), min_size=dof, max_size=dof), min_size=1, max_size=6
    )
)


@settings(max_examples=60, deadline=None)
@given(paths, st.integers(0, 5), st.sampled_from([0.001, 0.004, 0.05]))
def test_stopping_obeys_limits_and_stays_on_the_polyline(points, seed, period):
    path = np.array(points)
    limits = limits_for(path.shape[1], seed)
    motion = stop_at_waypoints(path, limits, TimingOptions(period=period))
    assert_within(motion, limits, period)
    trajectory = motion.trajectory
    assert (trajectory.positions[0] == path[0]).all()
    assert (trajectory.positions[-1] == path[-1]).all()
    assert not trajectory.velocities[[0, -1]].any()
    assert not trajectory.accelerations[[0, -1]].any()
    passed = motion.curve.evaluate(motion.passing_times)
    assert np.abs(passed - path).max() < 1e-9
    for begin, end, first, last in zip(motion.passing_times, motion.passing_times[1:], path, path[1:], strict=False):
        between = motion.curve.evaluate(np.linspace(begin, end, 20))
        step = last - first
        share = (between - first) @ step / max(step @ step, 1e-300)
        assert np.abs(between - first - share[:, None] * step).max() < 1e-8


def test_every_corner_is_a_sample_at_rest():
    path = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    trajectory = stop_at_waypoints(path, limits_for(2)).trajectory
    rows = np.flatnonzero((trajectory.positions == path[1]).all(axis=1))
    assert len(rows) == 1
    assert not trajectory.velocities[rows[0]].any()


def test_a_waypoint_on_a_straight_path_needs_no_stop():
    limits = limits_for(3)
    ends = np.array([[0.1, -0.2, 0.3], [1.3, 2.0, -1.1]])
    shares = np.array([0.0, 0.2, 0.21, 0.7, 1.0])[:, None]
    direct = stop_at_waypoints(ends, limits)
    through = stop_at_waypoints(ends[0] + shares * (ends[1] - ends[0]), limits)
    assert through.curve.duration == pytest.approx(direct.curve.duration, abs=1e-12)
    assert (np.diff(through.passing_times) > 0.0).all()


def test_turning_back_on_the_line_is_a_stop():
    path = np.array([[0.0], [1.0], [0.5]])
    motion = stop_at_waypoints(path, limits_for(1))
    assert motion.curve.evaluate(motion.passing_times[1:2], 1)[0, 0] == pytest.approx(0.0, abs=1e-9)
    assert motion.trajectory.positions.max() == 1.0


def test_duration_of_a_long_motion_is_that_of_the_closed_formula():
    limits = MotionLimits(("a",), [-10], [10], [1.0], [2.0], [20.0])
    motion = stop_at_waypoints(np.array([[0.0], [5.0]]), limits, TimingOptions(period=0.001))
    # length / v + v / a + a / j
    assert motion.curve.duration == pytest.approx(5.0 + 0.5 + 0.1, abs=1.001e-3)


@settings(max_examples=30, deadline=None)
@given(paths, st.integers(0, 5), st.sampled_from([0.02, 0.05, 0.1, 1.0]))
def test_fewer_samples_neither_slow_a_motion_down_nor_change_its_curve(points, seed, period):
    path = np.array(points)
    fine, coarse = (
        stop_at_waypoints(path, limits_for(path.shape[1], seed), TimingOptions(period=each)).trajectory
        for each in (0.01, period)
    )
    assert len(coarse) <= len(fine)
    assert coarse.duration == fine.duration
    times = np.linspace(0.0, fine.duration, 50)
    np.testing.assert_allclose(coarse.at(times), fine.at(times), atol=1e-9)


def test_repeated_points_take_no_time():
    limits = limits_for(2)
    plain = stop_at_waypoints(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), limits)
    double = stop_at_waypoints(np.array([[0.0, 0.0]] * 2 + [[1.0, 0.0]] * 3 + [[1.0, 1.0]] * 2), limits)
    assert double.curve.duration == pytest.approx(plain.curve.duration, abs=1e-12)
    resting = stop_at_waypoints(np.array([[0.5, 0.5]] * 3), limits)
    assert resting.curve.duration == 0.0
    assert len(resting.trajectory) == 1


def test_lower_scales_take_longer_and_stay_within():
    limits = limits_for(3)
    path = np.array([[0.0, 0.0, 0.0], [1.0, -1.0, 2.0]])
    options = TimingOptions(velocity_scale=0.5, acceleration_scale=0.25, jerk_scale=0.1)
    slow = stop_at_waypoints(path, limits, options)
    assert slow.curve.duration > stop_at_waypoints(path, limits).curve.duration
    assert_within(slow, limits.scaled(0.5, 0.25, 0.1), 0.004)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 7), st.integers(0, 1000), st.integers(2, 80))
def test_samples_of_a_smooth_curve_are_met_within_limits(dof, seed, count):
    rng = np.random.default_rng(seed)
    limits = limits_for(dof, seed)
    s = np.linspace(0.0, 1.0, count)[:, None]
    samples = rng.uniform(-1, 1, dof) * s + 0.5 * np.sin(rng.uniform(0, 6, dof) * s + rng.uniform(0, 6, dof))
    motion = follow_samples(samples, limits, parameters=0.3 * s[:, 0])
    assert_within(motion, limits, 0.004)
    assert np.abs(motion.curve.evaluate(motion.passing_times) - samples).max() < 1e-9
    assert not motion.trajectory.velocities[-1].any()
    assert (motion.trajectory.positions[-1] == samples[-1]).all()


def test_corners_of_a_sampled_path_are_stops():
    limits = limits_for(2)
    leg = np.linspace(0.0, 1.0, 20)[:, None]
    samples = np.concatenate((leg * [1.0, 0.0], [1.0, 0.0] + leg[1:] * [0.0, 1.0]))
    motion = follow_samples(samples, limits, stops=(19,))
    assert_within(motion, limits, 0.004)
    speed = motion.curve.evaluate(motion.passing_times[19:20], 1)
    assert np.abs(speed).max() < 1e-9
    assert np.abs(motion.trajectory.positions.min(axis=1)).max() <= 1.0 + 1e-9


@pytest.mark.parametrize("count", [300, 3000, 30_000])
@pytest.mark.parametrize("joints", [[1.0, 0.0], [1.0, 0.5]])
def test_reversing_samples_stop_only_at_their_turning_points(count, joints):
    """At any density of samples, the duration is that of the fastest straight motions between turning points."""
    limits = limits_for(2)
    samples = np.sin(np.linspace(0.0, 2.0 * np.pi, count))[:, None] * np.array(joints)
    motion = follow_samples(samples, limits)
    assert_within(motion, limits, 0.004)
    assert np.abs(motion.curve.evaluate(motion.passing_times) - samples).max() < 1e-9
    turns = samples[[0, int(samples[:, 0].argmax()), int(samples[:, 0].argmin()), -1]]
    assert motion.curve.duration == pytest.approx(stop_at_waypoints(turns, limits).curve.duration, rel=0.01)
    assert validate(motion.trajectory, limits).valid


@pytest.mark.parametrize("count", [100, 1000, 10_000])
def test_denser_samples_of_a_curve_take_no_longer(count):
    limits = limits_for(2)
    t = np.linspace(0.0, 2.0 * np.pi, count)
    motion = follow_samples(np.column_stack((np.sin(t), np.cos(t))), limits)
    assert len(motion.rests) == 2
    # At unit radius both joints have the speed along the circle, its square as acceleration and its cube as jerk.
    speed = motion.curve.parts[0].time_scaling.evaluate(np.linspace(0.0, motion.curve.duration, 500), 1).max()
    by_jerk = np.cbrt(0.25 * limits.jerk.min())
    assert speed == pytest.approx(
        min(limits.velocity.min(), np.sqrt(0.5 * limits.acceleration.min()), by_jerk), rel=0.02
    )
    assert validate(motion.trajectory, limits).valid


def test_sharp_turns_are_distinguished_from_smooth_bends():
    leg = np.linspace(0.0, 1.0, 50)[:, None]
    corner = np.concatenate((leg * [1.0, 0.0], [1.0, 0.0] + leg[1:] * [0.0, 1.0]))
    assert sharp_corners(corner) == [49]
    turn = np.linspace(0.0, 1.5 * np.pi, 30)
    assert sharp_corners(np.column_stack((np.sin(turn), np.cos(turn)))) == []
    noise = np.random.default_rng(1).normal(size=(20_000, 2)) * 1e-7
    assert sharp_corners(np.column_stack((np.linspace(0.0, 1.0, 20_000), np.zeros(20_000))) + noise) == []


def test_speed_along_the_path_is_limited():
    limits = limits_for(2)
    metres = np.linspace(0.0, 0.3, 31)
    motion = follow_samples(
        np.column_stack((metres, np.sin(metres))), limits, TimingOptions(path_speed=0.05), parameters=metres
    )
    speeds = motion.curve.parts[0].time_scaling.evaluate(np.linspace(0, motion.curve.duration, 500), 1)
    assert speeds.max() <= 0.05 * TOLERANCE
    assert speeds.max() > 0.0499


@pytest.mark.parametrize("timing", [stop_at_waypoints, follow_samples])
def test_bad_paths_are_refused_by_name(timing):
    limits = limits_for(2)
    with pytest.raises(InvalidRequestError, match="shape"):
        timing(np.zeros((3, 3)), limits)
    with pytest.raises(InvalidRequestError, match="point 1: joint j1 is nan"):
        timing(np.array([[0.0, 0.0], [0.0, np.nan]]), limits)
    with pytest.raises(JointLimitError, match="joint j0") as caught:
        timing(np.array([[0.0, 0.0], [3.5, 0.0]]), limits)
    assert caught.value.values[0].limit == 3.0


def test_bad_options_are_refused():
    with pytest.raises(InvalidRequestError, match="period"):
        TimingOptions(period=0.0)
    with pytest.raises(InvalidRequestError, match="velocity scale"):
        stop_at_waypoints(np.zeros((1, 2)), limits_for(2), TimingOptions(velocity_scale=1.5))
    with pytest.raises(InvalidRequestError, match="not above"):
        follow_samples(np.array([[0.0, 0.0], [1.0, 1.0]]), limits_for(2), parameters=np.array([1.0, 1.0]))
    with pytest.raises(InvalidRequestError, match="acceleration limit of joint a"):
        MotionLimits(("a",), [0], [1], [1.0], [0.0], [1.0])


def test_same_input_same_bytes():
    path = np.random.default_rng(3).uniform(-2, 2, (5, 6))
    first, second = (stop_at_waypoints(path, limits_for(6)).trajectory for _ in range(2))
    assert first.positions.tobytes() == second.positions.tobytes()
    assert first.times.tobytes() == second.times.tobytes()


@pytest.mark.parametrize("method", [TimingMethod.STOP_AT_WAYPOINTS, TimingMethod.FOLLOW_SAMPLES])
def test_the_timing_of_many_stops_can_be_ended_before_its_end(method):
    corners = np.column_stack((np.arange(1000) % 2, 0.01 * np.arange(1000)))
    limits = MotionLimits(("a", "b"), np.full(2, -20.0), np.full(2, 20.0), *np.full((3, 2), 10.0))
    calls = []

    def third_time():
        calls.append(1)
        if len(calls) == 3:
            raise TimedOutError("the time limit was reached", stage="timing")

    options = TimingOptions(method=method)
    with pytest.raises(TimedOutError):
        time_path(corners, limits, options, PathModel(check=third_time), stops=range(1000))
