"""The trajectory sampler stays on the path and within limits, and ends at the end of the trajectory."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.trajectory.sampler import SamplerOptions, TrajectorySampler
from robot_cell_planner.trajectory.trajectory import Trajectory

TIMES = np.linspace(0.0, 2.0, 201)
PHASE = TIMES / 2.0
BLEND = 10 * PHASE**3 - 15 * PHASE**4 + 6 * PHASE**5
RATE = (30 * PHASE**2 - 60 * PHASE**3 + 30 * PHASE**4) / 2.0
BEND = (60 * PHASE - 180 * PHASE**2 + 120 * PHASE**3) / 4.0
ENDS = np.array([1.0, -0.5])
TRAJECTORY = Trajectory(("a", "b"), TIMES, BLEND[:, None] * ENDS, RATE[:, None] * ENDS, BEND[:, None] * ENDS)
OPTIONS = SamplerOptions(4.0, 40.0)


def run(changes, period=0.01, max_time=6.0):
    sampler, samples, now, pending = TrajectorySampler(TRAJECTORY, 0.0, options=OPTIONS), [], 0.0, sorted(changes)
    while now < max_time and not sampler.at_end(now):
        while pending and pending[0][0] <= now:
            sampler.set_scale(pending.pop(0)[1], now)
        samples.append(sampler.sample(now))
        now += period
    samples.append(sampler.sample(now))
    return sampler, samples, now


def test_at_full_speed_it_is_the_trajectory():
    _, samples, now = run([])
    assert now == pytest.approx(2.0, abs=0.02)
    np.testing.assert_allclose(samples[100].positions, TRAJECTORY.at([1.0])[0], atol=1e-9)
    np.testing.assert_array_equal(samples[-1].positions, TRAJECTORY.positions[-1])
    np.testing.assert_allclose(samples[-1].velocities, [0.0, 0.0], atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.floats(0.0, 1.0)), max_size=6))
def test_any_change_of_speed_stays_on_the_path_and_never_goes_back(changes):
    _, samples, _ = run(changes)
    places = np.array([s.parameter for s in samples])
    assert (np.diff(places) >= -1e-12).all()
    assert (np.diff(places) <= 0.01 * (1 + 1e-6)).all()
    for sample in samples[::10]:
        np.testing.assert_allclose(sample.positions, TRAJECTORY.at([sample.parameter])[0], atol=1e-9)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.floats(0.1, 1.5), st.floats(0.0, 1.0)), min_size=1, max_size=4))
def test_velocities_and_accelerations_are_those_of_the_positions(changes):
    _, samples, _ = run(changes, period=0.002, max_time=1.0)
    positions = np.array([s.positions for s in samples])[:-1]
    velocities = np.array([s.velocities for s in samples])[:-1]
    accelerations = np.array([s.accelerations for s in samples])[:-1]
    measured = np.gradient(positions, 0.002, axis=0)[2:-2]
    np.testing.assert_allclose(measured, velocities[2:-2], atol=5e-3)
    measured = np.gradient(velocities, 0.002, axis=0)[2:-2]
    np.testing.assert_allclose(measured, accelerations[2:-2], atol=0.2)


@pytest.mark.parametrize("limits", [(4.0, 40.0), (0.1, 1.0), (100.0, 10.0), (2.0, 4.0)])
def test_a_stop_takes_the_time_that_the_options_give(limits):
    """Of a speed scale that changes within its limits, its acceleration is a trapezium or a triangle."""
    found = SamplerOptions(*limits).stop_time
    peak = min(limits[0], math.sqrt(limits[1]))
    times = np.linspace(0.0, found, 20_001)
    acceleration = np.clip(np.minimum(times, found - times) * limits[1], 0.0, peak)
    assert acceleration.mean() * found == pytest.approx(1.0, rel=1e-3)


def test_a_stop_ends_at_rest_and_a_resume_continues():
    sampler, _, _ = run([(0.5, 0.0)], max_time=3.0)
    assert sampler.at_rest(3.0)
    assert sampler.remaining(3.0) == float("inf")
    rest = sampler.sample(3.0)
    np.testing.assert_allclose(rest.velocities, [0.0, 0.0], atol=1e-12)
    assert sampler.sample(9.0).parameter == pytest.approx(rest.parameter, abs=1e-12)
    sampler.set_scale(1.0, 9.0)
    assert sampler.at_end(12.0)
    assert sampler.remaining(12.0) == 0.0


@pytest.mark.parametrize("scale", [-0.1, 1.1, float("nan"), float("inf")])
def test_scales_out_of_range_are_refused(scale):
    with pytest.raises(InvalidRequestError, match="0 to 1"):
        TrajectorySampler(TRAJECTORY, 0.0, scale)


@pytest.mark.parametrize("name", ["scale_acceleration", "scale_jerk"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_limits_of_the_speed_scale_are_finite_and_above_0(name, value):
    with pytest.raises(InvalidRequestError, match=f"{name} is {value:g}, expected a finite number above 0"):
        SamplerOptions(**{name: value})
