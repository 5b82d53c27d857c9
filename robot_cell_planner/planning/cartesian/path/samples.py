"""Places along a route that are followed, and which of them are rungs of the ladder."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....trajectory.limits import Array
from .cartesian_path import CartesianPath
from .options import CartesianOptions
from .points import Edges

# Widest spacing of what is followed between rungs [m], [rad].
FINEST_DISTANCE, FINEST_ANGLE = 0.05, 0.25
# Rungs may be further apart where a task leaves something free, for then each has very many solutions:
RUNG_DISTANCE, RUNG_ANGLE = 0.03, 0.15
# and where there are more rungs than this, up to these.
MANY_RUNGS = 120
WIDE_RUNG_DISTANCE, WIDE_RUNG_ANGLE = 0.1, 0.4


@dataclass(frozen=True, eq=False)
class Samples:
    """Places along the route that are followed: pieces (k,), shares (k,) and poses (k, 4, 4). wanted: indices of those
    that the points of the path shall be; rungs: of those that are rungs of the ladder. Both end with the last."""

    pieces: NDArray[np.intp]
    shares: Array
    poses: Array
    wanted: NDArray[np.intp]
    rungs: NDArray[np.intp]

    def part(self, count: int) -> Edges:
        """The motions to the first `count` of them."""
        return Edges.to(self.pieces[:count], self.shares[:count])

    def place(self, route: CartesianPath, index: int) -> str:
        """Where one of them is, for people."""
        piece = route.pieces[int(self.pieces[index])]
        return f"waypoint {piece.waypoint} at {piece.parameter(float(self.shares[index])):.6g}"


def route_samples(route: CartesianPath, options: CartesianOptions, redundant: bool) -> Samples:
    """The points asked for, and more of them where those are far apart. Rungs are all, or where the task leaves
    something free (redundant) as many as the way needs."""
    pieces, shares, wanted = [], [], []
    filled = 0
    for index, piece in enumerate(route.pieces):
        way = piece.way
        asked = max(way.length / options.max_step_distance, way.angle / options.max_step_angle)
        count = max(1, math.ceil(asked - 1e-9))
        parts = max(1, math.ceil(max(way.length / FINEST_DISTANCE, way.angle / FINEST_ANGLE) / count - 1e-9))
        total = count * parts
        pieces.append(np.full(total, index))
        shares.append(np.arange(1, total + 1) / total)
        wanted.append(filled + parts * np.arange(1, count + 1) - 1)
        filled += total
    if not filled:
        empty = np.empty(0, dtype=np.intp)
        return Samples(empty, np.empty(0), np.empty((0, 4, 4)), empty, empty)
    owners, places = np.concatenate(pieces).astype(np.intp), np.concatenate(shares)
    rungs = _rungs(route, Edges.to(owners, places)) if redundant else np.arange(filled)
    return Samples(owners, places, route.poses(owners, places), np.concatenate(wanted), rungs)


def _rungs(route: CartesianPath, edges: Edges) -> NDArray[np.intp]:
    spans = edges.ends - edges.begins
    lengths = np.array([piece.way.length for piece in route.pieces])[edges.pieces] * spans
    angles = np.array([piece.way.angle for piece in route.pieces])[edges.pieces] * spans
    extent = np.cumsum(np.maximum(lengths / RUNG_DISTANCE, angles / RUNG_ANGLE))
    if extent[-1] > MANY_RUNGS:
        wide = np.cumsum(np.maximum(lengths / WIDE_RUNG_DISTANCE, angles / WIDE_RUNG_ANGLE))
        extent = extent * max(MANY_RUNGS / extent[-1], wide[-1] / extent[-1])
    whole = np.floor(extent + 1e-9)
    chosen = np.flatnonzero(np.diff(whole, prepend=0.0) >= 1.0)
    return np.unique(np.append(chosen, len(spans) - 1)).astype(np.intp)
