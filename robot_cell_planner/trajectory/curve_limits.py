"""Position, velocity, acceleration and jerk limits of a trajectory's curve, checked by the extrema of every piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .curves import PolynomialCurve
from .extrema import beyond, derived, extremes, unit_columns
from .limits import RATES, Array, MotionLimits

RELATIVE_TOLERANCE = 1e-6
POSITION_TOLERANCE = 1e-9  # [rad or m]
# Effect of half a unit in the last place of the positions at both ends of a piece of length h on the derivative of an
# order, in units of that rounding / h^order. It is allowed for up to a fraction of the limit.
ROUNDING = (1.0, 4.0, 24.0, 120.0)
MAX_ROUNDING = 1e-3
PIECES_AT_ONCE = 65_536


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


def excesses(curve: PolynomialCurve, order: int, lower: Array, upper: Array, max_count: int) -> list[Excess]:
    """Return where a derivative of a curve exceeds its limits (dof,), in the order of pieces, at most `max_count`.

    lower, upper: limits of positions (order 0), velocities, accelerations or jerks (order 1, 2, 3).
    """
    found: list[Excess] = []
    dof = len(lower)
    for first, coefficients, spans in _chunks(curve):
        columns = derived(unit_columns(coefficients, spans), order)
        # Derivatives by the normalized time of a piece are those by time, multiplied by the duration to the power of
        # the order.
        scale = (spans**order)[:, None]
        slack = _slack(coefficients, spans, order, lower, upper)
        low, high = (scale * (lower - slack)).reshape(-1), (scale * (upper + slack)).reshape(-1)
        suspects = beyond(columns, low, high)
        if not len(suspects):
            continue
        minimum, maximum, minimum_at, maximum_at = extremes(columns[:, suspects])
        below, above = low[suspects] - minimum, maximum - high[suspects]
        for index in np.flatnonzero((below > 0.0) | (above > 0.0)).tolist():
            piece, column = divmod(int(suspects[index]), dof)
            under = below[index] > above[index]
            argument, value = (minimum_at, minimum) if under else (maximum_at, maximum)
            time = float(curve.breaks[first + piece] + argument[index] * spans[piece])
            limit = float((lower if under else upper)[column])
            number = float(value[index]) / float(scale[piece, 0])
            found.append(Excess(first + piece, column, time, number, abs(limit) if order else limit))
            if len(found) == max_count:
                return found
    return found


def slowing(curve: PolynomialCurve, limits: MotionLimits) -> Array:
    """Return the factors (m,) of at least 1 by which each piece must be slowed down for velocity, acceleration and
    jerk."""
    factors = np.ones(len(curve.coefficients))
    for first, coefficients, spans in _chunks(curve):
        part = factors[first : first + len(spans)]
        columns = unit_columns(coefficients, spans)
        for order, name in enumerate(RATES, start=1):
            columns = derived(columns)
            bounds = (getattr(limits, name) * (spans**order)[:, None]).reshape(-1)
            suspects = beyond(columns, -bounds, bounds)
            if not len(suspects):
                continue
            minimum, maximum, _, _ = extremes(columns[:, suspects])
            over = np.maximum(np.maximum(-minimum, maximum) / bounds[suspects], 1.0)
            np.maximum.at(part, suspects // coefficients.shape[2], over ** (1.0 / order))
    return factors


def _chunks(curve: PolynomialCurve) -> Iterator[tuple[int, Array, Array]]:
    spans = np.diff(curve.breaks)
    for first in range(0, len(spans), PIECES_AT_ONCE):
        part = slice(first, first + PIECES_AT_ONCE)
        yield first, curve.coefficients[part], spans[part]


def _slack(coefficients: Array, spans: Array, order: int, lower: Array, upper: Array) -> Array:
    """Return the allowance for rounding by which a derivative may exceed its limits (m, dof)."""
    if order == 0:
        return np.full((len(spans), coefficients.shape[2]), POSITION_TOLERANCE)
    limit = np.minimum(-lower, upper)
    bit = np.finfo(np.float64).eps * np.abs(coefficients[:, 0])
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        rounding = ROUNDING[order] * bit / spans[:, None] ** order
    slack: Array = RELATIVE_TOLERANCE * limit + np.fmin(rounding, MAX_ROUNDING * limit)
    return slack
