"""Samples for a controller: interpolated by the controller, they equal the motion that this package streams."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_cell_planner.trajectory.curve_limits import excesses
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.parameterization import time_path
from robot_cell_planner.trajectory.resampling import end_time, resampled
from robot_cell_planner.trajectory.sampler import SamplerOptions, TrajectorySampler
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions
from robot_cell_planner.trajectory.trajectory import Trajectory

START = 100.0
JOINTS = ("shoulder", "elbow")


def swing(duration=2.0, samples=41):
    u = np.linspace(0.0, 1.0, samples)[:, None]
    reach = np.array([[1.2, -0.7]])
    return Trajectory(
        JOINTS,
        duration * u[:, 0],
        reach * (10 * u**3 - 15 * u**4 + 6 * u**5),
        reach * (30 * u**2 - 60 * u**3 + 30 * u**4) / duration,
        reach * (60 * u - 180 * u**2 + 120 * u**3) / duration**2,
    )


def sampler(trajectory, scale=1.0, limits=None):
    return TrajectorySampler(trajectory, START, scale, SamplerOptions(), limits)


def check_same_motion(found, played, begin):
    times = np.linspace(0.0, found.duration, 400)
    expected = [played.sample(begin + time) for time in times]
    np.testing.assert_allclose(found.at(times), [sample.positions for sample in expected], atol=2e-7)
    np.testing.assert_allclose(found.at(times, 1), [sample.velocities for sample in expected], atol=2e-5)


scales = st.lists(st.sampled_from([0.0, 0.001, 0.3, 0.7, 1.0]), min_size=1, max_size=3)


@settings(max_examples=40)
@given(scales, st.floats(0.0, 2.5), st.floats(0.05, 0.8), st.floats(0.0, 3.0))
def test_the_interpolated_samples_are_the_motion(changes, first, apart, begin):
    played = sampler(swing())
    for index, scale in enumerate(changes):
        played.set_scale(scale, START + first + index * apart)
    found = resampled(played.trajectory, played.time_scaling, START + begin)
    check_same_motion(found, played, START + begin)
    last = played.sample(START + begin + found.duration)
    np.testing.assert_allclose(found.positions[-1], last.positions, atol=1e-9)
    np.testing.assert_allclose(found.velocities[-1], 0.0, atol=1e-9)


def test_a_stop_ends_at_rest_on_the_path():
    played = sampler(swing())
    played.set_scale(0.0, START + 0.9)
    found = resampled(played.trajectory, played.time_scaling, START + 0.8)
    assert found.duration == pytest.approx(played.time_scaling.settled_at - START - 0.8, abs=1e-6)
    assert not found.velocities[-1].any()
    assert not found.accelerations[-1].any()
    # Both joints are as far along the straight line of the trajectory.
    share = found.positions[-1] / played.trajectory.positions[-1]
    assert share[0] == pytest.approx(share[1])
    assert 0.2 < share[0] < 0.8


def test_before_the_start_the_joints_are_at_rest():
    played = sampler(swing(), scale=0.5)
    found = resampled(played.trajectory, played.time_scaling, START - 0.3)
    assert not found.at([0.0, 0.1, 0.3]).any()
    assert found.duration == pytest.approx(0.3 + 4.0)
    np.testing.assert_array_equal(found.positions[-1], played.trajectory.positions[-1])


def test_at_a_constant_scale_the_samples_are_those_of_the_trajectory():
    played = sampler(swing(), scale=0.5)
    found = resampled(played.trajectory, played.time_scaling, START)
    np.testing.assert_allclose(found.times, 2.0 * played.trajectory.times)
    np.testing.assert_allclose(found.positions, played.trajectory.positions, atol=1e-12)
    np.testing.assert_allclose(found.velocities, 0.5 * played.trajectory.velocities, atol=1e-12)


def test_limits_also_hold_between_the_samples():
    trajectory = swing(duration=2.0)
    rates = {"velocity": np.full(2, 1.2), "acceleration": np.full(2, 1.9), "jerk": np.full(2, 20.0)}
    limits = MotionLimits(JOINTS, lower=np.full(2, -9.0), upper=np.full(2, 9.0), **rates)
    played = sampler(trajectory, limits=limits)
    played.set_scale(0.0, START + 0.7)
    found = resampled(trajectory, played.time_scaling, START + 0.6)
    times = np.linspace(0.0, found.duration, 2000)
    own = np.abs(trajectory.at(np.linspace(0.0, 2.0, 2000), 2)).max(axis=0)
    assert (np.abs(found.at(times, 2)) <= 1.01 * np.maximum(limits.acceleration, own)).all()


def test_the_end_of_a_motion_that_is_stopped_forever():
    played = sampler(swing(), scale=0.0)
    assert end_time(played.trajectory, played.time_scaling) == START
    found = resampled(played.trajectory, played.time_scaling, START + 5.0)
    assert len(found) == 1
    assert not found.positions.any()


@pytest.mark.parametrize("method", [TimingMethod.STOP_AT_WAYPOINTS, TimingMethod.SMOOTH])
def test_planned_motions_that_change_speed_keep_the_limits_of_the_controller(method):
    """The jerk of a planned motion has steps between the samples of a change; with the limits of the joints above its
    own, a controller that interpolates exceeds none of them."""
    rng = np.random.default_rng(1)
    names = ("a", "b", "c", "d")
    rates = {"velocity": np.full(4, 2.0), "acceleration": np.full(4, 5.0), "jerk": np.full(4, 50.0)}
    limits = MotionLimits(names, lower=np.full(4, -10.0), upper=np.full(4, 10.0), **rates)
    options = TimingOptions(method=method, velocity_scale=0.5, acceleration_scale=0.6, jerk_scale=0.6)
    for _ in range(40):
        path = np.cumsum(rng.normal(0.0, 0.5, (4, 4)), axis=0)
        planned = time_path(path, limits, options).trajectory
        played = sampler(planned, limits=limits)
        now = START + rng.uniform(0.1, 0.7 * planned.duration)
        played.set_scale(float(rng.choice((0.0, 0.3, 0.6))), now)
        found = resampled(planned, played.time_scaling, max(now - 0.5, START))
        for kind in excesses(found.curve, limits, 50):
            assert all(abs(each.value) <= 1.01 * each.limit for each in kind)
