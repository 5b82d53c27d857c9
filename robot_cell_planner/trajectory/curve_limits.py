"""Position, velocity, acceleration and jerk limits of a trajectory's curve, checked by the extrema of every piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from .curve_kernels import find_suspects
from .curves import PolynomialCurve
from .extrema import bernstein_forms, beyond, derived, extremes, unit_columns
from .limits import Array, MotionLimits

RELATIVE_TOLERANCE = 1e-6
POSITION_TOLERANCE = 1e-9  # [rad or m]
# Effect of half a unit in the last place of the positions at both ends of a piece of length h on the derivative of an
# order, in units of that rounding / h^order. It is allowed for up to a fraction of the limit.
ROUNDING = (1.0, 4.0, 24.0, 120.0)
MAX_ROUNDING = 1e-3
PIECES_AT_ONCE = 65_536
FEW = 64  # places that may exceed a limit, for which there is room at first


@dataclass(frozen=True)
class Excess:
    """The largest limit violation of a joint on one piece.

    It has the piece, the column of the joint, the time [s] since the start of the curve, the value and the violated
    limit.
    """

    piece: int
    column: int
    time: float
    value: float
    limit: float


def excesses(curve: PolynomialCurve, limits: MotionLimits, max_count: int) -> tuple[list[Excess], ...]:
    """Return where a curve exceeds its limits of position, velocity, acceleration and jerk: four lists in the order of
    pieces, each of at most `max_count`."""
    found: tuple[list[Excess], ...] = ([], [], [], [])
    lower, upper = limits.by_order
    for first, coefficients, spans in _chunks(curve):
        for order, marked in _suspects(coefficients, spans, lower, upper):
            left = max_count - len(found[order])
            part = coefficients[marked[0]], spans[marked[0]], marked[1]
            listed = islice(_excesses(*part, order, lower[order], upper[order]), left)
            for index, at, value, limit in listed:
                piece = first + int(marked[0][index])
                time = float(curve.breaks[piece] + at)
                found[order].append(Excess(piece, int(marked[1][index]), time, value, limit))
    return found


def _suspects(
    coefficients: Array, spans: Array, lower: Array, upper: Array, lowest: int = 0
) -> Iterator[tuple[int, tuple[NDArray[np.intp], NDArray[np.intp]]]]:
    """Yield each order with the pieces and joints that may exceed a limit (4, dof), if any."""
    coefficients, forms = np.ascontiguousarray(coefficients), bernstein_forms(coefficients.shape[1])
    room, count = 0, FEW
    while count > room:
        room = count
        found = np.empty((room, 3), dtype=np.intp)
        count = find_suspects(coefficients, spans, lower, upper, forms, lowest, found)
    found = found[:count]
    for order in range(lowest, len(lower)) if count else ():
        own = found[found[:, 0] == order]
        if len(own):
            yield order, (own[:, 1], own[:, 2])


def _excesses(
    coefficients: Array, spans: Array, joints: NDArray[np.intp], order: int, lower: Array, upper: Array
) -> Iterator[tuple[int, float, float, float]]:
    """Yield the excesses of suspects: index, time since the begin of the piece [s], value and violated limit.

    coefficients: of the pieces of the suspects (k, degree + 1, dof); joints: (k,).
    """
    each = np.arange(len(joints))
    own, lower, upper = coefficients[each, :, joints][:, :, None], lower[joints], upper[joints]
    columns = derived(unit_columns(own, spans), order)
    # Derivatives by the normalized time of a piece are those by time, multiplied by the duration to the power of the
    # order.
    scale = spans**order
    slack = _slack(own[:, 0, 0], spans, order, lower, upper)
    low, high = scale * (lower - slack), scale * (upper + slack)
    suspects = beyond(columns, low, high)
    if not len(suspects):
        return
    minimum, maximum, minimum_at, maximum_at = extremes(columns[:, suspects])
    below, above = low[suspects] - minimum, maximum - high[suspects]
    for place in np.flatnonzero((below > 0.0) | (above > 0.0)).tolist():
        index = int(suspects[place])
        under = below[place] > above[place]
        argument, value = (minimum_at, minimum) if under else (maximum_at, maximum)
        limit = float((lower if under else upper)[index])
        number = float(value[place]) / float(scale[index])
        yield index, float(argument[place] * spans[index]), number, abs(limit) if order else limit


def slowing(curve: PolynomialCurve, limits: MotionLimits) -> Array:
    """Return the factors (m,) of at least 1 by which each piece must be slowed down for velocity, acceleration and
    jerk."""
    factors = np.ones(len(curve.coefficients))
    lower, upper = limits.by_order
    for first, coefficients, spans in _chunks(curve):
        for order, (pieces, joints) in _suspects(coefficients, spans, lower, upper, lowest=1):
            own = coefficients[pieces, :, joints][:, :, None]
            columns = derived(unit_columns(own, spans[pieces]), order)
            bounds = upper[order][joints] * spans[pieces] ** order
            left = beyond(columns, -bounds, bounds)
            if not len(left):
                continue
            minimum, maximum, _, _ = extremes(columns[:, left])
            over = np.maximum(np.maximum(-minimum, maximum) / bounds[left], 1.0)
            np.maximum.at(factors, first + pieces[left], over ** (1.0 / order))
    return factors


def _chunks(curve: PolynomialCurve) -> Iterator[tuple[int, Array, Array]]:
    spans = curve.breaks[1:] - curve.breaks[:-1]  # `np.diff` takes much longer
    for first in range(0, len(spans), PIECES_AT_ONCE):
        part = slice(first, first + PIECES_AT_ONCE)
        yield first, curve.coefficients[part], spans[part]


def _slack(positions: Array, spans: Array, order: int, lower: Array, upper: Array) -> Array:
    """Return the allowance for rounding by which a derivative may exceed its limits (k,), by the positions at which the
    pieces begin."""
    if order == 0:
        return np.full(len(spans), POSITION_TOLERANCE)
    limit = np.minimum(-lower, upper)
    bit = np.finfo(np.float64).eps * np.abs(positions)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        rounding = ROUNDING[order] * bit / spans**order
    slack: Array = RELATIVE_TOLERANCE * limit + np.fmin(rounding, MAX_ROUNDING * limit)
    return slack
