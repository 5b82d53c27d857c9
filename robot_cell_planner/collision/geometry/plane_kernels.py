"""Support functions of collision geometries, and planes between them, in compiled code; see `separating_planes`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...system.borrowed_arrays import borrowed, keep
from ...system.compiled import compiled

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Plane = NDArray[np.float64]
ROUNDING = 1e-9  # [m], subtracted from bounds
# Parts of a plane: both indices, the normal in both frames, and the extents of both geometries towards it [m].
FIRST_NORMAL, SECOND_NORMAL, EXTENTS, PLANE = 2, 5, 8, 10
DISC = 3  # row of a support point: radius of the disc around it, normal to the z axis


@compiled
def room_for_extents(spans: Indices) -> Floats:
    """Return room for the extents of the points of any of the geometries whose spans (n, 2) are given."""
    most = 0
    for k in range(spans.shape[0]):
        most = max(most, spans[k, 1] - spans[k, 0])
    return np.empty(most)


@compiled
def farthest_extent(
    points: Floats, first: int, last: int, x: float, y: float, z: float, across: float, room: Floats
) -> float:
    """Return the largest extent of points (4, n) with their discs along a vector [m], those of all in the first entries
    of `room`. across: length of the vector in the plane of the discs.

    The first loop becomes vector instructions; in the second one, four maxima do not wait for each other.
    """
    xs, ys, zs, discs = points[0, first:last], points[1, first:last], points[2, first:last], points[DISC, first:last]
    count = last - first
    for k in range(count):
        room[k] = xs[k] * x + ys[k] * y + zs[k] * z + discs[k] * across
    one = two = three = four = -math.inf
    for block in range(count // 4):
        k = 4 * block
        one = room[k] if room[k] > one else one
        two = room[k + 1] if room[k + 1] > two else two
        three = room[k + 2] if room[k + 2] > three else three
        four = room[k + 3] if room[k + 3] > four else four
    for k in range(4 * (count // 4), count):
        one = room[k] if room[k] > one else one
    return max(max(one, two), max(three, four))


@compiled
def support(points: Floats, first: int, last: int, radius: float, x: float, y: float, z: float, room: Floats) -> float:
    """Return the extent of a geometry along a unit vector in its own frame [m]; points: (4, n). room: as of
    `farthest_extent`."""
    extent: float = farthest_extent(points, first, last, x, y, z, math.sqrt(x * x + y * y), room) + radius
    return extent


@compiled
def describe_plane(
    points: Floats,
    spans: Indices,
    radii: Floats,
    fixed: Floats,
    rows: Indices,
    normal: Floats,
    poses: Floats,
    plane: Plane,
    room: Floats,
) -> None:
    """Compute the normals of a plane in the frames of its geometries, and their extents towards it."""
    i, j = int(plane[0]), int(plane[1])
    pose = poses[rows[i]] if i < rows.shape[0] else fixed[i]
    other = poses[rows[j]] if j < rows.shape[0] else fixed[j]
    for k in range(3):
        plane[FIRST_NORMAL + k] = pose[0, k] * normal[0] + pose[1, k] * normal[1] + pose[2, k] * normal[2]
        plane[SECOND_NORMAL + k] = other[0, k] * normal[0] + other[1, k] * normal[1] + other[2, k] * normal[2]
    x, y, z = plane[FIRST_NORMAL], plane[FIRST_NORMAL + 1], plane[FIRST_NORMAL + 2]
    plane[EXTENTS] = support(points, spans[i, 0], spans[i, 1], radii[i], -x, -y, -z, room)
    x, y, z = plane[SECOND_NORMAL], plane[SECOND_NORMAL + 1], plane[SECOND_NORMAL + 2]
    plane[EXTENTS + 1] = support(points, spans[j, 0], spans[j, 1], radii[j], x, y, z, room)


@compiled
def gap_along(
    points: Floats,
    span: Indices,
    radius: float,
    own: Floats,
    sign: float,
    at: Floats,
    other: Floats,
    extent: float,
    room: Floats,
) -> float:
    """Return the gap of two geometries at poses `at` and `other` (4, 4) along a vector.

    own: unit vector (3,) in the frame of the first one, pointing at it if multiplied by `sign`. extent: of the first
    one against it [m]. points (4, n), span (2,), radius: of the other one.
    """
    x = sign * (at[0, 0] * own[0] + at[0, 1] * own[1] + at[0, 2] * own[2])
    y = sign * (at[1, 0] * own[0] + at[1, 1] * own[1] + at[1, 2] * own[2])
    z = sign * (at[2, 0] * own[0] + at[2, 1] * own[1] + at[2, 2] * own[2])
    apart = x * (at[0, 3] - other[0, 3]) + y * (at[1, 3] - other[1, 3]) + z * (at[2, 3] - other[2, 3])
    turned_x = other[0, 0] * x + other[1, 0] * y + other[2, 0] * z
    turned_y = other[0, 1] * x + other[1, 1] * y + other[2, 1] * z
    turned_z = other[0, 2] * x + other[1, 2] * y + other[2, 2] * z
    gap: float = apart - extent - support(points, span[0], span[1], radius, turned_x, turned_y, turned_z, room)
    return gap


@compiled
def raise_bounds_of(
    points: Floats,
    spans: Indices,
    radii: Floats,
    fixed: Floats,
    rows: Indices,
    plane: Plane,
    poses: Floats,
    states: Indices,
    firsts: Indices,
    seconds: Indices,
    bounds: Floats,
    limit: float,
    room: Floats,
) -> None:
    """Raise bounds that are not beyond the limit by one plane, which moves with one of its geometries, and then, if the
    bound is not beyond the limit yet, with the other one."""
    moving = rows.shape[0]
    i, j = int(plane[0]), int(plane[1])
    first_normal, second_normal = plane[FIRST_NORMAL:SECOND_NORMAL], plane[SECOND_NORMAL:EXTENTS]
    # Most of the time goes into the support function of the geometry that the plane does not move with.
    with_first = spans[j, 1] - spans[j, 0] <= spans[i, 1] - spans[i, 0]
    for row in range(bounds.shape[0]):
        if firsts[row] == i and seconds[row] == j and bounds[row] <= limit:
            pose = poses[states[row], rows[i]] if i < moving else fixed[i]
            other = poses[states[row], rows[j]] if j < moving else fixed[j]
            for turn in range(2):
                if with_first == (turn == 0):
                    gap = gap_along(points, spans[j], radii[j], first_normal, 1.0, pose, other, plane[EXTENTS], room)
                else:
                    gap = gap_along(
                        points, spans[i], radii[i], second_normal, -1.0, other, pose, plane[EXTENTS + 1], room
                    )
                bounds[row] = max(bounds[row], gap - ROUNDING)
                if bounds[row] > limit:
                    break


@compiled
def raise_bounds(
    points: Floats,
    spans: Indices,
    radii: Floats,
    fixed: Floats,
    rows: Indices,
    planes: Floats,
    poses: Floats,
    states: Indices,
    firsts: Indices,
    seconds: Indices,
    bounds: Floats,
    limit: float,
) -> None:
    """Compute `SeparatingPlanes.raise_bounds`."""
    points, spans, fixed, planes, poses = borrowed((points, spans, fixed, planes, poses))
    extents = room_for_extents(spans)
    room = borrowed(extents)
    for k in range(planes.shape[0] - 1, -1, -1):  # the last ones are of the closest geometries
        raise_bounds_of(
            points, spans, radii, fixed, rows, planes[k], poses, states, firsts, seconds, bounds, limit, room
        )
    keep(extents)


@compiled
def exclude(
    points: Floats,
    spans: Indices,
    radii: Floats,
    fixed: Floats,
    rows: Indices,
    row: int,
    normal: Floats,
    plane: Plane,
    poses: Floats,
    states: Indices,
    firsts: Indices,
    seconds: Indices,
    bounds: Floats,
    limit: float,
) -> None:
    """Compute `SeparatingPlanes.exclude`."""
    bounds[row], room = math.inf, room_for_extents(spans)
    plane[0], plane[1] = firsts[row], seconds[row]
    describe_plane(points, spans, radii, fixed, rows, normal, poses[states[row]], plane, room)
    raise_bounds_of(points, spans, radii, fixed, rows, plane, poses, states, firsts, seconds, bounds, limit, room)
