"""Compiled kernels for joints with a range of more than 2 pi: wrapping to the nearest value or into limits, and
comparison of configurations."""

from __future__ import annotations

import math

from ...system.compiled import compiled
from .chain_kernels import Array

TWO_PI = 2.0 * math.pi
LIMIT_SLACK = 1e-7  # [rad, m] rounding beyond a limit that is clamped to the limit
SAME = 1e-5  # [rad, m] configurations closer than this are equal


@compiled
def wrap_near(value: float, near: float, lower: float, upper: float) -> float:
    """Wrap an angle by multiples of 2 pi to the value nearest to `near` in limits, else with the smallest excess."""
    value += TWO_PI * round((near - value) / TWO_PI)
    if value < lower:
        value += TWO_PI * math.ceil((lower - LIMIT_SLACK - value) / TWO_PI)
        if value > upper + LIMIT_SLACK and lower - (value - TWO_PI) < value - upper:
            value -= TWO_PI
    elif value > upper:
        value -= TWO_PI * math.ceil((value - upper - LIMIT_SLACK) / TWO_PI)
        if value < lower - LIMIT_SLACK and (value + TWO_PI) - upper < lower - value:
            value += TWO_PI
    return value


@compiled
def wrap_all_near(q: Array, near: Array, limits: Array, angular: Array) -> None:
    """Wrap the angles of q (n,), which is within limits, to be nearest to `near`, in place."""
    for i in range(q.shape[0]):
        if angular[i]:
            q[i] = wrap_near(q[i], near[i], limits[0, i], limits[1, i])
        q[i] = min(max(q[i], limits[0, i]), limits[1, i])


@compiled
def beyond(value: float, lower: float, upper: float) -> float:
    """Return the distance by which a value exceeds its limits; 0 within limits."""
    return max(lower - value, value - upper, 0.0)


@compiled
def wrap_into_limits(q: Array, seed: Array, limits: Array, angular: Array) -> float:
    """Wrap the angles of q (n,) to be near the seed and within limits; return the largest excess."""
    excess = 0.0
    for i in range(q.shape[0]):
        if angular[i]:
            q[i] = wrap_near(q[i], seed[i], limits[0, i], limits[1, i])
        excess = max(excess, beyond(q[i], limits[0, i], limits[1, i]))
    return excess


@compiled
def is_new(found: Array, count: int, q: Array, angular: Array) -> bool:
    """Return whether q differs, modulo 2 pi, from the first `count` configurations of `found`."""
    for k in range(count):
        same = True
        for i in range(q.shape[0]):
            gap = abs(found[k, i] - q[i])
            if angular[i]:
                gap = abs(gap - TWO_PI * round(gap / TWO_PI))
            if gap > SAME:
                same = False
                break
        if same:
            return False
    return True
