"""Distances that a Cartesian path keeps from position limits, so that the curve through its points stays within them.

A redundant chain, such as an arm on a track, goes on with its other joints where one of them arrives at its limit.
There the joint stops from one point to the next, and the curve through the points, whose velocity is continuous, passes
the limit between them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from ...errors import TrajectoryLimitError
from ...model.mechanism import Variable
from ...trajectory.limits import Array

MAX_ATTEMPTS = 3  # to plan with larger reserves
FACTOR, ADDED = 3.0, 1e-5  # a reserve is this multiple of the excess, and this [rad or m] more


class CurveBeyondLimits(Exception):
    """The curve through the points of a path is beyond a position limit; `error` says which."""

    def __init__(self, error: TrajectoryLimitError) -> None:
        super().__init__(str(error))
        self.error = error


class LimitReserves:
    """Reserves at position limits [rad or m], which grow with each curve that is beyond a limit."""

    def __init__(self) -> None:
        self._reserves: dict[tuple[str, float], float] = {}  # by joint and side, -1 or 1
        self._excesses: dict[tuple[str, float], float] = {}  # of the latest curve
        self._attempts = 0

    def extend(self, error: TrajectoryLimitError) -> bool:
        """Extend the reserve at the limit that a curve exceeds; return whether another attempt makes sense.

        It does not if the excess is that of the attempt before, as where the path starts at the limit.
        """
        self._attempts += 1
        if self._attempts > MAX_ATTEMPTS or len(error.subjects) != 1 or len(error.values) != 1:
            return False
        value = error.values[0]
        if value.limit is None:
            return False
        excess = value.value - value.limit
        key = (error.subjects[0], float(np.sign(excess)))
        if excess in (0.0, self._excesses.get(key)):
            return False
        self._excesses[key] = excess
        self._reserves[key] = self._reserves.get(key, 0.0) + FACTOR * abs(excess) + ADDED
        return True

    def within(self, variables: Sequence[Variable], start: Array) -> list[Variable]:
        """Return variables with their position limits narrowed by the reserves, but not beyond the start (n,)."""
        return [self._narrowed(variable, value) for variable, value in zip(variables, start.tolist(), strict=True)]

    def _narrowed(self, variable: Variable, start: float) -> Variable:
        below, above = (self._reserves.get((variable.name, side), 0.0) for side in (-1.0, 1.0))
        if not below and not above:
            return variable
        limits = variable.limits
        lower = min(limits.lower + below, max(start, limits.lower))
        upper = max(limits.upper - above, min(start, limits.upper))
        if lower > upper:
            return variable
        return msgspec.structs.replace(variable, limits=msgspec.structs.replace(limits, lower=lower, upper=upper))
