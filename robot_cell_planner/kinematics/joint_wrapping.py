"""Joint wrapping: configurations that differ by multiples of 2 pi in revolute joints."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..errors import LimitExceededError

Array = NDArray[np.float64]
TWO_PI = 2.0 * np.pi
MAX_WRAPPED = 100_000


def turns_within(value: float, low: float, high: float, tolerance: float = 0.0) -> range:
    """Return the turns by which an angle can change within finite limits, or at most `tolerance` turns beyond them."""
    return range(math.ceil((low - value) / TWO_PI - tolerance), math.floor((high - value) / TWO_PI + tolerance) + 1)


def nearest_turns(turns: range, nearest: float, count: int) -> range:
    """Return at most `count` of successive turns, those around `nearest`."""
    first = min(max(round(nearest) - count // 2, turns.start), max(turns.stop - count, turns.start))
    return range(first, min(first + count, turns.stop))


def _turns_of(value: float, near: float, lower: float, upper: float) -> range:
    """Return the turns of an angle within limits, which include it; within 2 pi of `near` where a limit is infinite."""
    low = lower if np.isfinite(lower) else min(near - TWO_PI, value)
    high = upper if np.isfinite(upper) else max(near + TWO_PI, value)
    return range(-int((value - low) // TWO_PI), int((high - value) // TWO_PI) + 1)


def with_all_wraps(solutions: Array, near: Array, limits: Array, angular: Array) -> tuple[Array, NDArray[np.intp]]:
    """Return solutions (c, n) with all combinations of 2 pi wraps of solutions (k, n), and the source row (c,) of each.

    The solutions are within limits. Where a limit is infinite, values within 2 pi of `near` are taken.

    Raises:
        LimitExceededError: There are more than MAX_WRAPPED results.
    """
    rows: list[tuple[float, ...]] = []
    sources: list[int] = []
    for source, q in enumerate(solutions):
        turns = [
            _turns_of(value, float(near[i]), float(limits[0, i]), float(limits[1, i])) if angular[i] else range(1)
            for i, value in enumerate(q.tolist())
        ]
        count = math.prod(map(len, turns))
        if len(rows) + count > MAX_WRAPPED:
            raise LimitExceededError(
                f"the solutions have more than {MAX_WRAPPED} combinations of 2 pi wraps", stage="inverse kinematics"
            )
        choices = ([value + TWO_PI * turn for turn in each] for value, each in zip(q.tolist(), turns, strict=True))
        rows.extend(product(*choices))
        sources.extend([source] * count)
    return np.array(rows).reshape(-1, solutions.shape[1]), np.array(sources, dtype=np.intp)
