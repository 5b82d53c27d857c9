"""Curves over time: piecewise polynomials, a path traversed by a law of motion, and sequences of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MAX_ORDER = 3  # jerk


class Curve(Protocol):
    """A curve q(t), 0 <= t <= duration, of (dof,) values that can be derived three times piece by piece."""

    @property
    def duration(self) -> float: ...

    def evaluate(self, times: Array, order: int = 0) -> Array:
        """The derivative of an order from 0 to 3 at times (n,): (n, dof). Times beyond either end count as the end."""
        ...

    def derivatives(self, times: Array, highest: int) -> list[Array]:
        """`evaluate` for the orders from 0 to `highest`, at once."""
        ...

    def stretched(self, factor: float) -> Curve:
        """The same path in `factor` times the time."""
        ...


@dataclass(frozen=True, eq=False)
class PolynomialCurve:
    """Polynomials one after the other.

    breaks: (m + 1,) ascending, the first 0. coefficients: (m, degree + 1, dof), ascending powers of the time since the
    piece's own break.
    """

    breaks: Array
    coefficients: Array

    @property
    def duration(self) -> float:
        return float(self.breaks[-1])

    @cached_property
    def _derivatives(self) -> tuple[Array, ...]:
        levels = [self.coefficients]
        for _ in range(MAX_ORDER):
            powers = np.arange(1, levels[-1].shape[1], dtype=np.float64)
            derived = levels[-1][:, 1:] * powers[None, :, None]
            levels.append(derived if derived.shape[1] else np.zeros_like(levels[-1]))
        return tuple(levels)

    def evaluate(self, times: Array, order: int = 0) -> Array:
        return self._at(*self._places(times), order)

    def derivatives(self, times: Array, highest: int) -> list[Array]:
        places = self._places(times)
        return [self._at(*places, order) for order in range(highest + 1)]

    def _places(self, times: Array) -> tuple[NDArray[np.intp], Array]:
        """The piece at each time, and the time since its break (n, 1)."""
        last = len(self.breaks) - 2
        clipped = np.minimum(np.maximum(np.asarray(times, dtype=np.float64), 0.0), self.breaks[-1])
        pieces = np.minimum(np.maximum(np.searchsorted(self.breaks, clipped, side="right") - 1, 0), last)
        return pieces, (clipped - self.breaks[pieces])[:, None]

    def _at(self, pieces: NDArray[np.intp], local: Array, order: int) -> Array:
        coefficients = self._derivatives[order][pieces]
        result: Array = coefficients[:, -1].copy()
        for power in range(coefficients.shape[1] - 2, -1, -1):
            result *= local
            result += coefficients[:, power]
        return result

    def stretched(self, factor: float) -> PolynomialCurve:
        scale = float(factor) ** -np.arange(self.coefficients.shape[1], dtype=np.float64)
        return PolynomialCurve(self.breaks * factor, self.coefficients * scale[None, :, None])

    def largest_derivatives(self, order: int) -> Array:
        """The largest absolute value (m, dof) of a derivative on each piece, exact.

        Raises:
            ValueError: that derivative is a polynomial of a degree above 2.
        """
        coefficients = self._derivatives[order]
        degree = coefficients.shape[1] - 1
        if degree > 2:
            raise ValueError(f"extrema of a polynomial of degree {degree} are not computed")
        scaled = np.zeros((len(coefficients), 3, coefficients.shape[2]))
        scaled[:, : degree + 1] = coefficients * (np.diff(self.breaks)[:, None] ** np.arange(degree + 1))[:, :, None]
        return _largest_of_quadratic(scaled)


def _largest_of_quadratic(scaled: Array) -> Array:
    """Largest |a + b x + c x2| for 0 <= x <= 1: at an end, or at the vertex if that lies between."""
    a, b, c = scaled[:, 0], scaled[:, 1], scaled[:, 2]
    largest = np.maximum(np.abs(a), np.abs(a + b + c))
    vertex = np.divide(-0.5 * b, c, out=np.full_like(b, -1.0), where=c != 0.0)
    inside = (vertex > 0.0) & (vertex < 1.0)
    vertex = np.where(inside, vertex, 0.0)
    return np.maximum(largest, np.abs(a + b * vertex + c * vertex * vertex))


@dataclass(frozen=True, eq=False)
class TraversedPath:
    """A path q(s) traversed by a law of motion s(t); derivatives by the chain rule (Faa di Bruno).

    path: over the path parameter s, from 0. law: over time, one column, its values within the path's range.
    """

    path: PolynomialCurve
    law: PolynomialCurve

    @property
    def duration(self) -> float:
        return self.law.duration

    def evaluate(self, times: Array, order: int = 0) -> Array:
        return self.derivatives(times, order)[order]

    def derivatives(self, times: Array, highest: int) -> list[Array]:
        law = self.law.derivatives(times, highest)
        path = self.path.derivatives(law[0][:, 0], highest)
        found = [path[0]]
        if highest >= 1:
            found.append(path[1] * law[1])
        if highest >= 2:
            found.append(path[2] * law[1] ** 2 + path[1] * law[2])
        if highest >= 3:
            found.append(path[3] * law[1] ** 3 + 3.0 * path[2] * law[1] * law[2] + path[1] * law[3])
        return found

    def stretched(self, factor: float) -> TraversedPath:
        return TraversedPath(self.path, self.law.stretched(factor))


class CurveSequence:
    """Curves one after the other, each beginning where the one before ends."""

    def __init__(self, parts: Sequence[Curve]) -> None:
        self.parts = tuple(parts)
        self.starts: Array = np.concatenate(([0.0], np.cumsum([part.duration for part in self.parts])))

    @property
    def duration(self) -> float:
        return float(self.starts[-1])

    def evaluate(self, times: Array, order: int = 0) -> Array:
        return self._joined(times, lambda part, chosen: [part.evaluate(chosen, order)])[0]

    def derivatives(self, times: Array, highest: int) -> list[Array]:
        return self._joined(times, lambda part, chosen: part.derivatives(chosen, highest))

    def _joined(self, times: Array, values_of: Callable[[Curve, Array], list[Array]]) -> list[Array]:
        """Arrays (n, dof) put together of those of the parts."""
        if len(self.parts) == 1:
            return values_of(self.parts[0], times)
        clipped = np.clip(np.asarray(times, dtype=np.float64), 0.0, self.starts[-1])
        owners = np.clip(np.searchsorted(self.starts, clipped, side="right") - 1, 0, len(self.parts) - 1)
        pieces = [values_of(part, clipped[owners == i] - self.starts[i]) for i, part in enumerate(self.parts)]
        joined = [np.empty((len(clipped), array.shape[1])) for array in pieces[0]]
        for index, arrays in enumerate(pieces):
            for result, array in zip(joined, arrays, strict=True):
                result[owners == index] = array
        return joined

    def stretched(self, factor: float) -> CurveSequence:
        return CurveSequence([part.stretched(factor) for part in self.parts])
