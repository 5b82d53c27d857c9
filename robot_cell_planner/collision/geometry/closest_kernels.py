"""Search for the closest pair of geometries among candidates, in compiled code."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...system.borrowed_arrays import borrowed, keep
from ...system.compiled import compiled
from .gjk_kernels import NORMAL, WORK_ROWS, separate
from .plane_kernels import describe_plane, raise_bounds_of, room_for_extents

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
    is_known: Flags,
    planes: Floats,
    plane_count: int,
    poses: Floats,
    states: Indices,
    firsts: Indices,
    seconds: Indices,
    bounds: Floats,
    nearest: Floats,
    best: Floats,
    max_distance: float,
    same: float,
    limit: float,
    beyond: float,
) -> tuple[int, int, int]:
    """Compute the distances of candidates, in the order of their lower bounds, as long as one may be the closest.

    Args:
        points, spans, radii, fixed, rows, planes, poses, states, firsts, seconds, bounds: As of `raise_bounds`; bounds
            are raised, and become infinite where the distance was computed.
        is_known: Whether the support functions of each geometry describe it exactly (n,).
        plane_count: Number of planes that are in use; the others are room for new ones. The last one is not kept.
        nearest: Smallest distance that was computed at each configuration (n,), lowered in place [m].
        best: Smallest distance so far [m], infinite without one, and its configuration (2,), changed in place.
        max_distance: [m] of the first distance that counts.
        same: Distances of later ones are smaller than the best one by so much [m].
        limit, beyond: Bounds above the limit, and those that exceed the best distance by more, are not raised [m].

    Returns:
        The candidate whose distance must be computed by other means, or -1 if all are done; the candidate of the best
        distance if it has changed, or else -1; and the number of planes in use.
    """
    arrays = points, spans, fixed, planes, poses
    points, spans, fixed, planes, poses = borrowed(arrays)
    owned = np.empty((WORK_ROWS, 4)), room_for_extents(spans)
    work, room = borrowed(owned)
    moving, chosen, unknown = rows.shape[0], -1, -1
    while True:
        row = int(bounds.argmin())
        enough = max_distance if best[0] == math.inf else best[0] - same
        if bounds[row] > enough or bounds[row] == math.inf:
            break
        i, j, state = firsts[row], seconds[row], states[row]
        pose = poses[state, rows[i]] if i < moving else fixed[i]
        other = poses[state, rows[j]] if j < moving else fixed[j]
        lower, upper = separate(points, spans, radii, i, j, pose, other, work, room)
        if upper == math.inf or not (is_known[i] and is_known[j]):
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
        describe_plane(points, spans, radii, fixed, rows, work[NORMAL, :3], poses[state], plane, room)
        raise_bounds_of(
            points,
            spans,
            radii,
            fixed,
            rows,
            plane,
            poses,
            states,
            firsts,
            seconds,
            bounds,
            min(limit, best[0] + beyond),
            room,
        )
    keep(owned)
    keep(arrays)
    return unknown, chosen, plane_count
