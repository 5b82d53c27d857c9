"""Joint-space curves to certify: a curve provides its configuration and a bound on its deviation over an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidRequestError
from ...model.arguments import checked_fields

Floats = NDArray[np.float64]
MORE = 1.0 + 1e-9  # factor against rounding errors


class JointCurve(Protocol):
    """A curve q(t) of (dof,) values.

    pieces: (m + 1,) ascending parameters; `deviation_bound` is only evaluated within one piece.
    """

    @property
    def pieces(self) -> Floats: ...

    def at(self, parameter: float) -> Floats:
        """Return the configuration (dof,) at a parameter."""
        ...

    def deviation_bound(self, middle: float, half: float) -> Floats:
        """Return an upper bound (dof,) on |q(t) - q(middle)| for all t within `half` of `middle` in the same piece."""
        ...

    def boxes(self, intervals: Floats) -> tuple[Floats, Floats]:
        """Return the results of `at` and `deviation_bound`, (n, dof) each, of intervals (n, 2): middles and halves."""
        ...


@dataclass(frozen=True, eq=False)
class StraightMotion:
    """Straight line between two configurations (dof,), t from 0 to 1."""

    start: Floats
    end: Floats

    @property
    def pieces(self) -> Floats:
        return np.array((0.0, 1.0))

    def at(self, parameter: float) -> Floats:
        # Use both ends exactly, so that interpolation adds no rounding there.
        if parameter in (0.0, 1.0):
            return self.start if parameter == 0.0 else self.end
        return np.asarray(self.start + parameter * (self.end - self.start))

    def deviation_bound(self, middle: float, half: float) -> Floats:
        return np.asarray(np.abs(self.end - self.start) * (half * MORE))

    def boxes(self, intervals: Floats) -> tuple[Floats, Floats]:
        middles, halves = intervals[:, 0, None], intervals[:, 1, None]
        configurations = np.where(middles == 1.0, self.end, self.start + middles * (self.end - self.start))
        return configurations, np.abs(self.end - self.start) * (halves * MORE)


@checked_fields
@dataclass(frozen=True, eq=False)
class PolynomialMotion:
    """Piecewise polynomial of time.

    Attributes:
        breaks: Ascending times (m + 1,) [s].
        coefficients: Coefficients (m, degree + 1, dof) of ascending powers of the time [s] since the break at which the
            piece begins.

    Raises:
        InvalidRequestError: The shapes do not fit each other.
    """

    breaks: Floats
    coefficients: Floats

    def __post_init__(self) -> None:
        if self.breaks.ndim != 1 or self.coefficients.ndim != 3 or len(self.coefficients) != len(self.breaks) - 1:
            text = f"breaks {self.breaks.shape} and coefficients {self.coefficients.shape} do not fit each other"
            raise InvalidRequestError(f"{text}, expected (m + 1,) and (m, degree + 1, dof)", stage="certificate")

    @property
    def pieces(self) -> Floats:
        return self.breaks

    def at(self, parameter: float) -> Floats:
        return np.asarray(self._around(np.array((parameter,)))[0, 0])

    def deviation_bound(self, middle: float, half: float) -> Floats:
        return np.asarray(self.boxes(np.array(((middle, half),)))[1][0])

    def boxes(self, intervals: Floats) -> tuple[Floats, Floats]:
        # q(middle + h) - q(middle) is the sum of the Taylor terms at the middle, each of which grows with |h|.
        terms = self._around(intervals[:, 0])
        deviations = np.zeros_like(terms[0])
        for power, term in enumerate(terms[1:], 1):
            deviations += np.abs(term) * intervals[:, 1, None] ** power
        return terms[0], deviations * MORE

    def _around(self, parameters: Floats) -> Floats:
        """Return the coefficients (degree + 1, n, dof) in powers of the time since each parameter (n,)."""
        pieces = np.clip(np.searchsorted(self.breaks, parameters, side="right") - 1, 0, len(self.breaks) - 2)
        shifts, old = (parameters - self.breaks[pieces])[:, None], self.coefficients[pieces].swapaxes(0, 1)
        found = np.zeros_like(old)
        for power in range(len(old)):
            for lower in range(power + 1):
                found[lower] += math.comb(power, lower) * shifts ** (power - lower) * old[power]
        return np.asarray(found)


def intervals(curve: JointCurve, widest: float) -> tuple[Floats, Floats]:
    """Return the middles (n,) and half lengths (n,) of equal intervals of each piece.

    The number of intervals is such that the first estimate of the deviation is at most `widest` [rad or m] in each.
    """
    middles: list[Floats] = []
    halves: list[Floats] = []
    for low, high in pairwise(curve.pieces.tolist()):
        half = 0.5 * (high - low)
        deviation = float(curve.deviation_bound(0.5 * (low + high), half).max(initial=0.0))
        count = min(max(1, math.ceil(deviation / widest)), 100_000)
        middles.append(low + (np.arange(count) + 0.5) * (2.0 * half / count))
        halves.append(np.full(count, half / count))
    return np.concatenate(middles), np.concatenate(halves)


def joined(intervals: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Merge adjacent intervals (n, 2) of middles and half lengths; also return how many were merged into each.

    An exact distance usually decides a larger interval than the sphere test, so merged intervals need fewer distances.
    """
    if not len(intervals):
        return intervals, np.zeros(0, dtype=np.intp)
    begins, ends = intervals[:, 0] - intervals[:, 1], intervals[:, 0] + intervals[:, 1]
    firsts = np.concatenate(([0], np.flatnonzero(begins[1:] > ends[:-1] + 1e-12) + 1))
    counts = np.diff(np.append(firsts, len(intervals)))
    begins, ends = begins[firsts], ends[firsts + counts - 1]
    return np.column_stack((0.5 * (begins + ends), 0.5 * (ends - begins))), counts
