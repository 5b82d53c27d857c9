"""Profiles of one value over time, within speed, acceleration and jerk limits: Ruckig's, and what they need of way.

Ruckig (Berscheid and Kroeger, "Jerk-limited Real-time Trajectory Generation with Arbitrary Target States", 2021) is
asked for the fastest profile between two speeds, both without acceleration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import ruckig

from ..errors import TrajectoryError, Value
from .curves import PolynomialCurve

# Slack against rounding, so that what is checked at 1e-6 of a limit obeys it.
SLACK = 1.0 - 1e-9
# Share of a way that a change of speed may need, so that rounding does not make it too short.
FITTING = 1.0 - 1e-9
BISECTIONS = 50


@dataclass(frozen=True)
class Rates:
    """Highest speed, acceleration and jerk along a way, all above 0."""

    speed: float
    acceleration: float
    jerk: float


@dataclass(frozen=True)
class Stretch:
    """A way to go, from one speed to another."""

    length: float
    rates: Rates
    start: float = 0.0
    end: float = 0.0

    def solved(self) -> ruckig.Trajectory:
        """Ruckig's fastest profile.

        Raises:
            TrajectoryError: Ruckig finds none.
        """
        rates = self.rates
        request = ruckig.InputParameter(1)
        request.current_position, request.target_position = [0.0], [self.length]
        request.current_velocity, request.target_velocity = [self.start], [self.end]
        request.max_velocity = [max(rates.speed * SLACK, self.start, self.end)]
        request.max_acceleration = [rates.acceleration * SLACK]
        request.max_jerk = [rates.jerk * SLACK]
        answer = ruckig.Trajectory(1)
        result = ruckig.Ruckig(1).calculate(request, answer)
        if result not in (ruckig.Result.Working, ruckig.Result.Finished):
            numbers = (Value("velocity", rates.speed), Value("acceleration", rates.acceleration))
            values = (Value("length", self.length), *numbers, Value("jerk", rates.jerk))
            raise TrajectoryError(f"Ruckig cannot time a motion: {result}", values=values)
        return answer

    def profile(self) -> PolynomialCurve:
        """The fastest profile of one value, from 0 to the length: cubic pieces, one column.

        Raises:
            TrajectoryError: there is none, or the way is too short for the change of speed.
        """
        found = self.solved().profiles[0][0]
        if min(found.v) < -1e-9 * self.rates.speed:
            ends = (Value("speed at its start", self.start), Value("speed at its end", self.end))
            text = "a stretch is too short for the change of speed along it"
            raise TrajectoryError(text, values=(Value("length", self.length), *ends))
        spans = np.array(found.t)
        kept = np.flatnonzero(spans > 0.0)
        rows = [(found.p[i], found.v[i], 0.5 * found.a[i], found.j[i] / 6.0) for i in kept]
        breaks = np.concatenate(([0.0], np.cumsum(spans[kept])))
        return PolynomialCurve(breaks, np.array(rows)[:, :, None])


def to_whole_periods(curve: PolynomialCurve, period: float) -> PolynomialCurve:
    """The curve stretched to the next multiple of a period."""
    duration = curve.duration
    whole = math.ceil(duration / period - 1e-9) * period
    return curve.stretched(whole / duration) if whole > duration else curve


def way_of_change(first: float, second: float, rates: Rates) -> float:
    """The shortest way on which the speed changes from one to another, without acceleration at both ends.

    The acceleration is symmetric over the change (a trapezoid, or a triangle if it stays below its limit), so the mean
    speed is the mean of the two.
    """
    change = abs(second - first)
    acceleration, jerk = rates.acceleration * SLACK, rates.jerk * SLACK
    if change * jerk >= acceleration * acceleration:
        time = change / acceleration + acceleration / jerk
    else:
        time = 2.0 * math.sqrt(change / jerk)
    return 0.5 * (first + second) * time


def reachable_speed(first: float, wanted: float, length: float, rates: Rates) -> float:
    """The highest speed, at most `wanted`, that can be gone over to from a lower one within a way."""
    room = length * FITTING
    if wanted <= first or way_of_change(first, wanted, rates) <= room:
        return wanted
    low, high = first, wanted
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if way_of_change(first, middle, rates) <= room:
            low = middle
        else:
            high = middle
    return low
