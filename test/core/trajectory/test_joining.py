"""Trajectories joined to the current state: continuous position, velocity and acceleration, and the same end."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_cell_planner.errors import InvalidRequestError, TrajectoryExpiredError
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.sampler import TrajectorySampler
from robot_cell_planner.trajectory.splicing import (
    FADE,
    from_rest,
    joined,
    reached_from,
    slowed_within,
    without_passed,
)
from robot_cell_planner.trajectory.timing import stop_at_waypoints
from robot_cell_planner.trajectory.trajectory import Trajectory
from robot_cell_planner.trajectory.validation import validate

SHARE = np.linspace(0.0, 1.0, 201)[:, None]
ENDS = np.array([1.0, -0.5])
DENSE = Trajectory(
    ("a", "b"),
    2.0 * SHARE[:, 0],
    (10 * SHARE**3 - 15 * SHARE**4 + 6 * SHARE**5) * ENDS,
    (30 * SHARE**2 - 60 * SHARE**3 + 30 * SHARE**4) / 2.0 * ENDS,
    (60 * SHARE - 180 * SHARE**2 + 120 * SHARE**3) / 4.0 * ENDS,
)
SPARSE = Trajectory(("a", "b"), np.array([1.0, 2.0]), np.array([[0.5, 0.5], ENDS]), np.zeros((2, 2)), np.zeros((2, 2)))
# As clients send it: positions only, or without accelerations.
POSITIONS = Trajectory(("a", "b"), np.array([1.0, 1.5, 2.0]), np.array([[0.5, 0.5], [0.7, 0.2], ENDS]))
VELOCITIES = replace(POSITIONS, velocities=np.array([[0.4, -0.6], [0.3, -0.5], [0.0, 0.0]]))
small = st.floats(-0.1, 0.1).map(lambda value: round(value, 6))
vectors = st.tuples(small, small).map(np.array)


@settings(max_examples=40)
@given(vectors, vectors, vectors, st.floats(0.0, 1.9), st.sampled_from([DENSE, SPARSE]), st.floats(0.1, 1.0))
def test_it_begins_at_the_robot_state_and_ends_as_requested(position, velocity, acceleration, after, trajectory, scale):
    found = joined(trajectory, (position, velocity, acceleration), after, scale)
    assert found.times[0] == 0.0
    np.testing.assert_allclose(found.at([0.0])[0], position, atol=1e-12)
    np.testing.assert_allclose(found.at([0.0], 1)[0] * scale, velocity, atol=1e-12)
    np.testing.assert_allclose(found.at([0.0], 2)[0] * scale**2, acceleration, atol=1e-12)
    assert found.duration == pytest.approx(trajectory.duration - after)
    assert np.array_equal(found.positions[-1], trajectory.positions[-1])
    assert np.array_equal(found.velocities[-1], trajectory.velocities[-1])
    # After the initial difference has been bridged, it equals the trajectory.
    late = found.times[found.times > FADE]
    if trajectory is DENSE:
        np.testing.assert_allclose(found.at(late), trajectory.at(late + after), atol=1e-9)
        assert np.abs(np.diff(found.at(np.linspace(0.0, found.duration, 2001), 1), axis=0)).max() < 0.1


@settings(max_examples=40)
@given(vectors, vectors, vectors, st.floats(-0.5, 1.9), st.sampled_from([POSITIONS, VELOCITIES]), st.floats(0.1, 1.0))
def test_points_without_all_derivatives_are_reached_from_the_robot_state_too(
    position, velocity, bend, after, rows, scale
):
    found = joined(rows, (position, velocity, bend), after, scale)
    np.testing.assert_allclose(found.at([0.0])[0], position, atol=1e-12)
    np.testing.assert_allclose(found.at([0.0], 1)[0] * scale, velocity, atol=1e-12)
    np.testing.assert_allclose(found.at([0.0], 2)[0] * scale**2, bend, atol=1e-12)
    assert np.array_equal(found.positions[-1], rows.positions[-1])
    assert not found.velocities[-1].any()
    np.testing.assert_allclose(found.at([2.0 - after]), rows.positions[-1:], atol=1e-12)


def test_points_with_positions_only_are_passed_without_a_stop():
    """As on the spline through them from where the robot is, with its velocity."""
    line = Trajectory(("a",), np.array([1.0, 2.0, 3.0]), np.array([[1.0], [2.0], [3.0]]))
    found = joined(line, [np.array([0.0]), np.array([1.0]), np.array([0.0])], 0.0)
    assert found.at([0.5, 1.0, 1.5], 1) == pytest.approx(1.0, abs=0.15)


def test_a_robot_that_is_on_the_trajectory_follows_it():
    after = 0.73
    present = [DENSE.at([after], order)[0] for order in range(3)]
    found = joined(DENSE, present, after)
    times = np.linspace(0.0, found.duration, 500)
    np.testing.assert_allclose(found.at(times), DENSE.at(times + after), atol=1e-6)


def test_an_initial_distance_is_bridged():
    away = np.array([0.01, -0.02])
    found = from_rest(DENSE, DENSE.positions[0] + away)
    np.testing.assert_allclose(found.positions[0], DENSE.positions[0] + away)
    assert np.array_equal(found.positions[-1], DENSE.positions[-1])
    distance = found.positions - DENSE.positions
    assert (np.diff(np.abs(distance), axis=0) <= 1e-12).all()


def test_a_later_point_is_reached_from_the_state_of_the_robot():
    here = np.array([0.2, 0.3])
    found = reached_from(SPARSE, here)
    assert found.times.tolist() == [0.0, 1.0, 2.0]
    assert np.array_equal(found.positions[0], here)
    assert not found.velocities[0].any()


def test_past_points_are_left_out():
    found = without_passed(SPARSE, 1.5)
    assert found.times.tolist() == [0.5]
    assert np.array_equal(found.positions, SPARSE.positions[1:])
    assert without_passed(SPARSE, 0.0) is SPARSE
    for call in (lambda: without_passed(SPARSE, 2.1), lambda: joined(SPARSE, [ENDS] * 3, 2.0)):
        with pytest.raises(TrajectoryExpiredError):
            call()


def test_a_velocity_at_the_start_is_reached_from_rest_without_a_step():
    here = DENSE.at([0.4])[0]
    moving = without_passed(DENSE, 0.4)
    found = from_rest(moving, here)
    assert not found.velocities[0].any()
    assert not found.accelerations[0].any()
    np.testing.assert_allclose(found.at([FADE + 0.02]), DENSE.at([FADE + 0.42]), atol=1e-9)


def test_joined_trajectories_have_times_that_messages_can_represent():
    present = [DENSE.at([0.123456789123], order)[0] for order in range(3)]
    found = joined(DENSE, present, 0.123456789123)
    assert np.abs(found.times * 1e9 - np.rint(found.times * 1e9)).max() < 1e-6
    np.testing.assert_allclose(found.at(found.times), DENSE.at(found.times + 0.123456789123), atol=1e-9)


LIMITS = MotionLimits(("a", "b", "c"), [-3.0] * 3, [3.0] * 3, [2.09, 2.09, 3.14], [4.0, 4.0, 6.0], [40.0, 40.0, 60.0])


@pytest.mark.parametrize("seed", range(24))
def test_short_moves_from_anywhere_near_their_start_keep_all_limits(seed):
    """The motions are timed at their limits and begin at the state of the robot, so that there is no margin."""
    rng = np.random.default_rng(seed)
    size, near = 10.0 ** rng.uniform(-3.0, -0.5), 10.0 ** rng.uniform(-6.0, -2.0)
    start, way = rng.uniform(-2.0, 2.0, 3), rng.uniform(-1.0, 1.0, 3)
    planned = stop_at_waypoints(np.stack([start, start + size * way / np.abs(way).max()]), LIMITS).trajectory
    here = start + rng.uniform(-near, near, 3)
    found = from_rest(planned, here)
    if not validate(found, LIMITS).valid:
        found = slowed_within(found, LIMITS)
    measured = dict(zip(LIMITS.variables, here.tolist(), strict=True))
    assert validate(found, LIMITS, start=measured, start_tolerance=0.0).check()
    assert np.array_equal(found.positions[-1], planned.positions[-1])
    sampler = TrajectorySampler(found, 0.0)
    samples = [sampler.sample(time) for time in np.arange(0.0, found.duration + 1e-3, 1e-4).tolist()]
    accelerations = np.array([sample.accelerations for sample in samples])
    most = 1.0 + 1e-9
    assert (np.abs([sample.velocities for sample in samples]) <= LIMITS.velocity * most).all()
    assert (np.abs(accelerations) <= LIMITS.acceleration * most).all()
    assert (np.abs(np.diff(accelerations, axis=0)) / 1e-4 <= LIMITS.jerk * most).all()


def test_a_distance_of_a_millionth_does_not_slow_the_motion():
    planned = stop_at_waypoints(np.array([[0.0, 0.0, 0.0], [0.02, -0.01, 0.005]]), LIMITS).trajectory
    found = from_rest(planned, np.array([1e-6, -1e-6, 1e-6]))
    assert validate(found, LIMITS).valid
    assert found.duration == planned.duration


def test_trajectories_that_do_not_rest_at_their_ends_are_not_slowed():
    with pytest.raises(InvalidRequestError, match="at rest"):
        slowed_within(
            without_passed(DENSE, 0.5), MotionLimits(("a", "b"), [-9] * 2, [9] * 2, [1] * 2, [1] * 2, [1] * 2)
        )
