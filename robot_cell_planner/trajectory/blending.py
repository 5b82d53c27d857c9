"""Blends at the corners of a path: where it turns, a curve with continuous curvature takes the place of the corner.

At a corner c with unit directions u before and w after it, and a radius r, the curve runs from c - r u to c + r w over
2 r of the path parameter x. Its direction goes over from u to w as u + (w - u) S(z) with z = x / 2r, where S' is a
trapezoid that rises over the share b of the way: the second derivative is 0 at both ends and at most
|w - u| / (2 r (1 - b)), the third is |w - u| / (4 r2 b (1 - b)). Small b suit joints bound by their acceleration, b up
to 1/2 those bound by their jerk; each corner has the b that lets it be passed fastest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .curves import PolynomialCurve
from .limits import Array, MotionLimits
from .profiles import SLACK, Rates

RISES = np.array([0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5])
# Distance from the corner as a share of r |w - u|: the largest among the shapes, that of the smallest rise.
DEVIATION = 0.2042


@dataclass(frozen=True, eq=False)
class Polyline:
    """Straight stretches between corners (n, dof), n at least 2: their unit directions and lengths."""

    corners: Array
    directions: Array
    lengths: Array

    @classmethod
    def through(cls, corners: Array) -> Polyline:
        steps = np.diff(corners, axis=0)
        lengths = np.linalg.norm(steps, axis=1)
        return cls(corners, steps / lengths[:, None], lengths)

    @property
    def turns(self) -> Array:
        """Difference of the directions at each inner corner (n - 2, dof)."""
        turns: Array = np.diff(self.directions, axis=0)
        return turns


def largest_radii(line: Polyline, tolerance: float, share: float) -> Array:
    """Radii at the inner corners (n - 2,): within a tolerance [rad or m of each joint], and at most a share, up to a
    half, of the shorter stretch beside each."""
    widest = np.abs(line.turns).max(axis=1, initial=0.0)
    with np.errstate(divide="ignore"):
        by_tolerance = tolerance / (DEVIATION * widest)
    radii: Array = np.minimum(by_tolerance, share * np.minimum(line.lengths[:-1], line.lengths[1:]))
    return radii


@dataclass(frozen=True, eq=False)
class Blends:
    """Blends at the inner corners (n - 2,): radius (0: none), rise of the shape, highest constant speed."""

    radii: Array
    rises: Array
    speeds: Array


def fastest_blends(line: Polyline, radii: Array, limits: MotionLimits) -> Blends:
    """The blends of given radii that can be passed fastest within the limits."""
    turns = np.abs(line.turns)
    before, after = np.abs(line.directions[:-1]), np.abs(line.directions[1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = (limits.velocity / np.maximum(before, after)).min(axis=1, initial=np.inf)
        bent = (limits.acceleration / turns).min(axis=1, initial=np.inf) * 2.0 * radii
        twisted = (limits.jerk / turns).min(axis=1, initial=np.inf) * 4.0 * radii**2
        by_rise = np.minimum(
            np.sqrt(bent[:, None] * (1.0 - RISES)), np.cbrt(twisted[:, None] * (RISES * (1.0 - RISES)))
        )
    by_rise[radii == 0.0] = 0.0
    best = np.argmax(by_rise, axis=1)
    speeds = np.minimum(by_rise[np.arange(len(radii)), best], plain) * SLACK
    return Blends(radii, RISES[best], np.where(radii > 0.0, speeds, 0.0))


def rates_of_stretches(line: Polyline, limits: MotionLimits) -> list[Rates]:
    """Speed, acceleration and jerk along each straight stretch with which no joint breaks its limits."""
    share = np.abs(line.directions)
    with np.errstate(divide="ignore"):
        rows = [(rate / share).min(axis=1) for rate in (limits.velocity, limits.acceleration, limits.jerk)]
    return [Rates(*values) for values in np.stack(rows, axis=1).tolist()]


def blended_path(line: Polyline, radii: Array, rises: Array) -> PolynomialCurve:
    """The path over its parameter: straight, blend, straight, ...; corners with radius 0 stay corners."""
    around = np.concatenate(([0.0], radii, [0.0]))
    spans: list[float] = []
    rows: list[Array] = []
    zero = np.zeros(line.corners.shape[1])
    for index, (direction, length) in enumerate(zip(line.directions, line.lengths, strict=True)):
        start = line.corners[index] + around[index] * direction
        spans.append(length - around[index] - around[index + 1])
        rows.append(np.stack([start, direction, zero, zero]))
        if around[index + 1] > 0.0:
            turn = line.directions[index + 1] - direction
            entry = line.corners[index + 1] - around[index + 1] * direction
            for span, row in _blend(entry, direction, turn, 2.0 * around[index + 1], float(rises[index])):
                spans.append(span)
                rows.append(row)
    return PolynomialCurve(np.concatenate(([0.0], np.cumsum(spans))), np.stack(rows))


def _blend(entry: Array, direction: Array, turn: Array, whole: float, rise: float) -> list[tuple[float, Array]]:
    """The three cubic pieces of a blend of length `whole`: their lengths and coefficients (4, dof)."""
    ramp = rise * whole
    bend = turn / (whole * (1.0 - rise))
    twist = bend / ramp
    spans = (ramp, whole - 2.0 * ramp, ramp)
    point, first, second = entry, direction, np.zeros_like(entry)
    pieces = []
    for span, third in zip(spans, (twist, np.zeros_like(twist), -twist), strict=True):
        if span > 0.0:
            pieces.append((span, np.stack([point, first, 0.5 * second, third / 6.0])))
        point = point + span * (first + span * (0.5 * second + span * third / 6.0))
        first = first + span * (second + 0.5 * span * third)
        second = second + span * third
    return pieces


def points_of_blend(line: Polyline, corner: int, radius: float, rise: float, step: float) -> Array:
    """Points (k, dof) along the blend at inner corner number `corner`, at most `step` of any joint apart."""
    before, after = line.directions[corner], line.directions[corner + 1]
    whole = 2.0 * radius
    pieces = _blend(line.corners[corner + 1] - radius * before, before, after - before, whole, rise)
    curve = PolynomialCurve(
        np.concatenate(([0.0], np.cumsum([span for span, _ in pieces]))), np.stack([row for _, row in pieces])
    )
    furthest = float(np.maximum(np.abs(before), np.abs(after)).max())
    return curve.evaluate(np.linspace(0.0, whole, int(np.ceil(whole * furthest / step)) + 2))
