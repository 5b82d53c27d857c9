"""Profiles whose jerk changes on a grid of times obey all limits, and are hardly slower than Ruckig's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_cell_planner.trajectory.profiles import PathInterval, Rates, profile_on_grid

PERIOD = 0.004
rates = st.builds(Rates, st.floats(0.1, 5.0), st.floats(0.2, 30.0), st.floats(2.0, 500.0))


@given(length=st.floats(1e-4, 20.0), rates=rates)
def test_rates_are_kept_and_jerk_changes_on_the_grid(length, rates):
    profile = profile_on_grid(length, rates, PERIOD)
    for order, limit in ((1, rates.speed), (2, rates.acceleration), (3, rates.jerk)):
        assert profile.largest_derivatives(order).max() <= limit * (1.0 + 1e-6)
    numbers = profile.breaks / PERIOD
    np.testing.assert_allclose(numbers, np.rint(numbers), atol=1e-6)
    ends = np.array([0.0, profile.duration])
    np.testing.assert_allclose(profile.evaluate(ends)[:, 0], (0.0, length), atol=1e-9 * length + 1e-12)
    for order in (1, 2):
        scale = (rates.speed, rates.acceleration)[order - 1]
        assert np.abs(profile.evaluate(ends, order)).max() <= 1e-6 * scale
    # Position, speed and acceleration are continuous.
    before, after = profile.breaks[1:-1] - 1e-9, profile.breaks[1:-1] + 1e-9
    for order in range(3):
        step = np.abs(profile.evaluate(after, order) - profile.evaluate(before, order)).max(initial=0.0)
        assert step <= 1e-6 * (1.0 + rates.jerk)


@given(length=st.floats(1e-3, 20.0), rates=rates)
def test_profiles_are_as_fast_as_the_grid_allows(length, rates):
    fastest = PathInterval(length, rates).profile().duration
    # Seven phases, each at most one period longer.
    assert fastest * (1.0 - 1e-9) - 1e-9 <= profile_on_grid(length, rates, PERIOD).duration <= fastest + 7.01 * PERIOD


def test_the_durations_are_those_of_a_known_case():
    """2 m at 1 m/s, 2 m/s2 and 20 m/s3: 0.1 s of jerk, 0.4 s of acceleration and 1.4 s of full speed."""
    profile = profile_on_grid(2.0, Rates(1.0, 2.0, 20.0), PERIOD)
    np.testing.assert_allclose(np.diff(profile.breaks), (0.1, 0.4, 0.1, 1.4, 0.1, 0.4, 0.1), atol=1e-9)
    assert profile.duration == pytest.approx(2.6)
