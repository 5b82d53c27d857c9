"""Profiles of one value over time, within speed, acceleration and jerk limits: Ruckig's, and what they need of way.

Ruckig (Berscheid and Kroeger, "Jerk-limited Real-time Trajectory Generation with Arbitrary Target States", 2021) is
asked for the fastest profile between two speeds, both without acceleration.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import ruckig

from ..errors import TrajectoryError, Value
from .curves import PolynomialCurve

# Slack against rounding, so that what is checked at 1e-6 of a limit obeys it.
SLACK = 1.0 - 1e-9
# Share of a way that a change of speed may need, so that rounding does not make it too short.
FITTING = 1.0 - 1e-9
STEPS = 12  # of Newton's method: from anywhere within the bracket to the last bits


@dataclass(frozen=True)
class Rates:
    """Highest speed, acceleration and jerk along a way, all above 0."""

    speed: float
    acceleration: float
    jerk: float


@dataclass(frozen=True)
class PathInterval:
    """A way to go, from one speed to another."""

    length: float
    rates: Rates
    start: float = 0.0
    end: float = 0.0

    def profile(self) -> PolynomialCurve:
        """The fastest profile of one value, from 0 to the length: cubic pieces, one column.

        Raises:
            TrajectoryError: there is none, or the way is too short for the change of speed.
        """
        spans, rows = pieces_of(self, solved([self]).profiles[0][0])
        return PolynomialCurve(np.concatenate(([0.0], np.cumsum(spans))), np.array(rows)[:, :, None])


def solved(stretches: Sequence[PathInterval]) -> ruckig.Trajectory:
    """Ruckig's fastest profiles of stretches, each as a degree of freedom of its own that keeps pace with no other;
    `independent_min_durations` holds their durations.

    Raises:
        TrajectoryError: Ruckig finds none for one of them.
    """
    count = len(stretches)
    request = ruckig.InputParameter(count)
    request.synchronization = ruckig.Synchronization.No
    request.current_position, request.target_position = [0.0] * count, [each.length for each in stretches]
    request.current_velocity = [each.start for each in stretches]
    request.target_velocity = [each.end for each in stretches]
    request.max_velocity = [max(each.rates.speed * SLACK, each.start, each.end) for each in stretches]
    request.max_acceleration = [each.rates.acceleration * SLACK for each in stretches]
    request.max_jerk = [each.rates.jerk * SLACK for each in stretches]
    answer = ruckig.Trajectory(count)
    try:
        result = ruckig.Ruckig(count).calculate(request, answer)
    except ruckig.RuckigError:  # numbers that are too small or too large for it
        result = ruckig.Result.Error
    if result in (ruckig.Result.Working, ruckig.Result.Finished):
        return answer
    if count > 1:
        for stretch in stretches:
            solved([stretch])
    rates = stretches[0].rates
    numbers = (Value("velocity", rates.speed), Value("acceleration", rates.acceleration), Value("jerk", rates.jerk))
    values = (Value("length", stretches[0].length), *numbers)
    raise TrajectoryError(f"Ruckig cannot time a motion: {result}", values=values)


def pieces_of(
    stretch: PathInterval, profile: ruckig.Profile
) -> tuple[list[float], list[tuple[float, float, float, float]]]:
    """The cubic pieces of a profile: how long each takes [s], and its coefficients.

    Raises:
        TrajectoryError: the way is too short for the change of speed, or to be timed at all.
    """
    if min(profile.v) < -1e-9 * stretch.rates.speed:
        ends = (Value("speed at its start", stretch.start), Value("speed at its end", stretch.end))
        text = "a stretch is too short for the change of speed along it"
        raise TrajectoryError(text, values=(Value("length", stretch.length), *ends))
    if not any(profile.t):
        numbers = (Value("length", stretch.length), Value("velocity", stretch.rates.speed))
        raise TrajectoryError("a stretch is too short, or its velocity too low, to be timed", values=numbers)
    pieces = list(zip(profile.t, profile.p, profile.v, profile.a, profile.j, strict=False))
    spans = [piece[0] for piece in pieces if piece[0] > 0.0]
    return spans, [(p, v, 0.5 * a, j / 6.0) for t, p, v, a, j in pieces if t > 0.0]


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
    """The highest speed, at most `wanted`, that can be gone over to from a lower one within a way.

    The way of a change c of the speed, (2 first + c) / 2 times its time, rises with c: Newton's method comes down to
    the root from above, where it is convex, for changes whose acceleration is a trapezoid and for those with a
    triangle alike.
    """
    room = length * FITTING
    if wanted <= first or way_of_change(first, wanted, rates) <= room:
        return wanted
    if room <= 0.0:
        return first
    acceleration, jerk = rates.acceleration * SLACK, rates.jerk * SLACK
    border = acceleration * acceleration / jerk  # changes above this one reach the highest acceleration
    if way_of_change(first, first + border, rates) < room:
        # (2 first + c) (c / a + a / j) = 2 room
        ramp = acceleration / jerk
        half = first + 0.5 * acceleration * ramp
        change = _larger_root(half, 2.0 * acceleration * (first * ramp - room))
    else:
        # With c = j u2: (2 first + j u2) u = room
        u = math.sqrt(min(wanted - first, border) / jerk)
        for _ in range(STEPS):
            u -= (u * (2.0 * first + jerk * u * u) - room) / (2.0 * first + 3.0 * jerk * u * u)
        change = jerk * u * u
    return min(first + change, wanted)


def _larger_root(half: float, constant: float) -> float:
    """Of x2 + 2 half x + constant, half above 0, constant below: without the difference of large numbers."""
    return -constant / (half + math.sqrt(half * half - constant))
