"""Noise of the samples of a path, which limits the speed along the curve through them.

The curvature of a curve through samples grows with their noise divided by the square of their distance: noise of 0.01
mrad in samples 2 mrad apart makes a motion ten times as long. A curve that is fitted to the samples shows it: if it
misses them by no more than their noise, and is much faster, they could be replaced by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .curves import PolynomialCurve
from .limits import Array, MotionLimits
from .sampled_paths import allowed_speeds, knots_of, path_parameters, spline_through
from .splines import cubic_spline
from .timing import TimingOptions, traversed

SPACINGS = (4, 8, 16, 32, 64)  # samples between two knots of fitted curves
FEWEST_SPANS = 3  # of a fitted curve between its knots
# A curve is fitted to samples, and not only to their noise, if it misses them by at most this multiple of it (RMS). The
# curve of a smooth path that is too coarse for it misses the samples by ten times that, and more.
MAX_RESIDUAL = 1.3
NEIGHBOURS = np.array([-2, -1, 1, 2])  # samples from which the noise of one is estimated


@dataclass(frozen=True)
class SampleNoise:
    """Effect of the noise of samples.

    Attributes:
        saved: Time by which the motion along the fitted curve is shorter [s].
        deviation: Largest distance of a joint between the fitted curve and the samples [rad or m].
        spacing: Samples between two knots of the fitted curve.
        sample: Sample at which the curve through the samples has to be passed slowest.
        joint: Joint that requires it.
    """

    saved: float
    deviation: float
    spacing: int
    sample: int
    joint: str


def noise_of(samples: Array, limits: MotionLimits, options: TimingOptions, stops: Sequence[int]) -> SampleNoise | None:
    """Return the effect of the noise of samples (n, dof) on a motion of the FOLLOW_SAMPLES method; None if no fitted
    curve is faster.

    limits: of the joints, without the options. stops: samples at which the motion rests, with both ends, ascending. The
    effects of the parts between them are added up; what they were found at is that of the part with the largest.
    """
    limits = options.apply(limits)
    parameters = path_parameters(samples, None)
    found = [
        noise
        for first, last in pairwise(stops)
        if (noise := _noise_between(samples, parameters, first, last, limits, options)) is not None
    ]
    if not found:
        return None
    worst = max(found, key=lambda noise: noise.saved)
    saved, deviation = sum(noise.saved for noise in found), max(noise.deviation for noise in found)
    return SampleNoise(saved, deviation, worst.spacing, worst.sample, worst.joint)


def _noise_between(
    samples: Array, parameters: Array, first: int, last: int, limits: MotionLimits, options: TimingOptions
) -> SampleNoise | None:
    """Return the effect of noise on the motion between two stops, with the fastest of the fitted curves."""
    knots = first + knots_of(parameters[first : last + 1])
    points, at = samples[knots], parameters[knots] - parameters[first]
    fitted = [
        (traversed(curve, limits, options).duration, spacing, curve) for spacing, curve in _fitted_curves(points, at)
    ]
    if not fitted:
        return None
    duration, spacing, curve = min(fitted, key=lambda fit: fit[0])
    through = spline_through(points, at)
    saved = traversed(through, limits, options).duration - duration
    if saved <= 0.0:
        return None
    first_order, second_order, third_order = (through.largest_derivatives(order) for order in (1, 2, 3))
    speeds = allowed_speeds(first_order, second_order, third_order, limits)
    piece, column = np.unravel_index(int(speeds.argmin()), speeds.shape)
    deviation = float(np.abs(curve.evaluate(at) - points).max())
    return SampleNoise(saved, deviation, spacing, int(knots[piece]), limits.variables[int(column)])


def _fitted_curves(points: Array, at: Array) -> Iterator[tuple[int, PolynomialCurve]]:
    """Yield curves that are fitted to points (n, dof) at path parameters (n,), with the number of points between two
    knots, as long as they miss the points by no more than noise."""
    for spacing in SPACINGS:
        if len(points) <= FEWEST_SPANS * spacing:
            return
        curve = _fitted(points, at, spacing)
        if _rms(curve.evaluate(at) - points) > MAX_RESIDUAL * _noise_level(points, at):
            return
        yield spacing, curve


def _fitted(points: Array, at: Array, spacing: int) -> PolynomialCurve:
    """Return the cubic spline between both ends through local fits of parabolas, `spacing` points apart."""
    count = len(points)
    centres = np.linspace(0, count - 1, math.ceil((count - 1) / spacing) + 1).astype(np.intp)
    first = np.clip(centres - spacing, 0, count - 1 - 2 * spacing)
    near = first[:, None] + np.arange(2 * spacing + 1)
    reach = at[near[:, -1]] - at[near[:, 0]]
    powers = ((at[near] - at[centres, None]) / reach[:, None])[..., None] ** np.arange(3)
    transposed = powers.transpose(0, 2, 1)
    values = np.linalg.solve(transposed @ powers, transposed @ points[near])[:, 0]
    values[0], values[-1] = points[0], points[-1]
    return cubic_spline(at[centres], values)


def _noise_level(points: Array, at: Array) -> float:
    """Return the noise (RMS) of points (n, dof) at path parameters (n,), n at least 5 [rad or m]: the distance of each
    from the cubic polynomial through two points on both sides, which would be zero on a smooth curve, in proportion to
    the distance that noise of a standard deviation of 1 has there."""
    middle: NDArray[np.intp] = np.arange(2, len(points) - 2)
    near = middle[:, None] + NEIGHBOURS
    offsets = at[near] - at[middle, None]
    weights = np.ones_like(offsets)
    for column in range(len(NEIGHBOURS)):  # Lagrange polynomials at the point in the middle
        others = np.delete(offsets, column, axis=1)
        weights[:, column] = np.prod(others / (others - offsets[:, column, None]), axis=1)
    missed = (weights[:, :, None] * points[near]).sum(axis=1) - points[middle]
    return _rms(missed / np.sqrt(1.0 + (weights**2).sum(axis=1))[:, None])


def _rms(rows: Array) -> float:
    """Return the root of the mean square of the norms of rows (n, dof)."""
    return float(np.sqrt((rows**2).sum(axis=1).mean()))
