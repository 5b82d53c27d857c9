"""Velocity profiles of one value within speed, acceleration and jerk limits, computed by Ruckig.

Ruckig (Berscheid and Kroeger, "Jerk-limited Real-time Trajectory Generation with Arbitrary Target States", 2021)
computes the fastest profile between two speeds, with zero acceleration at both ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import ruckig

from ..errors import TrajectoryError, Value
from ..model.units import ANY_JOINT, unit_of_derivative
from .curves import PolynomialCurve
from .ruckig_calls import calculated

# Slack against rounding, so that results checked at 1e-6 of a limit obey it.
SLACK = 1.0 - 1e-9
# Fraction of a distance that a change of speed may use, so that rounding does not make the distance too short.
FITTING = 1.0 - 1e-9
AT_ONCE = 256  # intervals that Ruckig solves in one call
STEPS = 12  # of Newton's method, enough for full precision from any point within the bracket


Pieces = tuple[list[float], list[tuple[float, float, float, float]]]


@dataclass(frozen=True)
class Rates:
    """Maximum speed, acceleration and jerk along a path interval, all above 0."""

    speed: float
    acceleration: float
    jerk: float


@dataclass(frozen=True)
class PathInterval:
    """Length of a path interval, its rate limits, and the speeds at both ends."""

    length: float
    rates: Rates
    start: float = 0.0
    end: float = 0.0

    def profile(self) -> PolynomialCurve:
        """Return the fastest profile of one value from 0 to the length: cubic pieces, one column.

        Raises:
            TrajectoryError: No profile exists, or the interval is too short for the change of speed.
        """
        spans, rows = pieces_of_all([self])[0]
        return PolynomialCurve(np.array([0.0, *accumulate(spans)]), np.array(rows)[:, :, None])


def solved(intervals: Sequence[PathInterval]) -> ruckig.Trajectory:
    """Return Ruckig's fastest profiles of path intervals, one degree of freedom each, without synchronization.

    `independent_min_durations` of the result has their durations.

    Raises:
        TrajectoryError: Ruckig finds no profile for an interval.
    """
    count = len(intervals)
    request = ruckig.InputParameter(count)
    request.synchronization = ruckig.Synchronization.No
    request.current_position, request.target_position = [0.0] * count, [each.length for each in intervals]
    request.current_velocity = [each.start for each in intervals]
    request.target_velocity = [each.end for each in intervals]
    request.max_velocity = [max(each.rates.speed * SLACK, each.start, each.end) for each in intervals]
    request.max_acceleration = [each.rates.acceleration * SLACK for each in intervals]
    request.max_jerk = [each.rates.jerk * SLACK for each in intervals]
    rates = intervals[0].rates
    orders = (("velocity", rates.speed), ("acceleration", rates.acceleration), ("jerk", rates.jerk))
    numbers = [
        Value(name, rate, unit=unit_of_derivative(ANY_JOINT, order)) for order, (name, rate) in enumerate(orders, 1)
    ]
    try:
        return calculated(ruckig.Ruckig(count), request, Value("length", intervals[0].length, unit=ANY_JOINT), *numbers)
    except TrajectoryError:
        if count > 1:
            for interval in intervals:  # name the numbers of the one that fails
                solved([interval])
        raise


def pieces_of(interval: PathInterval, profile: ruckig.Profile) -> Pieces:
    """Return the durations [s] of the cubic pieces of a profile, and their coefficients.

    Raises:
        TrajectoryError: The interval is too short for the change of speed, or for any timing.
    """
    if min(profile.v) < -1e-9 * interval.rates.speed:
        unit = unit_of_derivative(ANY_JOINT, 1)
        ends = (
            Value("speed at its start", interval.start, unit=unit),
            Value("speed at its end", interval.end, unit=unit),
        )
        text = "an interval is too short for the change of speed along it"
        raise TrajectoryError(text, values=(Value("length", interval.length, unit=ANY_JOINT), *ends))
    if not any(profile.t):
        numbers = (
            Value("length", interval.length, unit=ANY_JOINT),
            Value("velocity", interval.rates.speed, unit=unit_of_derivative(ANY_JOINT, 1)),
        )
        raise TrajectoryError("an interval is too short, or its velocity too low, to be timed", values=numbers)
    pieces = list(zip(profile.t, profile.p, profile.v, profile.a, profile.j, strict=False))
    spans = [piece[0] for piece in pieces if piece[0] > 0.0]
    return spans, [(p, v, 0.5 * a, j / 6.0) for t, p, v, a, j in pieces if t > 0.0]


def pieces_of_all(intervals: Sequence[PathInterval]) -> list[Pieces]:
    """Return `pieces_of` for the fastest profiles of intervals."""
    found: list[Pieces] = []
    for first in range(0, len(intervals), AT_ONCE):
        part = intervals[first : first + AT_ONCE]
        found.extend(map(pieces_of, part, solved(part).profiles[0]))
    return found


def to_whole_periods(curve: PolynomialCurve, period: float) -> PolynomialCurve:
    """Return the curve, scaled in time to the next multiple of a period."""
    duration = curve.duration
    whole = math.ceil(duration / period - 1e-9) * period
    return curve.stretched(whole / duration) if whole > duration else curve


def profile_on_grid(length: float, rates: Rates, period: float) -> PolynomialCurve:
    """Return a profile from 0 to a length, at rest at both ends, whose jerk changes at multiples of a period only.

    Its three durations, of constant jerk, of constant acceleration and of constant speed, are those of the fastest
    profile, rounded up. All rates are then at most their limits: the speed is length / (2 t_jerk + t_acceleration +
    t_speed), the acceleration speed / (t_jerk + t_acceleration), and the jerk acceleration / t_jerk.
    """
    jerk_time, acceleration_time, speed_time = (
        math.ceil(duration / period - 1e-6) * period for duration in _durations(length, rates)
    )
    jerk_time = max(jerk_time, period)
    speed = length / (2.0 * jerk_time + acceleration_time + speed_time)
    jerk = speed / ((jerk_time + acceleration_time) * jerk_time)
    ramp = [(jerk_time, jerk), (acceleration_time, 0.0), (jerk_time, -jerk)]
    phases = [*ramp, (speed_time, 0.0), *((span, -each) for span, each in ramp)]
    breaks, rows = [0.0], []
    place = velocity = acceleration = 0.0
    for span, each in phases:
        if span <= 0.0:
            continue
        rows.append((place, velocity, 0.5 * acceleration, each / 6.0))
        place += span * (velocity + span * (0.5 * acceleration + span * each / 6.0))
        velocity += span * (acceleration + 0.5 * span * each)
        acceleration += span * each
        breaks.append(breaks[-1] + span)
    return PolynomialCurve(np.array(breaks), np.array(rows)[:, :, None])


def _durations(length: float, rates: Rates) -> tuple[float, float, float]:
    """Return the times of constant jerk, acceleration and speed of the fastest profile from rest to rest [s]."""
    speed, acceleration, jerk = rates.speed, rates.acceleration, rates.jerk
    reaches_acceleration = speed * jerk >= acceleration**2
    ramp = speed / acceleration + acceleration / jerk if reaches_acceleration else 2.0 * math.sqrt(speed / jerk)
    if length < speed * ramp:
        # The maximum speed is not reached: speed**2 / acceleration + speed * acceleration / jerk = length.
        ratio = acceleration / jerk
        speed = 0.5 * acceleration * (math.sqrt(ratio**2 + 4.0 * length / acceleration) - ratio)
        reaches_acceleration = speed * jerk >= acceleration**2
        if not reaches_acceleration:
            return (0.5 * length / jerk) ** (1.0 / 3.0), 0.0, 0.0
        ramp = speed / acceleration + ratio
    jerk_time = acceleration / jerk if reaches_acceleration else math.sqrt(speed / jerk)
    acceleration_time = max(0.0, speed / acceleration - jerk_time) if reaches_acceleration else 0.0
    return jerk_time, acceleration_time, max(0.0, length / speed - ramp)


def speed_change_distance(first: float, second: float, rates: Rates) -> float:
    """Return the shortest distance over which the speed changes from `first` to `second`, with zero end accelerations.

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


def reachable_speed(first: float, requested: float, length: float, rates: Rates) -> float:
    """Return the maximum speed, at most `requested`, that is reachable from `first` within a distance.

    The distance of a speed change c, (2 first + c) / 2 times its duration, increases with c. Newton's method converges
    to the root from above, where the function is convex, for trapezoidal and triangular accelerations.
    """
    available = length * FITTING
    if requested <= first or speed_change_distance(first, requested, rates) <= available:
        return requested
    if available <= 0.0:
        return first
    acceleration, jerk = rates.acceleration * SLACK, rates.jerk * SLACK
    border = acceleration * acceleration / jerk  # larger changes reach the maximum acceleration
    if speed_change_distance(first, first + border, rates) < available:
        # (2 first + c) (c / a + a / j) = 2 room
        ramp = acceleration / jerk
        half = first + 0.5 * acceleration * ramp
        change = _larger_root(half, 2.0 * acceleration * (first * ramp - available))
    else:
        # With c = j u2: (2 first + j u2) u = room
        u = math.sqrt(min(requested - first, border) / jerk)
        for _ in range(STEPS):
            u -= (u * (2.0 * first + jerk * u * u) - available) / (2.0 * first + 3.0 * jerk * u * u)
        change = jerk * u * u
    return min(first + change, requested)


def _larger_root(half: float, constant: float) -> float:
    """Return the larger root of x2 + 2 half x + constant, half > 0, constant < 0, without cancellation."""
    return -constant / (half + math.sqrt(half * half - constant))
