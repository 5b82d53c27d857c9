"""Curves through joint space whose certificates are asked for: all that is needed of one is where it is, and how far
from there it can get."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidRequestError

Floats = NDArray[np.float64]
MORE = 1.0 + 1e-9  # for rounding


class JointCurve(Protocol):
    """A curve q(t) of (dof,) values.

    pieces: (m + 1,) ascending parameters between which `spread` is asked for.
    """

    @property
    def pieces(self) -> Floats: ...

    def at(self, parameter: float) -> Floats:
        """The configuration (dof,) there."""
        ...

    def spread(self, middle: float, half: float) -> Floats:
        """A bound (dof,) on how far q(t) is from q(middle), for all t no farther than `half` from the middle that lie
        in the same piece."""
        ...


@dataclass(frozen=True, eq=False)
class StraightMotion:
    """The straight line between two configurations (dof,), t from 0 to 1."""

    start: Floats
    end: Floats

    @property
    def pieces(self) -> Floats:
        return np.array((0.0, 1.0))

    def at(self, parameter: float) -> Floats:
        # The ends exactly, whatever rounding does in between.
        if parameter in (0.0, 1.0):
            return self.start if parameter == 0.0 else self.end
        return np.asarray(self.start + parameter * (self.end - self.start))

    def spread(self, middle: float, half: float) -> Floats:
        return np.asarray(np.abs(self.end - self.start) * (half * MORE))


@dataclass(frozen=True, eq=False)
class PolynomialMotion:
    """Polynomials of time, one piece after the other.

    breaks: (m + 1,) ascending. coefficients: (m, degree + 1, dof), ascending powers of the time since the piece's own
    break.

    Raises:
        InvalidRequestError: the shapes do not fit each other.
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

    def spread(self, middle: float, half: float) -> Floats:
        # q(middle + h) - q(middle) is the sum of the Taylor terms there, each of which grows with |h|.
        terms = self._around(self._piece(middle), middle)[1:]
        powers = half ** np.arange(1, len(terms) + 1, dtype=np.float64)
        return np.asarray((np.abs(terms) * powers[:, None]).sum(axis=0) * MORE)

    def _piece(self, parameter: float) -> int:
        return int(np.clip(np.searchsorted(self.breaks, parameter, side="right") - 1, 0, len(self.breaks) - 2))

    def _around(self, piece: int, parameter: float) -> Floats:
        """Coefficients (degree + 1, dof) of a piece in powers of the time since `parameter`."""
        shift, old = parameter - float(self.breaks[piece]), np.asarray(self.coefficients[piece])
        degree = len(old) - 1
        found = np.zeros_like(old)
        for power in range(degree + 1):
            for lower in range(power + 1):
                found[lower] += math.comb(power, lower) * shift ** (power - lower) * old[power]
        return np.asarray(found)


def stretches(curve: JointCurve, widest: float) -> tuple[Floats, Floats]:
    """Middles (n,) and halves (n,) of equal parts of each piece, so many that nothing spreads by more than `widest` in
    the first estimate [rad or m]."""
    middles: list[Floats] = []
    halves: list[Floats] = []
    for low, high in pairwise(curve.pieces.tolist()):
        half = 0.5 * (high - low)
        spread = float(curve.spread(0.5 * (low + high), half).max(initial=0.0))
        count = min(max(1, math.ceil(spread / widest)), 100_000)
        middles.append(low + (np.arange(count) + 0.5) * (2.0 * half / count))
        halves.append(np.full(count, half / count))
    return np.concatenate(middles), np.concatenate(halves)
