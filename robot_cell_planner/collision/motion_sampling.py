"""Samples of straight motions, and the order in which they are checked."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRequestError

Floats = NDArray[np.float64]
MAX_SAMPLES = 10_000_000


def segments(start: Floats, end: Floats, step: float) -> int:
    """Return the number of equal intervals of a straight motion in which no variable changes by more than `step`.

    Raises:
        InvalidRequestError: The step is not above zero, or so small that the number of intervals exceeds `MAX_SAMPLES`.
    """
    if not step > 0.0:
        raise InvalidRequestError(f"step is {step}, expected above 0", stage="collision")
    length = float(np.abs(np.subtract(end, start)).max(initial=0.0))
    if length / step > MAX_SAMPLES:
        raise InvalidRequestError(f"step {step:g} cuts a motion of {length:g} too finely", stage="collision")
    return max(1, math.ceil(length / step - 1e-9))


def halving_order(count: int) -> Iterable[float]:
    """Yield the fractions 0, 1/count, ..., 1 once each, both ends first, then in bisection order."""
    yield 0.0
    yield 1.0
    step = 1 << max(0, (count - 1).bit_length())
    while step > 1:
        half = step // 2
        for index in range(half, count, step):
            yield index / count
        step = half
