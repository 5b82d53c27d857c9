"""Extrema of many polynomials over the unit interval at once.

Columns (degree + 1, k) hold coefficients in ascending powers of x, 0 <= x <= 1. Bounds use the Bernstein form (Farin,
"Curves and Surfaces for CAGD", 2002), whose control points enclose the polynomial. Extrema are at an end or at a root
of the derivative; roots are computed in closed form up to degree 2, and by bisection between the roots of the next
derivative above.
"""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# Bisections of a bracket. The error of an extremum is quadratic in the error of its position, here 2^-34.
HALVINGS = 34
PARTS = 4


def unit_columns(coefficients: Array, spans: Array) -> Array:
    """Return columns (degree + 1, m * dof) over the unit interval for pieces (m, degree + 1, dof) of durations `spans`
    (m,)."""
    powers = np.arange(coefficients.shape[1])[:, None]
    scaled = coefficients.transpose(1, 0, 2) * (spans**powers)[:, :, None]
    return scaled.reshape(len(powers), -1)


def derived(columns: Array, order: int = 1) -> Array:
    """Return the columns of the derivative of an order by x, with at least one row."""
    for _ in range(order):
        powers = np.arange(1, len(columns), dtype=np.float64)[:, None]
        columns = columns[1:] * powers if len(columns) > 1 else np.zeros_like(columns)
    return columns


def enclosures(columns: Array) -> tuple[Array, Array]:
    """Return a lower and an upper bound (k,) of each polynomial, by its Bernstein form."""
    points = _to_bernstein(len(columns)) @ columns
    return points.min(axis=0), points.max(axis=0)


def beyond(columns: Array, low: Array, high: Array) -> NDArray[np.intp]:
    """Return the indices of the polynomials that may leave their interval [low, high] (k,).

    They are enclosed on PARTS parts of the unit interval, where enclosures are closer than on the whole: few need their
    extrema.
    """
    points = _to_parts(len(columns)) @ columns
    return np.flatnonzero((points.min(axis=0) < low) | (points.max(axis=0) > high))


@cache
def bernstein_forms(count: int) -> Array:
    """Return the matrices from ascending coefficients to the Bernstein form (count + 1, count, count), by the number of
    coefficients up to `count`."""
    forms = np.zeros((count + 1, count, count))
    for number in range(1, count + 1):
        forms[number, :number, :number] = _to_bernstein(number)
    return forms


def extremes(columns: Array) -> tuple[Array, Array, Array, Array]:
    """Return minimum, maximum and their positions x of each polynomial: four arrays (k,)."""
    count = columns.shape[1]
    arguments = np.zeros((max(len(columns) - 2, 0) + 2, count))
    arguments[1] = 1.0
    if len(columns) > 2:
        roots = _roots(derived(columns))
        arguments[2:] = np.where(np.isnan(roots), 0.0, roots)
    values = _evaluated(columns, arguments)
    each = np.arange(count)
    minimum, maximum = values.argmin(axis=0), values.argmax(axis=0)
    return values[minimum, each], values[maximum, each], arguments[minimum, each], arguments[maximum, each]


def largest_magnitudes(columns: Array, refine_above: float = 0.0) -> Array:
    """Return an upper bound (k,) on each polynomial's absolute value; it is exact where it exceeds `refine_above`."""
    low, high = enclosures(columns)
    largest: Array = np.maximum(-low, high)
    chosen = np.flatnonzero(largest > refine_above)
    if len(chosen):
        minimum, maximum, _, _ = extremes(columns[:, chosen])
        largest[chosen] = np.maximum(-minimum, maximum)
    return largest


@cache
def _to_bernstein(count: int) -> Array:
    degree = count - 1
    matrix = [[comb(i, j) / comb(degree, j) if j <= i else 0.0 for j in range(count)] for i in range(count)]
    return np.array(matrix)


@cache
def _to_parts(count: int) -> Array:
    """Return the matrix to the Bernstein forms on each of PARTS equal parts of the unit interval."""
    matrices = []
    for part in range(PARTS):
        # x = (part + t) / PARTS, so that x^j has the coefficients of the binomial of order j in t.
        powers = [
            [comb(j, i) * float(part) ** (j - i) / PARTS**j if i <= j else 0.0 for j in range(count)]
            for i in range(count)
        ]
        matrices.append(_to_bernstein(count) @ np.array(powers))
    return np.concatenate(matrices)


def _evaluated(columns: Array, arguments: Array) -> Array:
    """Return values (n, k) at positions (n, k)."""
    values = np.broadcast_to(columns[-1], arguments.shape).copy()
    for column in columns[-2::-1]:
        values *= arguments
        values += column
    return values


def _roots(columns: Array) -> Array:
    """Return the roots in (0, 1) of each polynomial (degree, k), unordered and padded with NaN."""
    degree = len(columns) - 1
    if degree <= 2:
        return _low_roots(columns)
    inner = _roots(derived(columns))
    ends = np.zeros((degree + 1, columns.shape[1]))
    ends[1:degree] = np.sort(np.where(np.isnan(inner), 0.0, inner), axis=0)
    ends[degree] = 1.0
    values = _evaluated(columns, ends)
    brackets, owners = np.nonzero((values[:-1] > 0.0) != (values[1:] > 0.0))
    low, high = ends[brackets, owners], ends[brackets + 1, owners]
    own, rising = columns[:, owners], values[brackets + 1, owners] > 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        before = (_evaluated(own, middle) > 0.0) != rising
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    found = np.full((degree, columns.shape[1]), np.nan)
    found[brackets, owners] = 0.5 * (low + high)
    return found


def _low_roots(columns: Array) -> Array:
    """Return the roots in (0, 1) of polynomials of degree 0, 1 or 2, without cancellation."""
    degree = len(columns) - 1
    found = np.full((degree, columns.shape[1]), np.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if degree == 1:
            found[0] = -columns[0] / columns[1]
        elif degree == 2:
            c, b, a = columns
            half = -0.5 * (b + np.copysign(np.sqrt(b * b - 4.0 * a * c), b))
            found[0], found[1] = half / a, c / half
    found[~((found > 0.0) & (found < 1.0))] = np.nan
    return found
