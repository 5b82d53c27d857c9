"""Random joint values within limits."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .mechanism import Variable
from .value import MAX_JOINT_VALUE

UNLIMITED_ANGLE = math.pi  # [rad]
UNLIMITED_LENGTH = 1.0  # [m]


def finite_bounds(variables: Iterable[Variable]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return lower and upper limits (dof,), each [rad or m]; within pi or 1 m of zero where there is no limit, or one
    beyond the values that joints can have."""
    lower, upper = [], []
    for variable in variables:
        span, limits = UNLIMITED_ANGLE if variable.angular else UNLIMITED_LENGTH, variable.limits
        low = limits.lower if abs(limits.lower) <= MAX_JOINT_VALUE else min(-span, limits.upper - span)
        high = limits.upper if abs(limits.upper) <= MAX_JOINT_VALUE else max(span, low + span)
        lower.append(low)
        upper.append(high)
    return np.array(lower), np.array(upper)


def random_configurations(variables: Iterable[Variable], count: int, seed: int) -> NDArray[np.float64]:
    """Return uniformly distributed configurations (count, dof) within `finite_bounds`."""
    lower, upper = finite_bounds(variables)
    return np.random.default_rng(seed).uniform(lower, upper, (count, len(lower)))
