"""Corner blends: a curve with continuous curvature replaces a corner of a path.

At a corner c with unit directions u before and w after it, and a radius r, the curve runs from c - r u to c + r w over
2 r of the path parameter x. Its direction changes from u to w as u + (w - u) S(z) with z = x / 2r, where S' is a
trapezoid that rises over the fraction b of the interval: the second derivative is 0 at both ends and at most |w - u| /
(2 r (1 - b)), the third is |w - u| / (4 r2 b (1 - b)). Small b suit joints limited by their acceleration, b up to 1/2
those limited by their jerk; each corner has the b that allows the highest speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .curves import PolynomialCurve
from .limits import Array, MotionLimits
from .profiles import SLACK, Rates

RISES = np.array([0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5])
# Distance from the corner as a fraction of r |w - u|: the maximum over the shapes, attained for the smallest rise.
DEVIATION = 0.2042
SMALLEST = 1e-9  # [rad or m], smaller radii leave the corner unblended


@dataclass(frozen=True, eq=False)
class Polyline:
    """Straight segments between corners (n, dof), n at least 2, with unit directions and lengths."""

    corners: Array
    directions: Array
    lengths: Array

    @classmethod
    def through(cls, corners: Array) -> Polyline:
        """Return the segments between corners (n, dof)."""
        steps = np.diff(corners, axis=0)
        lengths = np.linalg.norm(steps, axis=1)
        return cls(corners, steps / lengths[:, None], lengths)

    @cached_property
    def turns(self) -> Array:
        """Difference of the directions at each inner corner (n - 2, dof)."""
        turns: Array = np.diff(self.directions, axis=0)
        return turns


def largest_radii(line: Polyline, tolerance: float, fraction: float) -> Array:
    """Return the maximum radii at the inner corners (n - 2,).

    The radii keep the tolerance [rad or m of each joint] and use at most a fraction, up to a half, of the
    shorter adjacent segment.
    """
    widest = np.abs(line.turns).max(axis=1, initial=0.0)
    with np.errstate(divide="ignore"):
        by_tolerance = tolerance / (DEVIATION * widest)
    radii: Array = np.minimum(by_tolerance, fraction * np.minimum(line.lengths[:-1], line.lengths[1:]))
    radii[radii < SMALLEST] = 0.0
    return radii


@dataclass(frozen=True, eq=False)
class Blends:
    """Blends at the inner corners (n - 2,): radius (0: none), rise of the shape, maximum constant speed."""

    radii: Array
    rises: Array
    speeds: Array


@dataclass(frozen=True, eq=False)
class CornerRates:
    """Rate limits at the inner corners (n - 2,).

    They are the maximum speed along both adjacent segments, and the maximum second and third derivative by the path
    parameter at unit speed, per change of direction.
    """

    plain: Array
    bend: Array
    twist: Array

    @classmethod
    def of(cls, line: Polyline, limits: MotionLimits) -> CornerRates:
        """Return the rate limits at the corners of a polyline from the limits of the joints."""
        turns = np.abs(line.turns)
        along = np.abs(line.directions)
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(
                (limits.velocity / np.maximum(along[:-1], along[1:])).min(axis=1, initial=np.inf),
                (limits.acceleration / turns).min(axis=1, initial=np.inf),
                (limits.jerk / turns).min(axis=1, initial=np.inf),
            )

    def fastest(self, radii: Array) -> Blends:
        """Return the blends of given radii with the highest speed within the limits."""
        bent, twisted = self.bend * 2.0 * radii, self.twist * 4.0 * radii**2
        by_rise = np.minimum(
            np.sqrt(bent[:, None] * (1.0 - RISES)), np.cbrt(twisted[:, None] * (RISES * (1.0 - RISES)))
        )
        by_rise[radii == 0.0] = 0.0
        best = np.argmax(by_rise, axis=1)
        speeds = np.minimum(by_rise[np.arange(len(radii)), best], self.plain) * SLACK
        return Blends(radii, RISES[best], np.where(radii > 0.0, speeds, 0.0))


def interval_rates(line: Polyline, limits: MotionLimits) -> list[Rates]:
    """Return the speed, acceleration and jerk limits along each straight segment, from those of the joints."""
    fraction = np.abs(line.directions)
    with np.errstate(divide="ignore"):
        rows = [(rate / fraction).min(axis=1) for rate in (limits.velocity, limits.acceleration, limits.jerk)]
    return [Rates(*values) for values in np.stack(rows, axis=1).tolist()]


def blended_path(line: Polyline, radii: Array, rises: Array) -> PolynomialCurve:
    """Return the path over its parameter: segment, blend, segment, ...; corners with radius 0 are not blended."""
    count, dof = line.directions.shape
    around = np.concatenate(([0.0], radii, [0.0]))
    # For each segment: its straight piece and the three pieces of the blend after it.
    spans, rows = np.zeros((count, 4)), np.zeros((count, 4, 4, dof))
    spans[:, 0] = line.lengths - around[:-1] - around[1:]
    rows[:, 0, 0] = line.corners[:-1] + around[:-1, None] * line.directions
    rows[:, 0, 1] = line.directions
    bent = np.flatnonzero(radii)
    before = line.directions[bent]
    entries = line.corners[bent + 1] - radii[bent, None] * before
    spans[bent, 1:], rows[bent, 1:] = _blends(entries, before, line.turns[bent], 2.0 * radii[bent], rises[bent])
    nonempty = spans > 0.0
    return PolynomialCurve(np.concatenate(([0.0], np.cumsum(spans[nonempty]))), rows[nonempty])


def _blends(entries: Array, directions: Array, turns: Array, wholes: Array, rises: Array) -> tuple[Array, Array]:
    """Return the three cubic pieces of k blends of given lengths (k,): piece lengths (k, 3), coefficients (k, 3, 4,
    dof)."""
    ramps = rises * wholes
    spans = np.stack([ramps, wholes - 2.0 * ramps, ramps], axis=1)
    twists = turns / (wholes * (1.0 - rises) * ramps)[:, None]
    rows = np.zeros((*spans.shape, 4, entries.shape[1]))
    point, first, second = entries, directions, np.zeros_like(entries)
    for piece, sign in enumerate((1.0, 0.0, -1.0)):
        third, span = sign * twists, spans[:, piece, None]
        rows[:, piece] = np.stack([point, first, 0.5 * second, third / 6.0], axis=1)
        point = point + span * (first + span * (0.5 * second + span * third / 6.0))
        first = first + span * (second + 0.5 * span * third)
        second = second + span * third
    return spans, rows


def points_of_blend(line: Polyline, corner: int, radius: float, rise: float, step: float) -> Array:
    """Return points (k, dof) along the blend at an inner corner, with no joint moving more than `step` between them."""
    before, after = line.directions[corner], line.directions[corner + 1]
    whole = 2.0 * radius
    entry = line.corners[corner + 1] - radius * before
    spans, rows = _blends(entry[None], before[None], (after - before)[None], np.array([whole]), np.array([rise]))
    nonempty = spans[0] > 0.0
    curve = PolynomialCurve(np.concatenate(([0.0], np.cumsum(spans[0, nonempty]))), rows[0, nonempty])
    furthest = float(np.maximum(np.abs(before), np.abs(after)).max())
    return curve.evaluate(np.linspace(0.0, whole, int(np.ceil(whole * furthest / step)) + 2))
