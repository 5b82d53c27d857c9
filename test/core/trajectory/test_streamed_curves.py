"""Torques and position limits are those of the curve through the samples, which is streamed."""

import numpy as np
import pytest

from robot_cell_planner.errors import TrajectoryLimitError
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.parameterization import PathModel, time_path
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions

UPPER = 0.5  # [rad]
# The jerk limits the accelerations, so that they reach their largest values for a moment only.
RATES = (np.full(2, value) for value in (1.0, 50.0, 40.0))
LIMITS = MotionLimits(("a", "b"), np.full(2, -3.0), np.array((3.0, UPPER)), *RATES)
LIMIT = 3.0  # [Nm]


def efforts(q, v, a):
    """Torques of a load that depends on the position, and of an inertia."""
    return 0.5 * np.cos(q) + 2.0 * a + 0.1 * v**2


def path_of(random, method):
    corners = np.cumsum(random.normal(0.0, 0.3, (random.integers(2, 5), 2)), axis=0)
    corners[:, 1] = np.minimum(corners[:, 1], UPPER)
    if method is not TimingMethod.FOLLOW_SAMPLES:
        return corners
    t = np.linspace(0.0, 3.0, 40)[:, None]
    return np.hstack((0.3 * t, 0.3 * np.sin(t + random.uniform(0.0, 3.0))))


@pytest.mark.parametrize("method", TimingMethod)
@pytest.mark.parametrize("period", [0.01, 0.1, 2.0])
def test_torques_keep_their_limit_where_the_acceleration_has_a_corner(method, period):
    """It is largest there, at samples of the trajectory, which states at equal distances miss."""
    random = np.random.default_rng(1)
    model = PathModel(efforts=efforts, effort_limits=np.full(2, LIMIT))
    options = TimingOptions(method=method, period=period, limit_effort=True)
    for _ in range(20):
        trajectory = time_path(path_of(random, method), LIMITS, options, model).trajectory
        times = np.concatenate((trajectory.times, np.linspace(0.0, trajectory.duration, 4001)))
        q, v, a = (trajectory.at(times, order) for order in range(3))
        assert np.abs(efforts(q, v, a)).max() <= LIMIT * (1.0 + 1e-6)


def close_to_limit(random, count, margin):
    """Samples of a curve whose second joint approaches its limit to a margin."""
    t = np.linspace(0.0, random.uniform(3.0, 8.0), count)
    wave = np.sin(random.uniform(0.5, 1.5) * t + random.uniform(0.0, 3.0)) + 0.3 * np.sin(2.3 * t)
    return np.column_stack((0.2 * t - 1.0, UPPER - margin - 0.4 * (wave.max() - wave)))


@pytest.mark.parametrize("period", [0.01, 0.5, 2.0])
def test_the_curve_between_samples_stays_within_position_limits(period):
    """Samples far apart in time, of a curve that is within the limits, are completed by others."""
    random = np.random.default_rng(2)
    for _ in range(20):
        options = TimingOptions(method=TimingMethod.FOLLOW_SAMPLES, period=period)
        trajectory = time_path(close_to_limit(random, 400, 1e-4), LIMITS, options).trajectory
        assert trajectory.at(np.linspace(0.0, trajectory.duration, 20_001))[:, 1].max() <= UPPER + 1e-9


def test_samples_whose_curve_leaves_position_limits_are_refused():
    """Two samples at the limit: the spline between them is beyond it."""
    samples = np.column_stack((np.linspace(0.0, 0.7, 8), [0.0, 0.2, 0.4, UPPER, UPPER, 0.4, 0.2, 0.0]))
    with pytest.raises(TrajectoryLimitError, match="leaves the position limits of b between samples") as caught:
        time_path(samples, LIMITS, TimingOptions(method=TimingMethod.FOLLOW_SAMPLES))
    assert caught.value.subjects == ("b",)
    assert caught.value.values[0].value > caught.value.values[0].limit == UPPER
    assert "closer to each other" in caught.value.remedy
