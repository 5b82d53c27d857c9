"""Compiled evaluation of piecewise polynomials and of the times to sample them, and search for pieces that may exceed
limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..system.compiled import compiled

Floats = NDArray[np.float64]
TOGETHER = 16  # pieces whose bounds are computed together, in SIMD vectors


@compiled
def derivative_factors(orders: int, count: int) -> Floats:
    """Return the factors (orders, count) k! / (k - order)! of ascending coefficients in derivatives from order 0."""
    factors = np.zeros((orders, count))
    for order in range(orders):
        for k in range(order, count):
            factors[order, k] = 1.0 if order == 0 else factors[order - 1, k] * (k - order + 1)
    return factors


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
    factors = derivative_factors(values.shape[0], count)
    piece, last = -1, len(breaks) - 2
    for index in range(len(times)):
        time = min(max(times[index], 0.0), breaks[last + 1])
        if not (piece >= 0 and breaks[piece] <= time and (piece == last or time < breaks[piece + 1])):
            piece = min(max(np.searchsorted(breaks, time, side="right") - 1, 0), last)
        elapsed = time - breaks[piece]
        for order in range(values.shape[0]):
            for joint in range(dof):
                value = 0.0
                for k in range(count - 1, order - 1, -1):
                    value = value * elapsed + factors[order, k] * coefficients[piece, k, joint]
                values[order, index, joint] = value


@compiled
def find_suspects(
    coefficients: Floats,
    spans: Floats,
    lower: Floats,
    upper: Floats,
    forms: Floats,
    lowest: int,
    found: NDArray[np.intp],
) -> int:
    """Find where a joint may exceed a limit on a piece, and return how often. The other pieces keep their limits.

    Args:
        coefficients: Of the pieces (m, degree + 1, dof), ascending powers of the time since their begin.
        spans: Durations of the pieces (m,) [s].
        lower, upper: Limits of the derivatives of the orders 0 to 3 (4, dof).
        forms: Matrices to the Bernstein form, by the number of coefficients: (degree + 2, degree + 1, degree + 1).
        lowest: First order that is checked.
        found: Set to order, piece and joint, as many as there is room for (room, 3).
    """
    pieces, count, dof = coefficients.shape
    width = TOGETHER * dof
    factors, rows = derivative_factors(4, count), np.empty((count, width))
    of_lanes, spread = np.empty(width), np.empty(width)
    low, high = np.empty((4, width)), np.empty((4, width))
    for place in range(TOGETHER):
        for joint in range(dof):
            low[:, place * dof + joint], high[:, place * dof + joint] = lower[:, joint], upper[:, joint]
    total = 0
    for begin in range(0, pieces, TOGETHER):
        used = min(TOGETHER, pieces - begin) * dof
        for place in range(used // dof):
            first = place * dof
            for k in range(count):
                for joint in range(dof):
                    rows[k, first + joint] = coefficients[begin + place, k, joint]
            for joint in range(dof):
                of_lanes[first + joint] = spans[begin + place]
        for order in range(lowest, min(count, 4)):
            # The sum of the magnitudes of the further terms is a wider bound, but usually suffices.
            spread[:] = 0.0
            for k in range(count - 1, order, -1):
                factor = factors[order, k]
                for lane in range(used):
                    spread[lane] = (spread[lane] + factor * abs(rows[k, lane])) * of_lanes[lane]
            factor, outside = factors[order, order], 0
            for lane in range(used):
                middle = factor * rows[order, lane]
                inside = (middle - spread[lane] >= low[order, lane]) & (middle + spread[lane] <= high[order, lane])
                outside += 0 if inside else 1
            if not outside:
                continue
            for lane in range(used):
                if not encloses(rows, lane, of_lanes[lane], factors, forms, order, low[order, lane], high[order, lane]):
                    if total < found.shape[0]:
                        found[total, 0], found[total, 1], found[total, 2] = order, begin + lane // dof, lane % dof
                    total += 1
    return total


@compiled
def encloses(
    rows: Floats, lane: int, span: float, factors: Floats, forms: Floats, order: int, low: float, high: float
) -> bool:
    """Return whether the Bernstein form of a derivative, which encloses it, is within limits.

    rows: coefficients (degree + 1, lanes) of the polynomials. factors: see `derivative_factors`. forms: see
    `find_suspects`.
    """
    length = rows.shape[0] - order
    for i in range(length):
        point, power = 0.0, 1.0
        for j in range(i + 1):
            point += forms[length, i, j] * factors[order, order + j] * rows[order + j, lane] * power
            power *= span
        if not (point >= low and point <= high):  # also if it is not a number
            return False
    return True


@compiled
def apart_from(time: float, others: Floats, count: int, apart: float) -> bool:
    """Return whether a time differs by at least `apart` from each of the first `count` others, which are sorted."""
    after = int(np.searchsorted(others[:count], time))
    before, following = others[max(after - 1, 0)], others[min(after, count - 1)]
    return bool(min(abs(time - before), abs(following - time)) >= apart)


@compiled
def merge_sorted(first: Floats, count: int, second: Floats, further: int, merged: Floats) -> int:
    """Merge `count` and `further` sorted numbers, equal ones once, and return how many there are."""
    i, j, total = 0, 0, 0
    while i < count or j < further:
        if j == further or (i < count and first[i] <= second[j]):
            number, i = first[i], i + 1
        else:
            number, j = second[j], j + 1
        if total == 0 or number != merged[total - 1]:
            merged[total] = number
            total += 1
    return total


@compiled
def merge_times(grid: Floats, rests: Floats, steps: Floats, apart: float, merged: Floats) -> int:
    """Merge the times of a grid, of rests and of jerk steps between its ends, with at least `apart` between them.

    Of two times that are closer, rests take precedence over steps, earlier steps over later ones, and steps over the
    grid.

    Args:
        grid: Ascending times (n,) [s].
        rests, steps: Times (r,) and (k,) [s].
        apart: [s].
        merged: Set to the merged times; room for all of them and two more.

    Returns:
        Number of the merged times.
    """
    room = len(grid) + len(rests) + len(steps) + 2
    fixed, both, selected = np.empty(room), np.empty(room), np.empty(room)
    fixed[0], fixed[1] = grid[0], grid[-1]
    chosen = 0
    for time in np.sort(rests):
        if apart_from(time, fixed, 2, apart):
            selected[chosen] = time
            chosen += 1
    count = merge_sorted(fixed, 2, selected, chosen, both)
    chosen = 0
    for time in np.sort(steps):
        if apart_from(time, both, count, apart) and (chosen == 0 or time - selected[chosen - 1] >= apart):
            selected[chosen] = time
            chosen += 1
    count = merge_sorted(both, count, selected, chosen, fixed)
    chosen = 0
    for time in grid:
        if apart_from(time, fixed, count, apart):
            selected[chosen] = time
            chosen += 1
    return merge_sorted(fixed, count, selected, chosen, merged)


@compiled
def measure_steps(
    times: Floats,
    samples: Floats,
    jerk: Floats,
    factors: Floats,
    tolerance: float,
    values: Floats,
    bounds: Floats,
) -> int:
    """Compare the steps between samples with those that a motion within jerk limits can make, see
    `validation._discontinuities`, and return how many are beyond.

    Args:
        times: Times of the samples (n,) [s].
        samples: Positions, velocities and accelerations (3, n, dof).
        jerk: Limits (dof,).
        factors: Of jerk h^3, by which the change of position over a step h, and that of the velocity times h, may
            differ from those of a motion with a linear acceleration (2,).
        tolerance: Added to these differences [rad or m].
        values, bounds: Set to the greater difference of the two, by their bounds, and to its bound (n - 1, dof).
    """
    broken = 0
    for row in range(len(times) - 1):
        h = times[row + 1] - times[row]
        for joint in range(len(jerk)):
            v0, v1 = samples[1, row, joint], samples[1, row + 1, joint]
            a0, a1 = samples[2, row, joint], samples[2, row + 1, joint]
            predicted = 0.5 * h * (v0 + v1) - h * h * (a1 - a0) / 12.0
            off = abs(samples[0, row + 1, joint] - samples[0, row, joint] - predicted)
            speed_off = abs(v1 - v0 - 0.5 * h * (a0 + a1)) * h
            scale = jerk[joint] * h * h * h
            allowed, speed_allowed = factors[0] * scale + tolerance, factors[1] * scale + tolerance
            if off * speed_allowed < speed_off * allowed:
                off, allowed = speed_off, speed_allowed
            values[row, joint], bounds[row, joint] = off, allowed
            broken += off > allowed
    return broken
