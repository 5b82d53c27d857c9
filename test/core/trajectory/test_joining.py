"""Trajectories that are joined to where a robot is: no jump in position, velocity or acceleration, and the same end."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.trajectory.joining import FADE, STAGE, faded, joined, reached_from, without_passed
from robot_cell_planner.trajectory.trajectory import Trajectory

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
small = st.floats(-0.1, 0.1).map(lambda value: round(value, 6))
vectors = st.tuples(small, small).map(np.array)


@settings(max_examples=40)
@given(vectors, vectors, vectors, st.floats(0.0, 1.9), st.sampled_from([DENSE, SPARSE]), st.floats(0.1, 1.0))
def test_it_begins_as_the_robot_moves_and_ends_as_asked(position, velocity, acceleration, after, trajectory, scale):
    found = joined(trajectory, (position, velocity, acceleration), after, scale)
    assert found.times[0] == 0.0
    np.testing.assert_allclose(found.at([0.0])[0], position, atol=1e-12)
    np.testing.assert_allclose(found.at([0.0], 1)[0] * scale, velocity, atol=1e-12)
    np.testing.assert_allclose(found.at([0.0], 2)[0] * scale**2, acceleration, atol=1e-12)
    assert found.duration == pytest.approx(trajectory.duration - after)
    assert np.array_equal(found.positions[-1], trajectory.positions[-1])
    assert np.array_equal(found.velocities[-1], trajectory.velocities[-1])
    # Once the difference has faded out it is the trajectory itself.
    late = found.times[found.times > FADE]
    if trajectory is DENSE:
        np.testing.assert_allclose(found.at(late), trajectory.at(late + after), atol=1e-9)
        assert np.abs(np.diff(found.at(np.linspace(0.0, found.duration, 2001), 1), axis=0)).max() < 0.1


def test_a_robot_that_is_on_the_trajectory_follows_it():
    after = 0.73
    present = [DENSE.at([after], order)[0] for order in range(3)]
    found = joined(DENSE, present, after)
    times = np.linspace(0.0, found.duration, 500)
    np.testing.assert_allclose(found.at(times), DENSE.at(times + after), atol=1e-6)


def test_a_distance_fades_out():
    away = np.array([0.01, -0.02])
    found = faded(DENSE, away)
    np.testing.assert_allclose(found.positions[0], DENSE.positions[0] + away)
    assert np.array_equal(found.positions[-1], DENSE.positions[-1])
    distance = found.positions - DENSE.positions
    assert (np.diff(np.abs(distance), axis=0) <= 1e-12).all()


def test_a_later_point_is_reached_from_where_the_robot_is():
    here = np.array([0.2, 0.3])
    found = reached_from(SPARSE, here)
    assert found.times.tolist() == [0.0, 1.0, 2.0]
    assert np.array_equal(found.positions[0], here)
    assert not found.velocities[0].any()


def test_what_has_passed_is_left_out():
    found = without_passed(SPARSE, 1.5)
    assert found.times.tolist() == [0.5]
    assert np.array_equal(found.positions, SPARSE.positions[1:])
    assert without_passed(SPARSE, 0.0) is SPARSE
    for call in (lambda: without_passed(SPARSE, 2.1), lambda: joined(SPARSE, [ENDS] * 3, 2.0)):
        with pytest.raises(InvalidRequestError) as caught:
            call()
        assert caught.value.stage == STAGE
