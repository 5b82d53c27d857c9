"""Joint-space curves to certify: a curve provides its configuration and a bound on its deviation over an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidRequestError

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
        piece = self._piece(parameter)
        return np.asarray(self._around(piece, parameter)[0])

    def deviation_bound(self, middle: float, half: float) -> Floats:
        # q(middle + h) - q(middle) is the sum of the Taylor terms at the middle, each of which grows with |h|.
        terms = self._around(self._piece(middle), middle)[1:]
        powers = half ** np.arange(1, len(terms) + 1, dtype=np.float64)
        return np.asarray((np.abs(terms) * powers[:, None]).sum(axis=0) * MORE)

    def _piece(self, parameter: float) -> int:
        return int(np.clip(np.searchsorted(self.breaks, parameter, side="right") - 1, 0, len(self.breaks) - 2))

    def _around(self, piece: int, parameter: float) -> Floats:
        """Return the coefficients (degree + 1, dof) of a piece in powers of the time since `parameter`."""
        shift, old = parameter - float(self.breaks[piece]), np.asarray(self.coefficients[piece])
        degree = len(old) - 1
        found = np.zeros_like(old)
        for power in range(degree + 1):
            for lower in range(power + 1):
                found[lower] += math.comb(power, lower) * shift ** (power - lower) * old[power]
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
