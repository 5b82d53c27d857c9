"""Changes of the speed scale follow their time scaling, obey all joint limits, and stop soon."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.parameterization import time_path
from robot_cell_planner.trajectory.time_scaling import TimeScaling, change_within_limits
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions

JOINTS = ("a", "b", "c")
LIMITS = MotionLimits(
    JOINTS,
    np.full(3, -np.pi),
    np.full(3, np.pi),
    np.array([2.0, 2.0, 3.0]),
    np.array([4.0, 6.0, 10.0]),
    np.array([40.0, 60.0, 100.0]),
)
STEADY = TimeScaling.steady(0.0, 1.0, 0.0)


def planned(seed, method):
    path = np.random.default_rng(seed).uniform(-1.5, 1.5, (4, 3))
    return time_path(path, LIMITS, TimingOptions(method=method, period=0.01)).trajectory


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 0.5)), min_size=1, max_size=5),
    st.floats(0.5, 10.0),
    st.floats(5.0, 100.0),
)
def test_time_scalings_are_continuous_and_bounded(changes, acceleration, jerk):
    law, now = TimeScaling.steady(0.0, 1.0, 0.0), 0.0
    for rate, wait in changes:
        law = law.changed(rate, now, acceleration, jerk)
        now += wait
    times = np.linspace(0.0, law.settled_at + 0.1, 2001)
    places, rates, slopes = law.derivatives(times)
    step = times[1]
    np.testing.assert_allclose([law.at(time) for time in times[::100]], np.c_[places, rates, slopes][::100], atol=1e-12)
    assert (np.abs(slopes) <= acceleration * (1 + 1e-9) + 1e-9).all()
    assert (np.abs(np.diff(slopes)) <= jerk * step * (1 + 1e-6) + 1e-9).all()
    assert (np.abs(np.diff(rates) - 0.5 * step * (slopes[1:] + slopes[:-1])) <= jerk * step**2).all()
    assert (np.abs(np.diff(places) - 0.5 * step * (rates[1:] + rates[:-1])) <= acceleration * step**2).all()
    assert rates[-1] == pytest.approx(changes[-1][0], abs=1e-9)
    assert (rates >= 0.0).all()


def test_past_pieces_of_a_time_scaling_can_be_removed():
    """The remaining time scaling is unchanged, and further changes have the same result."""
    whole = short = TimeScaling.steady(0.0, 0.5, 0.0)
    now, most = 1.0, 0
    for number in range(200):
        whole = whole.changed(0.45 + 0.05 * (number % 2), now, 4.0, 40.0)
        short = short.changed(0.45 + 0.05 * (number % 2), now, 4.0, 40.0).since(now - 1.0)
        most = max(most, len(short.starts))
        times = np.linspace(now - 1.0, now + 1.0, 50)
        assert np.array_equal(whole.derivatives(times), short.derivatives(times))
        now += 0.05
    assert len(whole.starts) > 200
    assert most <= 50
    assert short.since(-1.0) is short


def rates_of(law, trajectory, start, end):
    """Velocities, accelerations, and mean jerks over the trajectory's sample period (n, dof), at a fifth of that."""
    times = np.arange(start, end, 0.002)
    places, rate, slope = (row[:, None] for row in law.derivatives(times))
    _, first, second = trajectory.curve.derivatives(places[:, 0], 2)
    accelerations = second * rate**2 + first * slope
    return np.abs(first * rate), np.abs(accelerations), np.abs(accelerations[5:] - accelerations[:-5]) / 0.01


def excess_of(law, trajectory, start):
    """The largest rates with a time scaling after its start, as a fraction of the limits, or of the rates of the
    trajectory itself nearby if these are larger."""
    found = rates_of(law, trajectory, start, law.settled_at)
    own = rates_of(STEADY, trajectory, start, law.settled_at + 1.0)
    bounds = (LIMITS.velocity, LIMITS.acceleration, LIMITS.jerk)
    return max(
        (rates / np.maximum(bound, before.max(axis=0))).max()
        for rates, before, bound in zip(found, own, bounds, strict=True)
    )


@pytest.mark.parametrize("method", [TimingMethod.STOP_AT_WAYPOINTS, TimingMethod.SMOOTH])
def test_stops_obey_the_limits(method):
    """Stops at any time: half end in less than a second. Some exceed a limit slightly between the times at which it is
    checked."""
    excess, lasted = [], []
    for seed in range(5):
        trajectory = planned(seed, method)
        for share in np.linspace(0.02, 0.97, 12):
            now = share * trajectory.duration
            law = change_within_limits(STEADY, trajectory, 0.0, now, 4.0, 40.0, LIMITS)
            _, rate, slope = law.at(law.settled_at)
            assert rate == slope == 0.0
            excess.append(excess_of(law, trajectory, now))
            lasted.append(min(law.settled_at, trajectory.duration) - now)
    excess = np.array(excess)
    assert (excess <= 1.0 + 2e-3).mean() >= 0.93
    assert excess.max() <= 1.02
    assert np.median(lasted) < 1.0


def test_changes_during_changes_obey_the_limits():
    """Another speed is requested during the last change, or soon after it."""
    rng = np.random.default_rng(5)
    excess = []
    for number in range(40):
        method = (TimingMethod.STOP_AT_WAYPOINTS, TimingMethod.SMOOTH)[number % 2]
        trajectory = planned(100 + number % 10, method)
        first = rng.uniform(0.02, 0.9) * trajectory.duration
        law = change_within_limits(STEADY, trajectory, rng.choice([0.2, 0.5, 0.8]), first, 4.0, 40.0, LIMITS)
        second = rng.uniform(first, law.settled_at + 0.2)
        law = change_within_limits(law, trajectory, rng.choice([0.0, 0.6, 1.0]), second, 4.0, 40.0, LIMITS)
        excess.append(excess_of(law, trajectory, first))
    assert max(excess) <= 1.02


def test_without_limits_it_is_the_quickest():
    trajectory = planned(1, TimingMethod.SMOOTH)
    law = TimeScaling.steady(0.0, 1.0, 0.0)
    found = change_within_limits(law, trajectory, 0.0, 0.3, 4.0, 40.0, None)
    assert found.settled_at == pytest.approx(0.3 + 1.0 / 4.0 + 4.0 / 40.0)
    narrow = change_within_limits(law, trajectory, 0.0, 0.3, 4.0, 40.0, LIMITS)
    assert narrow.settled_at > found.settled_at


def test_a_planted_error_is_found():
    """The quickest stop violates limits that the chosen one obeys."""
    trajectory = planned(2, TimingMethod.STOP_AT_WAYPOINTS)
    now = 0.4 * trajectory.duration
    law = TimeScaling.steady(0.0, 1.0, 0.0).changed(0.0, now, 4.0, 40.0)
    _, accelerations, _ = rates_of(law, trajectory, now, law.settled_at)
    assert (accelerations > LIMITS.acceleration * 1.1).any()
