"""Curves over time: piecewise polynomials, a path traversed by a law of motion, and sequences of them."""

from __future__ import annotations

from collections.abc import Sequence
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
        clipped = np.clip(np.asarray(times, dtype=np.float64), 0.0, self.breaks[-1])
        pieces = np.clip(np.searchsorted(self.breaks, clipped, side="right") - 1, 0, len(self.breaks) - 2)
        local = (clipped - self.breaks[pieces])[:, None]
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
        place = self.law.evaluate(times)[:, 0]
        if order == 0:
            return self.path.evaluate(place)
        first = self.path.evaluate(place, 1)
        speed = self.law.evaluate(times, 1)
        if order == 1:
            return first * speed
        second = self.path.evaluate(place, 2)
        acceleration = self.law.evaluate(times, 2)
        if order == 2:
            return second * speed**2 + first * acceleration
        third = self.path.evaluate(place, 3)
        jerk = self.law.evaluate(times, 3)
        return third * speed**3 + 3.0 * second * speed * acceleration + first * jerk

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
        clipped = np.clip(np.asarray(times, dtype=np.float64), 0.0, self.starts[-1])
        owners = np.clip(np.searchsorted(self.starts, clipped, side="right") - 1, 0, len(self.parts) - 1)
        pieces = []
        for index in range(len(self.parts)):
            chosen = clipped[owners == index] - self.starts[index]
            pieces.append((owners == index, self.parts[index].evaluate(chosen, order)))
        result = np.empty((len(clipped), pieces[0][1].shape[1]))
        for mask, values in pieces:
            result[mask] = values
        return result

    def stretched(self, factor: float) -> CurveSequence:
        return CurveSequence([part.stretched(factor) for part in self.parts])
