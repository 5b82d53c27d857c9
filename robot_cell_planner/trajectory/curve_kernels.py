"""Compiled evaluation of piecewise polynomials, and search for pieces that may exceed limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..system.compiled import compiled

Floats = NDArray[np.float64]


@compiled
def differentiate(rows: Floats, length: int) -> int:
    """Replace the first `length` ascending coefficients (n, dof) by those of the derivative, and return how many it
    has."""
    for k in range(1, length):
        for joint in range(rows.shape[1]):
            rows[k - 1, joint] = k * rows[k, joint]
    if length > 1:
        return length - 1
    rows[0, :] = 0.0
    return 1


@compiled
def hermite_pieces(times: Floats, samples: Floats, coefficients: Floats) -> None:
    """Compute the polynomials of degree 5 between samples (Hermite interpolation).

    Args:
        times: Times of the samples (n,) [s].
        samples: Positions, velocities and accelerations (n, 3, dof).
        coefficients: Set to ascending powers of the time since the sample where the piece begins (n - 1, 6, dof).
    """
    for piece in range(len(times) - 1):
        h = times[piece + 1] - times[piece]
        for joint in range(samples.shape[2]):
            p0, v0, a0 = samples[piece, 0, joint], samples[piece, 1, joint], samples[piece, 2, joint]
            p1, v1, a1 = samples[piece + 1, 0, joint], samples[piece + 1, 1, joint], samples[piece + 1, 2, joint]
            speed = (p1 - p0) / h
            row = coefficients[piece, :, joint]
            row[0], row[1], row[2] = p0, v0, 0.5 * a0
            row[3] = ((10.0 * speed - 6.0 * v0 - 4.0 * v1) / h - (1.5 * a0 - 0.5 * a1)) / h
            row[4] = ((-15.0 * speed + 8.0 * v0 + 7.0 * v1) / h + (1.5 * a0 - a1)) / (h * h)
            row[5] = ((6.0 * speed - 3.0 * (v0 + v1)) / h + 0.5 * (a1 - a0)) / (h * h * h)


@compiled
def evaluate_pieces(coefficients: Floats, breaks: Floats, times: Floats, values: Floats) -> None:
    """Evaluate a curve and its first derivatives at times (n,) [s], which are clamped to the curve.

    Args:
        coefficients: Of the pieces (m, degree + 1, dof), ascending powers of the time since the break of the piece.
        breaks: Ascending times at which the pieces begin, and the end of the last one (m + 1,) [s].
        times: Times (n,) [s].
        values: Set to the derivatives from order 0 (orders, n, dof).
    """
    count, dof = coefficients.shape[1], coefficients.shape[2]
    rows = np.empty((count, dof))
    piece, last = -1, len(breaks) - 2
    for index in range(len(times)):
        time = min(max(times[index], 0.0), breaks[last + 1])
        if not (piece >= 0 and breaks[piece] <= time and (piece == last or time < breaks[piece + 1])):
            piece = min(max(np.searchsorted(breaks, time, side="right") - 1, 0), last)
        elapsed = time - breaks[piece]
        rows[:, :] = coefficients[piece]
        length = count
        for order in range(values.shape[0]):
            found = values[order, index]
            found[:] = rows[length - 1]
            for k in range(length - 2, -1, -1):
                for joint in range(dof):
                    found[joint] = found[joint] * elapsed + rows[k, joint]
            length = differentiate(rows, length)


@compiled
def mark_suspects(
    coefficients: Floats, spans: Floats, lower: Floats, upper: Floats, forms: Floats, lowest: int, marks: Floats
) -> int:
    """Mark the pieces on which a joint may exceed a limit, and return how many there are.

    The Bernstein form of a polynomial encloses it, so that pieces without a mark keep their limits.

    Args:
        coefficients: Of the pieces (m, degree + 1, dof), ascending powers of the time since their begin.
        spans: Durations of the pieces (m,) [s].
        lower, upper: Limits of the derivatives of the orders 0 to 3 (4, dof).
        forms: Matrices to the Bernstein form, by the number of coefficients: (degree + 2, degree + 1, degree + 1).
        lowest: First order that is checked.
        marks: Set to 1 for each order, piece and joint that may exceed a limit (4, m, dof).
    """
    pieces, count, dof = coefficients.shape
    rows = np.empty((count, dof))
    low, high, point = np.empty(dof), np.empty(dof), np.empty(dof)
    found = 0
    for piece in range(pieces):
        span, power = spans[piece], 1.0
        for k in range(count):
            for joint in range(dof):
                rows[k, joint] = coefficients[piece, k, joint] * power
            power *= span
        power, length = 1.0, count
        for order in range(4):
            # The sum of the magnitudes of the coefficients is a wider bound, but usually suffices.
            inside = True
            for joint in range(dof):
                spread = 0.0
                for k in range(1, length):
                    spread += abs(rows[k, joint])
                inside &= rows[0, joint] - spread >= lower[order, joint] * power
                inside &= rows[0, joint] + spread <= upper[order, joint] * power
            if order >= lowest and not inside:
                low[:], high[:] = rows[0], rows[0]
                for i in range(1, length):
                    point[:] = rows[0]
                    for j in range(1, i + 1):
                        weight = forms[length, i, j]
                        for joint in range(dof):
                            point[joint] += weight * rows[j, joint]
                    for joint in range(dof):
                        low[joint] = min(low[joint], point[joint])
                        high[joint] = max(high[joint], point[joint])
                for joint in range(dof):
                    inside = low[joint] >= lower[order, joint] * power and high[joint] <= upper[order, joint] * power
                    if not inside:  # also if it is not a number
                        marks[order, piece, joint] = 1.0
                        found += 1
            # The derivative by the normalized time of the piece.
            length = differentiate(rows, length)
            power *= span
    return found
