"""Lower bounds of distances from separating planes, in compiled code.

A plane between two geometries at one placement bounds their distance at others: turned with one of the geometries, it
separates their convex hulls by the difference of two support functions. Near the placement of the closest points, the
bound is below the distance by the square of the motion only.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...model.geometry import Box, Capsule, Cone, Sphere
from ...system.borrowed_arrays import borrowed
from ...system.compiled import compiled
from .collision_geometry import CollisionGeometry, ConvexGeometry, Surface, local_bounds

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Plane = NDArray[np.float64]
ROUNDING = 1e-9  # [m], subtracted from bounds
MAX_SURFACE_POINTS = 64  # a surface of more points is bounded by its box
# Parts of a plane: both indices, the normal in both frames, and the extents of both geometries towards it [m].
FIRST_NORMAL, SECOND_NORMAL, EXTENTS, PLANE = 2, 5, 8, 10
DISC = 3  # column of a support point: radius of the disc around it, normal to the z axis


class SeparatingPlanes:
    """Support functions of collision geometries.

    Args:
        poses: Placements (n, 4, 4), used for geometries that do not move.
        rows: Row of each moving geometry (m,) among their p different placements; these geometries come first.
    """

    def __init__(self, geometries: Sequence[CollisionGeometry], poses: Floats, rows: Indices) -> None:
        parts = [_support_points(geometry) for geometry in geometries]
        ends = np.cumsum([0, *(len(part) for part in parts)])
        self._points: Floats = np.ascontiguousarray(np.concatenate([np.empty((0, 4)), *parts]))
        self._spans: Indices = np.column_stack((ends[:-1], ends[1:])).astype(np.intp)
        self._radii = np.array([_rounding_radius(geometry) for geometry in geometries], dtype=np.float64)
        self._fixed: Floats = np.ascontiguousarray(poses)
        self._rows = rows

    def moved(self, poses: Floats) -> SeparatingPlanes:
        """Return the same support functions with other placements (n, 4, 4) of geometries that do not move."""
        found = copy.copy(self)
        found._fixed = np.ascontiguousarray(poses)
        return found

    def plane(self, pair: tuple[int, int], normal: Floats, poses: Floats) -> Plane:
        """Return a plane between two geometries at the different placements (p, 4, 4) of the moving ones.

        normal: unit vector (3,) in the world frame from the second geometry of the pair to the first.
        """
        plane = np.empty(PLANE)
        plane[:FIRST_NORMAL] = pair
        describe_plane(self._points, self._spans, self._radii, self._fixed, self._rows, normal, poses, plane)
        return plane

    def raise_bounds(
        self, planes: Floats, poses: Floats, states: Indices, first: Indices, second: Indices, bounds: Floats
    ) -> None:
        """Raise lower bounds of the distances of the planes' geometries at other placements, in place.

        Args:
            planes: Rows from `plane` (p, 10).
            poses: Different placements of the moving geometries at n configurations (n, p, 4, 4).
            states: Configuration of each bound (k,).
            first, second: Indices of the geometries of each bound (k,).
            bounds: Lower bounds [m] (k,).
        """
        shapes = (self._points, self._spans, self._radii, self._fixed, self._rows)
        raise_bounds(*shapes, planes, poses, states, first, second, bounds)

    def exclude(
        self,
        row: int,
        normal: Floats,
        plane: Plane,
        poses: Floats,
        states: Indices,
        first: Indices,
        second: Indices,
        bounds: Floats,
    ) -> int:
        """Set a bound to infinity, raise others by the plane of its pair, in place, and return the row of the smallest.

        Args:
            row: Row of the bound.
            normal: Unit vector (3,) as for `plane`.
            plane: Becomes that of the pair (10,).
            poses, states, first, second, bounds: As for `raise_bounds`.
        """
        shapes = (self._points, self._spans, self._radii, self._fixed, self._rows)
        smallest: int = exclude(*shapes, row, normal, plane, poses, states, first, second, bounds)
        return smallest


class KnownPlanes:
    """The latest plane of each of some pairs of geometries, for distances that are needed at many placements."""

    def __init__(self, planes: SeparatingPlanes) -> None:
        self._planes = planes
        self._found: dict[tuple[int, int], Plane] = {}

    def add(self, pair: tuple[int, int], normal: Floats, poses: Floats) -> None:
        """Add the plane of a pair; arguments are those of `SeparatingPlanes.plane`."""
        self._found[pair] = self._planes.plane(pair, normal, poses)

    def raise_bounds(
        self,
        pairs: Iterable[tuple[int, int]],
        poses: Floats,
        states: Indices,
        first: Indices,
        second: Indices,
        bounds: Floats,
    ) -> None:
        """Raise lower bounds of distances of these pairs, in place, as `SeparatingPlanes.raise_bounds`."""
        known = [self._found[pair] for pair in pairs if pair in self._found]
        if known:
            self._planes.raise_bounds(np.array(known), poses, states, first, second, bounds)


@lru_cache(maxsize=4096)
def _support_points(geometry: CollisionGeometry) -> Floats:
    """Return points (n, 4) with the radius of their discs, whose convex hull, rounded, contains the geometry."""
    if isinstance(geometry, Sphere):
        points, discs = np.zeros((1, 3)), 0.0
    elif isinstance(geometry, ConvexGeometry) or (
        isinstance(geometry, Surface) and len(geometry.mesh.vertices) <= MAX_SURFACE_POINTS
    ):
        points, discs = geometry.mesh.vertices, 0.0
    elif isinstance(geometry, Box | Surface):
        corners = np.stack(local_bounds(geometry))
        points = np.array([[corners[i, 0], corners[j, 1], corners[k, 2]] for i, j, k in np.ndindex(2, 2, 2)])
        discs = 0.0
    else:
        half = 0.5 * geometry.length
        points = np.array([[0.0, 0.0, -half], [0.0, 0.0, half]])
        discs = 0.0 if isinstance(geometry, Capsule) else geometry.radius
    rows = np.column_stack((points, np.full(len(points), discs)))
    if isinstance(geometry, Cone):
        rows[1, DISC] = 0.0
    return np.asarray(rows)


def _rounding_radius(geometry: CollisionGeometry) -> float:
    return geometry.radius if isinstance(geometry, Sphere | Capsule) else 0.0


@compiled
def support(points: Floats, first: int, last: int, radius: float, x: float, y: float, z: float) -> float:
    """Return the extent of a geometry along a unit vector in its own frame [m]; points: (n, 4)."""
    across = math.sqrt(x * x + y * y)
    farthest = -math.inf
    for k in range(first, last):
        farthest = max(farthest, points[k, 0] * x + points[k, 1] * y + points[k, 2] * z + points[k, 3] * across)
    return farthest + radius


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
) -> None:
    """Compute the normals of a plane in the frames of its geometries, and their extents towards it."""
    i, j = int(plane[0]), int(plane[1])
    pose = poses[rows[i]] if i < rows.shape[0] else fixed[i]
    other = poses[rows[j]] if j < rows.shape[0] else fixed[j]
    for k in range(3):
        plane[FIRST_NORMAL + k] = pose[0, k] * normal[0] + pose[1, k] * normal[1] + pose[2, k] * normal[2]
        plane[SECOND_NORMAL + k] = other[0, k] * normal[0] + other[1, k] * normal[1] + other[2, k] * normal[2]
    x, y, z = plane[FIRST_NORMAL], plane[FIRST_NORMAL + 1], plane[FIRST_NORMAL + 2]
    plane[EXTENTS] = support(points, spans[i, 0], spans[i, 1], radii[i], -x, -y, -z)
    x, y, z = plane[SECOND_NORMAL], plane[SECOND_NORMAL + 1], plane[SECOND_NORMAL + 2]
    plane[EXTENTS + 1] = support(points, spans[j, 0], spans[j, 1], radii[j], x, y, z)


@compiled
def gap_along(
    points: Floats, span: Indices, radius: float, own: Floats, at: Floats, other: Floats, extent: float
) -> float:
    """Return the gap of two geometries at poses `at` and `other` (4, 4) along a vector.

    own: unit vector (3,) in the frame of the first one, pointing at it. extent: of the first one against it [m]. points
    (n, 4), span (2,), radius: of the other one.
    """
    x = at[0, 0] * own[0] + at[0, 1] * own[1] + at[0, 2] * own[2]
    y = at[1, 0] * own[0] + at[1, 1] * own[1] + at[1, 2] * own[2]
    z = at[2, 0] * own[0] + at[2, 1] * own[1] + at[2, 2] * own[2]
    apart = x * (at[0, 3] - other[0, 3]) + y * (at[1, 3] - other[1, 3]) + z * (at[2, 3] - other[2, 3])
    turned_x = other[0, 0] * x + other[1, 0] * y + other[2, 0] * z
    turned_y = other[0, 1] * x + other[1, 1] * y + other[2, 1] * z
    turned_z = other[0, 2] * x + other[1, 2] * y + other[2, 2] * z
    gap: float = apart - extent - support(points, span[0], span[1], radius, turned_x, turned_y, turned_z)
    return gap


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
) -> None:
    """Compute `SeparatingPlanes.raise_bounds`: a plane moves with the first geometry, then with the second."""
    points, spans, fixed, planes, poses = borrowed((points, spans, fixed, planes, poses))
    moving = rows.shape[0]
    for k in range(planes.shape[0]):
        plane = planes[k]
        i, j = int(plane[0]), int(plane[1])
        own, against = plane[FIRST_NORMAL:SECOND_NORMAL], -plane[SECOND_NORMAL:EXTENTS]
        for row in range(bounds.shape[0]):
            if firsts[row] == i and seconds[row] == j:
                pose = poses[states[row], rows[i]] if i < moving else fixed[i]
                other = poses[states[row], rows[j]] if j < moving else fixed[j]
                gap = gap_along(points, spans[j], radii[j], own, pose, other, plane[EXTENTS])
                gap = max(gap, gap_along(points, spans[i], radii[i], against, other, pose, plane[EXTENTS + 1]))
                bounds[row] = max(bounds[row], gap - ROUNDING)


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
) -> int:
    """Compute `SeparatingPlanes.exclude`."""
    plane[0], plane[1] = firsts[row], seconds[row]
    describe_plane(points, spans, radii, fixed, rows, normal, poses[states[row]], plane)
    raise_bounds(points, spans, radii, fixed, rows, plane.reshape(1, PLANE), poses, states, firsts, seconds, bounds)
    bounds[row] = math.inf
    return int(bounds.argmin())
