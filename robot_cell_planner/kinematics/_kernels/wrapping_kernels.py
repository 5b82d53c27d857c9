"""Compiled kernels for joints that may turn more than once: the turn of each that is nearest, or within limits, and
configurations that are the same."""

from __future__ import annotations

import math

from ...system.compiled import compiled
from .chain_kernels import Array

TURN = 2.0 * math.pi
LIMIT_SLACK = 1e-7  # [rad, m] rounding beyond a limit that is put back onto it
SAME = 1e-5  # [rad, m] configurations nearer to one another than this are one


@compiled
def nearest_turn(value: float, near: float, lower: float, upper: float) -> float:
    """The angle plus whole turns that is nearest to another, within the limits or else least beyond them."""
    value += TURN * round((near - value) / TURN)
    if value < lower:
        value += TURN * math.ceil((lower - LIMIT_SLACK - value) / TURN)
        if value > upper + LIMIT_SLACK and lower - (value - TURN) < value - upper:
            value -= TURN
    elif value > upper:
        value -= TURN * math.ceil((value - upper - LIMIT_SLACK) / TURN)
        if value < lower - LIMIT_SLACK and (value + TURN) - upper < lower - value:
            value += TURN
    return value


@compiled
def unwind(q: Array, near: Array, limits: Array, angular: Array) -> None:
    """Bring the angles of q (n,), which is within limits, into the turn that is nearest to `near`, in place."""
    for i in range(q.shape[0]):
        if angular[i]:
            q[i] = nearest_turn(q[i], near[i], limits[0, i], limits[1, i])
        q[i] = min(max(q[i], limits[0, i]), limits[1, i])


@compiled
def beyond(value: float, lower: float, upper: float) -> float:
    """How far a value lies outside its limits."""
    return max(lower - value, value - upper, 0.0)


@compiled
def turn_within(q: Array, seed: Array, limits: Array, angular: Array) -> float:
    """Turn the angles of q (n,) by whole turns to be near the seed and within limits; returns the largest excess."""
    excess = 0.0
    for i in range(q.shape[0]):
        if angular[i]:
            q[i] = nearest_turn(q[i], seed[i], limits[0, i], limits[1, i])
        excess = max(excess, beyond(q[i], limits[0, i], limits[1, i]))
    return excess


@compiled
def is_new(found: Array, count: int, q: Array, angular: Array) -> bool:
    """Whether q differs from the first `count` of the configurations found, whole turns aside."""
    for k in range(count):
        same = True
        for i in range(q.shape[0]):
            gap = abs(found[k, i] - q[i])
            if angular[i]:
                gap = abs(gap - TURN * round(gap / TURN))
            if gap > SAME:
                same = False
                break
        if same:
            return False
    return True
