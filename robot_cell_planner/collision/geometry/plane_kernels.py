"""Support functions of collision geometries, and planes between them, in compiled code; see `separating_planes`."""

from __future__ import annotations

import math
from typing import NamedTuple

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


class Shapes(NamedTuple):
    """Support functions of geometries, and where they are.

    Attributes:
        points: Points (4, n) of all geometries, with the radii of their discs: the convex hull of those of a geometry,
            rounded, contains it.
        spans: First and last column of each geometry, plus 1 (g, 2).
        radii: Radius of the rounding of each geometry (g,) [m].
        fixed: Placements (g, 4, 4) of the geometries that do not move.
        rows: Row of each moving geometry (m,) among their p different placements; these geometries come first.
    """

    points: Floats
    spans: Indices
    radii: Floats
    fixed: Floats
    rows: Indices


class PlacedPairs(NamedTuple):
    """Pairs of geometries at configurations, with lower bounds of their distances.

    Attributes:
        poses: Different placements of the moving geometries at n configurations (n, p, 4, 4).
        states: Configuration of each pair (k,).
        firsts, seconds: Indices of the geometries of each pair (k,).
        bounds: Lower bounds [m] (k,).
    """

    poses: Floats
    states: Indices
    firsts: Indices
    seconds: Indices
    bounds: Floats

    def after(self, row: int) -> PlacedPairs:
        """Return the pairs after a row, with the same bounds."""
        left = slice(row + 1, None)
        return PlacedPairs(self.poses, self.states[left], self.firsts[left], self.seconds[left], self.bounds[left])


@compiled
def pose_of(shapes: Shapes, geometry: int, poses: Floats) -> Floats:
    """Return the pose (4, 4) of a geometry at the different placements (p, 4, 4) of the moving ones."""
    found: Floats = poses[shapes.rows[geometry]] if geometry < shapes.rows.shape[0] else shapes.fixed[geometry]
    return found


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
def support(shapes: Shapes, geometry: int, x: float, y: float, z: float, room: Floats) -> float:
    """Return the extent of a geometry along a unit vector in its own frame [m]. room: as of `farthest_extent`."""
    first, last = shapes.spans[geometry, 0], shapes.spans[geometry, 1]
    across = math.sqrt(x * x + y * y)
    extent: float = farthest_extent(shapes.points, first, last, x, y, z, across, room) + shapes.radii[geometry]
    return extent


@compiled
def describe_plane(shapes: Shapes, normal: Floats, poses: Floats, plane: Plane, room: Floats) -> None:
    """Compute the normals of a plane in the frames of its geometries, and their extents towards it."""
    i, j = int(plane[0]), int(plane[1])
    pose, other = pose_of(shapes, i, poses), pose_of(shapes, j, poses)
    for k in range(3):
        plane[FIRST_NORMAL + k] = pose[0, k] * normal[0] + pose[1, k] * normal[1] + pose[2, k] * normal[2]
        plane[SECOND_NORMAL + k] = other[0, k] * normal[0] + other[1, k] * normal[1] + other[2, k] * normal[2]
    x, y, z = plane[FIRST_NORMAL], plane[FIRST_NORMAL + 1], plane[FIRST_NORMAL + 2]
    plane[EXTENTS] = support(shapes, i, -x, -y, -z, room)
    x, y, z = plane[SECOND_NORMAL], plane[SECOND_NORMAL + 1], plane[SECOND_NORMAL + 2]
    plane[EXTENTS + 1] = support(shapes, j, x, y, z, room)


@compiled
def gap_along(
    shapes: Shapes, own: Floats, sign: float, extent: float, at: Floats, geometry: int, other: Floats, room: Floats
) -> float:
    """Return the gap of two geometries at poses `at` and `other` (4, 4) along a vector.

    own: unit vector (3,) in the frame of the first one, pointing at it if multiplied by `sign`. extent: of the first
    one against it [m]. geometry: the other one.
    """
    x = sign * (at[0, 0] * own[0] + at[0, 1] * own[1] + at[0, 2] * own[2])
    y = sign * (at[1, 0] * own[0] + at[1, 1] * own[1] + at[1, 2] * own[2])
    z = sign * (at[2, 0] * own[0] + at[2, 1] * own[1] + at[2, 2] * own[2])
    apart = x * (at[0, 3] - other[0, 3]) + y * (at[1, 3] - other[1, 3]) + z * (at[2, 3] - other[2, 3])
    turned_x = other[0, 0] * x + other[1, 0] * y + other[2, 0] * z
    turned_y = other[0, 1] * x + other[1, 1] * y + other[2, 1] * z
    turned_z = other[0, 2] * x + other[1, 2] * y + other[2, 2] * z
    gap: float = apart - extent - support(shapes, geometry, turned_x, turned_y, turned_z, room)
    return gap


@compiled
def raise_bounds_of(shapes: Shapes, plane: Plane, pairs: PlacedPairs, limit: float, room: Floats) -> None:
    """Raise bounds that are not beyond the limit by one plane, which moves with one of its geometries, and then, if the
    bound is not beyond the limit yet, with the other one."""
    i, j = int(plane[0]), int(plane[1])
    spans, bounds = shapes.spans, pairs.bounds
    first_normal, second_normal = plane[FIRST_NORMAL:SECOND_NORMAL], plane[SECOND_NORMAL:EXTENTS]
    # Most of the time goes into the support function of the geometry that the plane does not move with.
    with_first = spans[j, 1] - spans[j, 0] <= spans[i, 1] - spans[i, 0]
    for row in range(bounds.shape[0]):
        if pairs.firsts[row] == i and pairs.seconds[row] == j and bounds[row] <= limit:
            poses = pairs.poses[pairs.states[row]]
            pose, other = pose_of(shapes, i, poses), pose_of(shapes, j, poses)
            for turn in range(2):
                if with_first == (turn == 0):
                    gap = gap_along(shapes, first_normal, 1.0, plane[EXTENTS], pose, j, other, room)
                else:
                    gap = gap_along(shapes, second_normal, -1.0, plane[EXTENTS + 1], other, i, pose, room)
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
    poses: Floats,
    states: Indices,
    firsts: Indices,
    seconds: Indices,
    bounds: Floats,
    planes: Floats,
    limit: float,
) -> None:
    """Compute `SeparatingPlanes.raise_bounds`. Arguments are those of `Shapes` and of `PlacedPairs`: tuples would take
    several microseconds."""
    shapes = borrowed(Shapes(points, spans, radii, fixed, rows))
    pairs = borrowed(PlacedPairs(poses, states, firsts, seconds, bounds))
    planes = borrowed(planes)
    extents = room_for_extents(shapes.spans)
    room = borrowed(extents)
    for k in range(planes.shape[0] - 1, -1, -1):  # the last ones are of the closest geometries
        raise_bounds_of(shapes, planes[k], pairs, limit, room)
    keep(extents)


@compiled
def exclude(
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
    row: int,
    normal: Floats,
    plane: Plane,
    limit: float,
) -> None:
    """Compute `SeparatingPlanes.exclude`, with arguments as of `raise_bounds`."""
    shapes, pairs = Shapes(points, spans, radii, fixed, rows), PlacedPairs(poses, states, firsts, seconds, bounds)
    pairs.bounds[row], room = math.inf, room_for_extents(shapes.spans)
    plane[0], plane[1] = pairs.firsts[row], pairs.seconds[row]
    describe_plane(shapes, normal, pairs.poses[pairs.states[row]], plane, room)
    raise_bounds_of(shapes, plane, pairs, limit, room)
