"""Search for the closest pair of geometries among candidates, in compiled code."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...system.borrowed_arrays import borrowed, keep
from ...system.compiled import compiled
from .gjk_kernels import NORMAL, WORK_ROWS, separate
from .plane_kernels import PlacedPairs, Shapes, describe_plane, pose_of, raise_bounds_of, room_for_extents

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]


@compiled
def find_closest(
    points: Floats,
    spans: Indices,
    radii: Floats,
    fixed: Floats,
    rows: Indices,
    poses: Floats,
    states: Indices,
    firsts: Indices,
    seconds: Indices,
    bounds: Floats,
    convex: Flags,
    planes: Floats,
    nearest: Floats,
    best: Floats,
    plane_count: int,
    max_distance: float,
    same: float,
    limit: float,
    beyond: float,
) -> tuple[int, int, int]:
    """Compute the distances of pairs, in the order of their lower bounds, as long as one may be the closest.

    Bounds are raised in place, and become infinite where the distance was computed; planes, nearest and best change
    with each distance.

    Args:
        points, spans, radii, fixed, rows: As of `Shapes`.
        poses, states, firsts, seconds, bounds: As of `PlacedPairs`.
        convex: Whether the support functions of each geometry describe it exactly (g,).
        planes: Planes of pairs, and room for further ones (k, 10). The last one is not kept.
        nearest: Smallest distance that was computed at each configuration (n,) [m].
        best: Smallest distance so far [m], infinite without one, and its configuration (2,).
        plane_count: Number of planes that are in use.
        max_distance: Maximum of the first distance that counts [m].
        same: Distances of later ones are smaller than the best one by so much [m].
        limit, beyond: Bounds above the limit, and those that exceed the best distance by more, are not raised [m].

    Returns:
        The pair whose distance must be computed by other means, or -1 if all are done; the pair of the best distance if
        it has changed, or else -1; and the number of planes in use.
    """
    shapes = borrowed(Shapes(points, spans, radii, fixed, rows))
    pairs = borrowed(PlacedPairs(poses, states, firsts, seconds, bounds))
    owned = np.empty((WORK_ROWS, 4)), room_for_extents(spans)
    work, room = borrowed(owned)
    planes, chosen, unknown = borrowed(planes), -1, -1
    while True:
        row = int(bounds.argmin())
        enough = max_distance if best[0] == math.inf else best[0] - same
        if bounds[row] > enough or bounds[row] == math.inf:
            break
        i, j, state = firsts[row], seconds[row], states[row]
        here = pairs.poses[state]
        lower, upper = separate(shapes, i, j, pose_of(shapes, i, here), pose_of(shapes, j, here), work, room)
        if upper == math.inf or not (convex[i] and convex[j]):
            if lower <= bounds[row] + same:
                unknown = row
                break
            bounds[row] = lower  # of the convex hulls; it may suffice
        else:
            nearest[state] = min(nearest[state], lower)
            if upper <= max_distance if best[0] == math.inf else (upper, state) < (best[0], best[1]):
                best[0], best[1], chosen = upper, state, row
            bounds[row] = math.inf
        plane = planes[plane_count]
        plane_count = min(plane_count + 1, planes.shape[0] - 1)
        plane[0], plane[1] = i, j
        describe_plane(shapes, work[NORMAL, :3], here, plane, room)
        raise_bounds_of(shapes, plane, pairs, min(limit, best[0] + beyond), room)
    keep(owned)
    return unknown, chosen, plane_count
