"""Joint wrapping: configurations that differ by multiples of 2 pi in revolute joints."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..errors import LimitExceededError

Array = NDArray[np.float64]
TWO_PI = 2.0 * np.pi
MAX_WRAPPED = 100_000


def wraps_of(value: float, near: float, lower: float, upper: float) -> list[float]:
    """Return an angle plus multiples of 2 pi within limits, in ascending order. The angle itself is within limits.

    If a limit is infinite, values within 2 pi of `near` are returned.
    """
    low = lower if np.isfinite(lower) else min(near - TWO_PI, value)
    high = upper if np.isfinite(upper) else max(near + TWO_PI, value)
    first, last = -int((value - low) // TWO_PI), int((high - value) // TWO_PI)
    return [value + TWO_PI * turn for turn in range(first, last + 1)]


def with_all_wraps(solutions: Array, near: Array, limits: Array, angular: Array) -> tuple[Array, NDArray[np.intp]]:
    """Return solutions (c, n) with all combinations of 2 pi wraps of solutions (k, n), and the source row (c,) of each.

    Raises:
        LimitExceededError: There are more than MAX_WRAPPED results.
    """
    rows: list[tuple[float, ...]] = []
    sources: list[int] = []
    for source, q in enumerate(solutions):
        choices = [
            wraps_of(value, float(near[i]), float(limits[0, i]), float(limits[1, i])) if angular[i] else [value]
            for i, value in enumerate(q.tolist())
        ]
        count = int(np.prod([len(choice) for choice in choices]))
        if len(rows) + count > MAX_WRAPPED:
            raise LimitExceededError(
                f"the solutions have more than {MAX_WRAPPED} combinations of 2 pi wraps", stage="inverse kinematics"
            )
        rows.extend(product(*choices))
        sources.extend([source] * count)
    return np.array(rows).reshape(-1, solutions.shape[1]), np.array(sources, dtype=np.intp)
