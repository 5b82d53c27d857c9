"""A trajectory's curve against limits of position, velocity, acceleration and jerk: by the extrema of every piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .curves import PolynomialCurve
from .extrema import derived, enclosures, extremes, unit_columns
from .limits import RATES, Array, MotionLimits

RELATIVE_TOLERANCE = 1e-6
POSITION_TOLERANCE = 1e-9  # [rad or m]
# What half a bit of the positions at both ends of a piece of length h makes of the derivative of an order, in units of
# that bit / h^order. It is allowed for up to a share of the limit.
ROUNDING = (1.0, 4.0, 24.0, 120.0)
MOST_ROUNDING = 1e-3
PIECES_AT_ONCE = 65_536


@dataclass(frozen=True)
class Excess:
    """The worst that a joint does beyond a limit on one piece: the piece, the joint's column, when [s] since the curve
    began, the value there and the limit that it breaks."""

    piece: int
    column: int
    time: float
    value: float
    limit: float


def excesses(curve: PolynomialCurve, order: int, lower: Array, upper: Array, most: int) -> list[Excess]:
    """Where a derivative of a curve leaves its limits (dof,), in the order of pieces; at most so many.

    lower, upper: of positions (order 0), velocities, accelerations or jerks (order 1, 2, 3).
    """
    found: list[Excess] = []
    dof = len(lower)
    for first, coefficients, spans in _chunks(curve):
        columns = derived(unit_columns(coefficients, spans), order)
        # Derivatives by the share of a piece are those by time, times its duration to the power of the order.
        scale = (spans**order)[:, None]
        slack = _slack(coefficients, spans, order, lower, upper)
        low, high = (scale * (lower - slack)).reshape(-1), (scale * (upper + slack)).reshape(-1)
        least, greatest = enclosures(columns)
        suspects = np.flatnonzero((least < low) | (greatest > high))
        least, greatest, least_at, greatest_at = extremes(columns[:, suspects])
        below, above = low[suspects] - least, greatest - high[suspects]
        for index in np.flatnonzero((below > 0.0) | (above > 0.0)).tolist():
            piece, column = divmod(int(suspects[index]), dof)
            under = below[index] > above[index]
            place, value = (least_at, least) if under else (greatest_at, greatest)
            time = float(curve.breaks[first + piece] + place[index] * spans[piece])
            limit = float((lower if under else upper)[column])
            number = float(value[index]) / float(scale[piece, 0])
            found.append(Excess(first + piece, column, time, number, abs(limit) if order else limit))
            if len(found) == most:
                return found
    return found


def slowing(curve: PolynomialCurve, limits: MotionLimits) -> Array:
    """How many times slower each piece (m,) has to be passed to keep the limits of velocity, acceleration and jerk, at
    least 1."""
    factors = np.ones(len(curve.coefficients))
    for first, coefficients, spans in _chunks(curve):
        part = factors[first : first + len(spans)]
        columns = unit_columns(coefficients, spans)
        for order, name in enumerate(RATES, start=1):
            columns = derived(columns)
            bounds = (getattr(limits, name) * (spans**order)[:, None]).reshape(-1)
            low, high = enclosures(columns)
            suspects = np.flatnonzero(np.maximum(-low, high) > bounds)
            least, greatest, _, _ = extremes(columns[:, suspects])
            over = np.maximum(np.maximum(-least, greatest) / bounds[suspects], 1.0)
            np.maximum.at(part, suspects // coefficients.shape[2], over ** (1.0 / order))
    return factors


def _chunks(curve: PolynomialCurve) -> Iterator[tuple[int, Array, Array]]:
    spans = np.diff(curve.breaks)
    for first in range(0, len(spans), PIECES_AT_ONCE):
        part = slice(first, first + PIECES_AT_ONCE)
        yield first, curve.coefficients[part], spans[part]


def _slack(coefficients: Array, spans: Array, order: int, lower: Array, upper: Array) -> Array:
    """How far beyond its limits a derivative may be for rounding (m, dof)."""
    if order == 0:
        return np.full((len(spans), coefficients.shape[2]), POSITION_TOLERANCE)
    limit = np.minimum(-lower, upper)
    bit = np.finfo(np.float64).eps * np.abs(coefficients[:, 0])
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        rounding = ROUNDING[order] * bit / spans[:, None] ** order
    slack: Array = RELATIVE_TOLERANCE * limit + np.fmin(rounding, MOST_ROUNDING * limit)
    return slack
