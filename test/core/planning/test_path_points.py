"""Points along a path: all waypoints, and points between them at most at the requested spacing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.planning.path.simplification import densify


@given(st.integers(1, 6), st.integers(1, 7), st.floats(0.01, 2.0), st.integers(0, 2**32 - 1))
def test_points_are_on_the_path_in_order(count, dof, spacing, seed):
    path = np.random.default_rng(seed).uniform(-1.0, 1.0, (count, dof))
    path.setflags(write=False)
    points, parameters = densify(path, spacing)
    assert (np.diff(parameters) > 0.0).all()
    assert (parameters[0], parameters[-1]) == (0.0, count - 1.0)
    assert (points[np.isin(parameters, np.arange(count))] == path).all()
    assert np.abs(np.diff(points, axis=0)).max(initial=0.0) <= spacing * (1.0 + 1e-9)
    truth = np.column_stack([np.interp(parameters, np.arange(count), column) for column in path.T])
    np.testing.assert_allclose(points, truth, atol=1e-12)
    # Not one point more than needed.
    steps = np.abs(np.diff(path, axis=0)).max(axis=1, initial=0.0)
    assert len(points) <= 1 + np.maximum(np.ceil(steps / spacing), 1.0).sum()


@pytest.mark.parametrize("spacing", [0.0, -1.0, float("nan"), 1e-12])
def test_a_spacing_that_is_too_small_is_refused(spacing):
    with pytest.raises(InvalidRequestError, match="spacing"):
        densify(np.array([[0.0], [1.0]]), spacing)
