"""Arrays in kernels whose references are not counted: the same memory, and no references are kept or lost."""

import sys
from typing import NamedTuple

import numba
import numpy as np

from robot_cell_planner.system.borrowed_arrays import borrowed


class Several(NamedTuple):
    values: np.ndarray
    pair: tuple[np.ndarray, int]


@numba.njit
def double_rows(several):
    """Double the first rows of an array by slices; return the sum of another one, times a number."""
    values, pair = borrowed(several)
    for i in range(pair[1]):
        row = values[i]
        row *= 2.0
    return pair[0].sum() * pair[1]


@numba.njit
def halved(values):
    """Return a new array, computed by a borrowed view of it."""
    result = np.empty_like(values)
    view = borrowed(result)
    for i in range(len(values)):
        view[i] = 0.5 * values[i]
    return result


def test_borrowed_arrays_are_views_of_the_memory_of_the_caller():
    values, other = np.arange(12.0).reshape(4, 3), np.arange(5, dtype=np.float32)
    expected = values.copy()
    expected[:3] *= 2.0
    assert double_rows(Several(values, (other, 3))) == 30.0
    np.testing.assert_array_equal(values, expected)


def test_references_of_the_caller_are_neither_kept_nor_lost():
    values, other = np.ones((4, 3)), np.ones(2)
    double_rows(Several(values, (other, 1)))
    before = sys.getrefcount(values), sys.getrefcount(other)
    for _ in range(100):
        double_rows(Several(values, (other, 1)))
    assert (sys.getrefcount(values), sys.getrefcount(other)) == before


def test_an_array_of_the_kernel_outlives_the_view_of_it():
    values = np.random.default_rng(1).normal(size=1000)
    results = [halved(values) for _ in range(50)]
    for result in results:
        np.testing.assert_array_equal(result, 0.5 * values)
