"""Smooth timing: within limits, near the path, never slower than with stops, and only through checked states."""

from itertools import pairwise

import numpy as np
import pytest
from frozendict import frozendict

from robot_cell_planner.errors import NotSupportedError, TrajectoryError, UnknownNameError
from robot_cell_planner.model.mechanism import JointLimits
from robot_cell_planner.trajectory.blended import SmoothOptions, smooth
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.parameterization import PathModel, time_path
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions, stop_at_waypoints

PERIOD = 0.004


def limits_for(dof, rng=None):
    rng = rng or np.random.default_rng(0)
    velocity = rng.uniform(0.5, 3.0, dof)
    acceleration = velocity * rng.uniform(2.0, 10.0, dof)
    jerk = acceleration * rng.uniform(5.0, 50.0, dof)
    names = tuple(f"j{i}" for i in range(dof))
    return MotionLimits(names, np.full(dof, -10.0), np.full(dof, 10.0), velocity, acceleration, jerk)


def random_path(rng, dof):
    steps = rng.normal(size=(rng.integers(1, 9), dof)) * rng.uniform(0.02, 0.8)
    return np.vstack([np.zeros(dof), np.cumsum(steps, axis=0)])


def distance_to_path(points, path):
    """Largest joint distance of points (k, dof) from the nearest of dense points of the path."""
    dense = np.vstack([np.linspace(a, b, 400) for a, b in pairwise(path)])
    return np.abs(points[:, None] - dense[None]).max(axis=2).min(axis=1)


@pytest.mark.parametrize("seed", range(15))
def test_limits_hold_at_ten_times_the_sampling_and_the_path_is_kept_within_tolerance(seed):
    rng = np.random.default_rng(seed)
    dof, tolerance = int(rng.integers(2, 8)), float(rng.uniform(0.01, 0.2))
    limits, path = limits_for(dof, rng), random_path(rng, dof)
    motion = smooth(path, limits, TimingOptions(period=PERIOD), SmoothOptions(tolerance))
    times = np.arange(0.0, motion.curve.duration, PERIOD / 10)
    for order, most in ((1, limits.velocity), (2, limits.acceleration), (3, limits.jerk)):
        assert (np.abs(motion.curve.evaluate(times, order)) <= most * (1.0 + 1e-6)).all()
    at = motion.curve.evaluate(motion.passing_times)
    assert np.abs(at - path).max() <= tolerance + 1e-9
    away = distance_to_path(motion.curve.evaluate(times[::60]), path)
    assert away.max() <= tolerance + 0.01 * np.abs(np.diff(path, axis=0)).max()
    stopping = stop_at_waypoints(path, limits, TimingOptions(period=PERIOD))
    assert motion.curve.duration <= stopping.curve.duration + PERIOD
    assert np.array_equal(motion.trajectory.positions[-1], path[-1])
    assert not motion.trajectory.velocities[[0, -1]].any()


@pytest.mark.parametrize("seed", range(10))
def test_position_velocity_and_acceleration_are_continuous(seed):
    rng = np.random.default_rng(seed)
    limits = limits_for(4, rng)
    motion = smooth(random_path(rng, 4), limits)
    times = np.linspace(0.0, motion.curve.duration, 20_000)
    step = times[1] - times[0]
    bounds = (limits.velocity, limits.acceleration, limits.jerk)
    for order, most in enumerate(bounds):
        values = motion.curve.evaluate(times, order)
        assert (np.abs(np.diff(values, axis=0)) <= most * step * (1.0 + 1e-6) + 1e-9).all()


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_points_on_a_straight_segment_are_passed_at_their_times(seed, moving):
    rng = np.random.default_rng(seed)
    dof = int(rng.integers(1, 5))
    corners = np.cumsum(rng.normal(size=(4, dof)), axis=0)
    fractions = np.sort(rng.uniform(0.02, 0.98, 7))
    segments = [a + np.concatenate(([0.0], fractions))[:, None] * (b - a) for a, b in pairwise(corners)]
    path = np.vstack((*segments, corners[-1:]))
    velocity = 0.2 * (corners[1] - corners[0]) / np.linalg.norm(corners[1] - corners[0]) if moving else None
    motion = smooth(path, limits_for(dof, rng), blends=SmoothOptions(1e-3), start_velocity=velocity)
    assert (np.diff(motion.passing_times) > 0.0).all()
    assert motion.passing_times[0] == 0.0
    assert motion.passing_times[-1] == motion.curve.duration
    assert np.abs(motion.curve.evaluate(motion.passing_times) - path).max() <= 1e-3 + 1e-9


def test_the_ends_of_a_path_are_passed_at_the_ends_of_a_motion_that_begins_and_ends_beside_it():
    path = np.array([[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [1.0, 1.0]])
    sideways = np.array([0.0, 0.3])
    motion = smooth(path, limits_for(2), start_velocity=-sideways, end_velocity=np.array([0.3, 0.0]))
    assert motion.passing_times[0] == 0.0
    assert motion.passing_times[-1] == motion.curve.duration
    assert (np.diff(motion.passing_times) > 0.0).all()


def test_a_right_angle_is_not_a_stop():
    motion = smooth(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), limits_for(2))
    middle = motion.passing_times[1]
    assert np.abs(motion.curve.evaluate(np.array([middle]), 1)).max() > 0.1


def test_colliding_blends_shrink_until_the_motion_stops_on_the_path():
    path = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])

    def anywhere_off(states):
        return distance_to_path(states, path) > 0.004

    limits = limits_for(2)
    free = smooth(path, limits)
    tight = smooth(path, limits, blends=SmoothOptions(in_collision=anywhere_off))
    times = np.linspace(0.0, tight.curve.duration, 2000)
    assert not anywhere_off(tight.curve.evaluate(times)).any()
    assert anywhere_off(free.curve.evaluate(times)).any()
    blocked = smooth(path, limits, blends=SmoothOptions(in_collision=lambda states: np.ones(len(states), bool)))
    assert blocked.curve.duration == stop_at_waypoints(path, limits).curve.duration
    assert free.curve.duration < tight.curve.duration <= blocked.curve.duration


@pytest.mark.parametrize("direction", [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.6, -0.8]])
def test_start_and_end_velocities_are_met(direction):
    limits = limits_for(2)
    path = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    first, last = 0.2 * np.array(direction), np.array([0.1, 0.2])
    motion = smooth(path, limits, start_velocity=first, end_velocity=last)
    assert np.allclose(motion.trajectory.velocities[0], first, atol=1e-9)
    assert np.allclose(motion.trajectory.velocities[-1], last, atol=1e-9)
    assert np.allclose(motion.trajectory.positions[[0, -1]], path[[0, -1]], atol=1e-9)
    times = np.arange(0.0, motion.curve.duration, PERIOD / 10)
    for order, most in ((1, limits.velocity), (2, limits.acceleration), (3, limits.jerk)):
        assert (np.abs(motion.curve.evaluate(times, order)) <= most * (1.0 + 1e-6)).all()


def test_a_start_velocity_that_cannot_be_braked_is_refused():
    limits = limits_for(2)
    short = np.array([[0.0, 0.0], [0.001, 0.0], [0.0, 0.001]])
    with pytest.raises(TrajectoryError, match="start velocity"):
        smooth(short, limits, start_velocity=np.array([0.4, 0.0]))
    with pytest.raises(TrajectoryError, match="above its limit"):
        smooth(short, limits, start_velocity=np.array([100.0, 0.0]))
    ahead = SmoothOptions(in_collision=lambda states: states[:, 1] > 0.0)
    line, across = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0.0, 0.2])
    with pytest.raises(TrajectoryError, match="in collision"):
        smooth(line, limits, blends=ahead, start_velocity=across)


@pytest.mark.parametrize("method", [TimingMethod.SMOOTH, TimingMethod.STOP_AT_WAYPOINTS, TimingMethod.FOLLOW_SAMPLES])
def test_the_speed_of_the_tool_is_limited(method):
    """A tool that moves as fast as both joints together."""
    path = np.array([[0.0, 0.0], [0.5, 0.3], [1.0, -0.2], [1.2, 0.4]])
    model = PathModel(tool_speeds=lambda q, v: np.linalg.norm(v, axis=1))
    options = TimingOptions(method=method, tool_speed=0.15)
    motion = time_path(path, limits_for(2), options, model)
    times = np.arange(0.0, motion.curve.duration, PERIOD / 10)
    speeds = np.linalg.norm(motion.curve.evaluate(times, 1), axis=1)
    assert 0.12 < speeds.max() <= 0.15 * (1.0 + 1e-6)
    assert not motion.trajectory.velocities[-1].any()


@pytest.mark.parametrize("method", [TimingMethod.SMOOTH, TimingMethod.STOP_AT_WAYPOINTS])
def test_torques_bound_accelerations(method):
    """Joints of 2 kg m2 with a load of 3 Nm; their torque is at most 5 Nm."""
    path = np.array([[0.0, 0.0], [0.8, 0.6], [0.4, 1.0]])

    def efforts(q, v, a):
        return 2.0 * a + 3.0

    plain = time_path(path, limits_for(2), TimingOptions(method=method))
    model = PathModel(efforts=efforts, effort_limits=np.full(2, 5.0))
    motion = time_path(path, limits_for(2), TimingOptions(method=method, limit_effort=True), model)
    times = np.arange(0.0, motion.curve.duration, PERIOD / 10)
    most = np.abs(efforts(None, None, motion.curve.evaluate(times, 2))).max()
    assert 4.5 < most <= 5.0 * (1.0 + 1e-6)
    assert motion.curve.duration > plain.curve.duration
    weak = PathModel(efforts=efforts, effort_limits=np.full(2, 2.0))
    with pytest.raises(TrajectoryError, match="at rest"):
        time_path(path, limits_for(2), TimingOptions(method=method, limit_effort=True), weak)


def test_limits_of_a_request_narrow_those_of_the_model():
    path = np.array([[0.0, 0.0], [1.0, 0.5]])
    options = TimingOptions(method=TimingMethod.SMOOTH, limits=frozendict(j0=JointLimits(velocity=0.1)))
    motion = time_path(path, limits_for(2), options)
    assert np.abs(motion.trajectory.velocities[:, 0]).max() <= 0.1 * (1.0 + 1e-6)
    wrong = TimingOptions(limits=frozendict(j9=JointLimits(velocity=0.1)))
    with pytest.raises(UnknownNameError, match="j9"):
        time_path(path, limits_for(2), wrong)


def test_velocities_at_the_ends_need_the_smooth_method():
    path = np.array([[0.0, 0.0], [1.0, 0.5]])
    with pytest.raises(NotSupportedError, match="smooth"):
        time_path(path, limits_for(2), TimingOptions(start_velocity=frozendict(j0=0.1)))
    with pytest.raises(UnknownNameError, match="j9"):
        time_path(path, limits_for(2), TimingOptions(method=TimingMethod.SMOOTH, start_velocity=frozendict(j9=0.1)))


def test_same_input_same_bytes():
    rng = np.random.default_rng(3)
    path = random_path(rng, 6)
    first, second = (smooth(path, limits_for(6)).trajectory for _ in range(2))
    assert first.positions.tobytes() == second.positions.tobytes()
    assert first.times.tobytes() == second.times.tobytes()
