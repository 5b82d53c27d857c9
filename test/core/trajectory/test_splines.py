"""Cubic splines are compared with those of scipy."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from robot_cell_planner.trajectory.splines import cubic_spline


@pytest.mark.parametrize("count", [2, 3, 4, 5, 17, 400])
@pytest.mark.parametrize("dof", [1, 7])
def test_pieces_equal_those_of_scipy(count, dof):
    rng = np.random.default_rng(count * dof)
    parameters = np.concatenate(([0.0], np.cumsum(rng.uniform(0.01, 1.0, count - 1))))
    samples = rng.normal(size=(count, dof))
    ends = "not-a-knot" if count > 3 else "natural"
    theirs = CubicSpline(parameters, samples, bc_type=ends)
    ours = cubic_spline(parameters, samples)
    at = np.linspace(0.0, parameters[-1], 1999)
    for order in range(4):
        # Near a knot, the third derivative may be that of either piece.
        apart = np.abs(at[:, None] - parameters[None]).min(axis=1) > 1e-9
        expected = theirs(at[apart], order)
        scale = np.abs(expected).max() + 1.0
        assert np.abs(ours.evaluate(at[apart], order) - expected).max() <= 1e-11 * scale


def test_splines_pass_through_their_samples():
    rng = np.random.default_rng(3)
    parameters, samples = np.arange(30.0), rng.normal(size=(30, 2))
    assert np.abs(cubic_spline(parameters, samples).evaluate(parameters) - samples).max() < 1e-12
