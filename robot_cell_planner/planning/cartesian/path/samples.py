"""Samples of a Cartesian path, some of which are rungs of the ladder graph."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....trajectory.limits import Array
from .cartesian_path import CartesianPath
from .options import CartesianOptions
from .points import Edges

# Max spacing of samples [m], [rad].
MAX_DISTANCE, MAX_ANGLE = 0.05, 0.25
# Spacing of rungs of redundant tasks, which have many solutions per rung,
RUNG_DISTANCE, RUNG_ANGLE = 0.03, 0.15
# and its upper bound if there are more than MAX_RUNGS rungs.
MAX_RUNGS = 120
WIDE_RUNG_DISTANCE, WIDE_RUNG_ANGLE = 0.1, 0.4


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of a Cartesian path.

    Attributes:
        segments: Segments (k,).
        fractions: Fractions of the segments (k,).
        poses: Poses (k, 4, 4).
        requested: Indices of the samples that are points of the joint path, including the last sample.
        rungs: Indices of the samples that are rungs of the ladder, including the last sample.
    """

    segments: NDArray[np.intp]
    fractions: Array
    poses: Array
    requested: NDArray[np.intp]
    rungs: NDArray[np.intp]

    def part(self, count: int) -> Edges:
        """Return the motions to the first `count` samples."""
        return Edges.to(self.segments[:count], self.fractions[:count])

    def describe(self, cartesian_path: CartesianPath, index: int) -> str:
        """Return the position of a sample as text."""
        segment = cartesian_path.segments[int(self.segments[index])]
        return f"waypoint {segment.waypoint} at {segment.parameter(float(self.fractions[index])):.6g}"


def sample_path(cartesian_path: CartesianPath, options: CartesianOptions, redundant: bool) -> Samples:
    """Return the requested points, with samples added between distant ones. All samples are rungs; for redundant tasks
    only as many as needed.

    Raises:
        LimitExceededError: See `CartesianPath.sample_counts`.
    """
    segments, fractions, requested = [], [], []
    filled = 0
    steps = options.max_step_distance, options.max_step_angle
    cartesian_path.sample_counts(min(steps[0], MAX_DISTANCE), min(steps[1], MAX_ANGLE))  # with the samples added
    counts = cartesian_path.sample_counts(*steps)
    for index, (segment, count) in enumerate(zip(cartesian_path.segments, counts, strict=True)):
        curve = segment.curve
        parts = max(1, math.ceil(max(curve.length / MAX_DISTANCE, curve.angle / MAX_ANGLE) / count - 1e-9))
        total = count * parts
        segments.append(np.full(total, index))
        fractions.append(np.arange(1, total + 1) / total)
        requested.append(filled + parts * np.arange(1, count + 1) - 1)
        filled += total
    if not filled:
        empty = np.empty(0, dtype=np.intp)
        return Samples(empty, np.empty(0), np.empty((0, 4, 4)), empty, empty)
    segment_indices, all_fractions = np.concatenate(segments).astype(np.intp), np.concatenate(fractions)
    rungs = _rungs(cartesian_path, Edges.to(segment_indices, all_fractions)) if redundant else np.arange(filled)
    return Samples(
        segment_indices,
        all_fractions,
        cartesian_path.poses(segment_indices, all_fractions),
        np.concatenate(requested),
        rungs,
    )


def _rungs(cartesian_path: CartesianPath, edges: Edges) -> NDArray[np.intp]:
    spans = edges.ends - edges.begins
    lengths = np.array([segment.curve.length for segment in cartesian_path.segments])[edges.segments] * spans
    angles = np.array([segment.curve.angle for segment in cartesian_path.segments])[edges.segments] * spans
    extent = np.cumsum(np.maximum(lengths / RUNG_DISTANCE, angles / RUNG_ANGLE))
    if extent[-1] > MAX_RUNGS:
        wide = np.cumsum(np.maximum(lengths / WIDE_RUNG_DISTANCE, angles / WIDE_RUNG_ANGLE))
        extent = extent * max(MAX_RUNGS / extent[-1], wide[-1] / extent[-1])
    whole = np.floor(extent + 1e-9)
    chosen = np.flatnonzero(np.diff(whole, prepend=0.0) >= 1.0)
    return np.unique(np.append(chosen, len(spans) - 1)).astype(np.intp)
