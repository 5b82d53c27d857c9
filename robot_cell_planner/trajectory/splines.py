"""Cubic splines with continuous curvature through samples."""

from __future__ import annotations

import numpy as np

from .curves import PolynomialCurve
from .limits import Array


def cubic_spline(parameters: Array, samples: Array) -> PolynomialCurve:
    """Return the cubic spline with continuous curvature through samples (n, dof) at increasing parameters (n,), n >= 2,
    the first 0.

    Four samples or more: not-a-knot ends, i.e. the first two pieces are one polynomial, and so are the last two. Fewer:
    natural ends, without curvature. See de Boor, A Practical Guide to Splines, chapter IV. scipy.interpolate has the
    same spline, but importing it takes a fifth of the start of a worker.
    """
    from scipy.linalg import solve_banded  # slow to import, and only needed for curves

    h = np.diff(parameters)
    slopes = np.diff(samples, axis=0) / h[:, None]
    bands = np.zeros((3, len(parameters)))  # above, on and below the diagonal of a system for the derivatives
    right = np.empty_like(samples, dtype=np.float64)
    bands[0, 2:], bands[1, 1:-1], bands[2, :-2] = h[:-1], 2.0 * (h[:-1] + h[1:]), h[1:]
    right[1:-1] = 3.0 * (h[1:, None] * slopes[:-1] + h[:-1, None] * slopes[1:])
    if len(parameters) > 3:
        bands[1, 0], bands[0, 1], right[0] = _not_a_knot(h[0], h[1], slopes[0], slopes[1])
        bands[1, -1], bands[2, -2], right[-1] = _not_a_knot(h[-1], h[-2], slopes[-1], slopes[-2])
    else:
        bands[1, 0] = bands[1, -1] = 2.0
        bands[0, 1] = bands[2, -2] = 1.0
        right[0], right[-1] = 3.0 * slopes[0], 3.0 * slopes[-1]
    derivatives = solve_banded((1, 1), bands, right, overwrite_ab=True, overwrite_b=True, check_finite=False)
    return _hermite(parameters, samples, derivatives, slopes)


def _not_a_knot(near: float, far: float, near_slope: Array, far_slope: Array) -> tuple[float, float, Array]:
    """Return the coefficients of the derivatives at an end and next to it, and their right side (dof,), from the
    lengths and slopes of the pieces at that end."""
    both = near + far
    return far, both, ((near + 2.0 * both) * far * near_slope + near * near * far_slope) / both


def _hermite(parameters: Array, samples: Array, derivatives: Array, slopes: Array) -> PolynomialCurve:
    """Return the cubic polynomials between samples (n, dof) with given derivatives (n, dof)."""
    h = np.diff(parameters)[:, None]
    cubic = (derivatives[:-1] + derivatives[1:] - 2.0 * slopes) / h
    square = (slopes - derivatives[:-1]) / h - cubic
    return PolynomialCurve(parameters, np.stack((samples[:-1], derivatives[:-1], square, cubic / h), axis=1))
