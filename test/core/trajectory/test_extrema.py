"""Polynomials that may leave their interval are found by bounds on their extrema."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from robot_cell_planner.trajectory.extrema import beyond, enclosures, extremes

numbers = st.floats(-10.0, 10.0)


@given(st.lists(st.lists(numbers, min_size=6, max_size=6), min_size=1, max_size=8), st.integers(1, 6), numbers, numbers)
def test_no_polynomial_that_leaves_its_interval_is_missed(rows, size, first, second):
    columns = np.array(rows).T[:size]
    low, high = (np.full(len(rows), bound) for bound in sorted((first, second)))
    found = beyond(columns, low, high)
    minimum, maximum, _, _ = extremes(columns)
    sampled = np.array([np.polyval(column[::-1], np.linspace(0.0, 1.0, 101)) for column in columns.T])
    for smallest, largest in ((minimum, maximum), (sampled.min(axis=1), sampled.max(axis=1))):
        assert set(np.flatnonzero((smallest < low - 1e-9) | (largest > high + 1e-9))) <= set(found.tolist())


def test_most_polynomials_that_stay_inside_are_recognised():
    """Quintics that reach 0.99 of the bound; simple bounds would recognise few of them."""
    columns = np.random.default_rng(1).normal(size=(6, 2000))
    minimum, maximum, _, _ = extremes(columns)
    bound = np.maximum(-minimum, maximum) / 0.99
    low, high = enclosures(columns)
    plain = np.count_nonzero(np.maximum(-low, high) > bound)
    assert len(beyond(columns, -bound, bound)) < 0.25 * plain
