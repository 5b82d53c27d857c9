"""Curves over time: piecewise polynomials, paths with a time scaling, and sequences of curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .curve_kernels import evaluate_pieces
from .extrema import derived, largest_magnitudes, unit_columns

Array = NDArray[np.float64]
# Pieces shorter than this [s] lose the digits of their jerk to the rounding of positions.
SHORTEST = 2e-4


class Curve(Protocol):
    """A curve q(t), 0 <= t <= duration, of (dof,) values with three piecewise derivatives."""

    @property
    def duration(self) -> float: ...

    def evaluate(self, times: Array, order: int = 0) -> Array:
        """Return the derivative of an order from 0 to 3 at times (n,): (n, dof). Times are clamped to the curve."""
        ...

    def derivatives(self, times: Array, highest: int) -> list[Array]:
        """Return `evaluate` for all orders from 0 to `highest`."""
        ...

    def stretched(self, factor: float) -> Curve:
        """Return the same path, scaled in time by `factor`."""
        ...

    def jerk_steps(self) -> Array:
        """Return the times (k,) at which the third derivative may step."""
        ...


@dataclass(frozen=True, eq=False)
class PolynomialCurve:
    """Piecewise polynomial.

    Attributes:
        breaks: (m + 1,) ascending times [s], the first 0.
        coefficients: (m, degree + 1, dof), ascending powers of the time since the break at which the piece begins.
    """

    breaks: Array
    coefficients: Array

    @property
    def duration(self) -> float:
        return float(self.breaks[-1])

    def evaluate(self, times: Array, order: int = 0) -> Array:
        return self.derivatives(times, order)[order]

    def derivatives(self, times: Array, highest: int) -> list[Array]:
        times = np.ascontiguousarray(times, dtype=np.float64)
        values = np.empty((highest + 1, len(times), self.coefficients.shape[2]))
        evaluate_pieces(np.ascontiguousarray(self.coefficients), self.breaks, times, values)
        return list(values)

    def stretched(self, factor: float) -> PolynomialCurve:
        scale = float(factor) ** -np.arange(self.coefficients.shape[1], dtype=np.float64)
        return PolynomialCurve(self.breaks * factor, self.coefficients * scale[None, :, None])

    def jerk_steps(self) -> Array:
        return self.breaks

    def largest_derivatives(self, order: int) -> Array:
        """Return the maximum absolute value (m, dof) of a derivative on each piece, by its extrema."""
        spans = self.breaks[1:] - self.breaks[:-1]
        columns = derived(unit_columns(self.coefficients, spans), order)
        return largest_magnitudes(columns).reshape(len(spans), -1) / spans[:, None] ** order

    def largest_speeds(self, refine_above: float = 0.0) -> Array:
        """Return an upper bound (m,) on the Euclidean norm of the first derivative on each piece, which is exact where
        it exceeds `refine_above`."""
        spans = self.breaks[1:] - self.breaks[:-1]
        count, dof = len(self.coefficients), self.coefficients.shape[2]
        rows = derived(unit_columns(self.coefficients, spans)).reshape(-1, count, dof) / spans[:, None]
        squares = np.zeros((2 * len(rows) - 1, count))
        for power, row in enumerate(rows):
            squares[power : power + len(rows)] += (rows * row).sum(axis=2)
        return np.asarray(np.sqrt(largest_magnitudes(squares, refine_above**2)))

    def displacement_bounds(self, refine_above: float = 0.0) -> Array:
        """Return an upper bound (m, dof) on the distance that each joint moves on each piece.

        The bound is the duration of the piece times the maximum speed on it, which is exact where the bound exceeds
        `refine_above`.
        """
        columns = derived(unit_columns(self.coefficients, self.breaks[1:] - self.breaks[:-1]))
        return largest_magnitudes(columns, refine_above).reshape(len(self.coefficients), -1)


@dataclass(frozen=True, eq=False)
class TraversedPath:
    """A path q(s) with a time scaling s(t); derivatives follow from the chain rule (Faa di Bruno).

    Attributes:
        path: Path over the path parameter s, from 0.
        time_scaling: Path parameter over time, one column, with values in the range of the path.
        of_samples: The path interpolates dense samples of a smooth curve, so that steps of its third derivative need no
            sample of the motion.
    """

    path: PolynomialCurve
    time_scaling: PolynomialCurve
    of_samples: bool = False

    @property
    def duration(self) -> float:
        return self.time_scaling.duration

    def evaluate(self, times: Array, order: int = 0) -> Array:
        return self.derivatives(times, order)[order]

    def derivatives(self, times: Array, highest: int) -> list[Array]:
        s = self.time_scaling.derivatives(times, highest)
        path = self.path.derivatives(s[0][:, 0], highest)
        found = [path[0]]
        if highest >= 1:
            found.append(path[1] * s[1])
        if highest >= 2:
            found.append(path[2] * s[1] ** 2 + path[1] * s[2])
        if highest >= 3:
            found.append(path[3] * s[1] ** 3 + 3.0 * path[2] * s[1] * s[2] + path[1] * s[3])
        return found

    def stretched(self, factor: float) -> TraversedPath:
        return replace(self, time_scaling=self.time_scaling.stretched(factor))

    def jerk_steps(self) -> Array:
        if self.of_samples:
            return self.time_scaling.breaks
        return np.concatenate((self.time_scaling.breaks, times_at(self.time_scaling, self.path.breaks)))


class CurveSequence:
    """Consecutive curves, each beginning where the previous one ends."""

    def __init__(self, parts: Sequence[Curve]) -> None:
        self.parts = tuple(parts)
        self.starts: Array = np.concatenate(([0.0], np.cumsum([part.duration for part in self.parts])))

    @property
    def duration(self) -> float:
        return float(self.starts[-1])

    def evaluate(self, times: Array, order: int = 0) -> Array:
        return self.derivatives(times, order)[order]

    def derivatives(self, times: Array, highest: int) -> list[Array]:
        return (
            self._joined(times, highest) if self._polynomial is None else self._polynomial.derivatives(times, highest)
        )

    @cached_property
    def _polynomial(self) -> PolynomialCurve | None:
        """The same curve in one part, if all parts are polynomials of the same degree."""
        parts = [part for part in self.parts if isinstance(part, PolynomialCurve)]
        if len(parts) < len(self.parts) or len({part.coefficients.shape[1] for part in parts}) != 1:
            return None
        breaks = [start + part.breaks[:-1] for start, part in zip(self.starts.tolist(), parts, strict=False)]
        coefficients = np.concatenate([part.coefficients for part in parts])
        return PolynomialCurve(np.concatenate((*breaks, self.starts[-1:])), coefficients)

    def _joined(self, times: Array, highest: int) -> list[Array]:
        """Concatenate the derivatives of the parts."""
        if len(self.parts) == 1:
            return self.parts[0].derivatives(times, highest)
        clipped = np.clip(np.asarray(times, dtype=np.float64), 0.0, self.starts[-1])
        if (clipped[1:] >= clipped[:-1]).all():
            ends = np.concatenate(([0], np.searchsorted(clipped, self.starts[1:-1]), [len(clipped)]))
            spans = zip(self.parts, self.starts.tolist(), ends[:-1].tolist(), ends[1:].tolist(), strict=False)
            in_order = [part.derivatives(clipped[first:last] - start, highest) for part, start, first, last in spans]
            return [np.concatenate(arrays) for arrays in zip(*in_order, strict=True)]
        owners = np.clip(np.searchsorted(self.starts, clipped, side="right") - 1, 0, len(self.parts) - 1)
        pieces = [part.derivatives(clipped[owners == i] - self.starts[i], highest) for i, part in enumerate(self.parts)]
        joined = [np.empty((len(clipped), array.shape[1])) for array in pieces[0]]
        for index, arrays in enumerate(pieces):
            for result, array in zip(joined, arrays, strict=True):
                result[owners == index] = array
        return joined

    def stretched(self, factor: float) -> CurveSequence:
        return CurveSequence([part.stretched(factor) for part in self.parts])

    def jerk_steps(self) -> Array:
        return np.concatenate(
            [start + part.jerk_steps() for start, part in zip(self.starts.tolist(), self.parts, strict=False)]
        )


def times_at(time_scaling: PolynomialCurve, values: Array, rising: bool = True) -> Array:
    """Return the times (n,) at which a monotone time scaling of one column takes values between its ends."""
    sign = 1.0 if rising else -1.0
    # Find the piece by its end values, then bisect within the piece to full precision.
    ends = sign * time_scaling.evaluate(time_scaling.breaks)[:, 0]
    after = np.searchsorted(ends, sign * values, side="left")
    pieces = np.clip(after - 1, 0, len(time_scaling.breaks) - 2)
    rows = sign * time_scaling.coefficients[pieces, :, 0]
    low, high = np.zeros(len(values)), np.diff(time_scaling.breaks)[pieces]
    for _ in range(60):
        middle = 0.5 * (low + high)
        before = _horner(rows, middle) < sign * values
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    high += time_scaling.breaks[pieces]
    high[0], high[-1] = 0.0, time_scaling.duration
    return high


def _horner(rows: Array, times: Array) -> Array:
    """Evaluate polynomials (n, degree + 1) at one time each: (n,)."""
    result: Array = rows[:, -1].copy()
    for power in range(rows.shape[1] - 2, -1, -1):
        result *= times
        result += rows[:, power]
    return result
