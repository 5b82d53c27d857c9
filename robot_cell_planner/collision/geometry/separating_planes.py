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
from .collision_geometry import CollisionGeometry, ConvexGeometry, Surface, local_bounds
from .plane_kernels import (
    DISC,
    FIRST_NORMAL,
    PLANE,
    PlacedPairs,
    Shapes,
    describe_plane,
    exclude,
    raise_bounds,
    room_for_extents,
)

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Plane = NDArray[np.float64]
MAX_SURFACE_POINTS = 64  # a surface of more points is bounded by its box


class SeparatingPlanes:
    """Support functions of collision geometries.

    Args:
        poses: Placements (n, 4, 4), used for geometries that do not move.
        rows: Row of each moving geometry (m,) among their p different placements; these geometries come first.
    """

    def __init__(self, geometries: Sequence[CollisionGeometry], poses: Floats, rows: Indices) -> None:
        parts = [_support_points(geometry) for geometry in geometries]
        ends = np.cumsum([0, *(len(part) for part in parts)])
        self.shapes = Shapes(
            points=np.ascontiguousarray(np.concatenate([np.empty((0, 4)), *parts]).T),
            spans=np.column_stack((ends[:-1], ends[1:])).astype(np.intp),
            radii=np.array([_rounding_radius(geometry) for geometry in geometries], dtype=np.float64),
            fixed=np.ascontiguousarray(poses),
            rows=rows,
        )
        self.is_convex = np.array([not isinstance(geometry, Surface) for geometry in geometries], dtype=np.bool_)

    def moved(self, poses: Floats) -> SeparatingPlanes:
        """Return the same support functions with other placements (n, 4, 4) of geometries that do not move."""
        found = copy.copy(self)
        found.shapes = self.shapes._replace(fixed=np.ascontiguousarray(poses))
        return found

    def plane(self, pair: tuple[int, int], normal: Floats, poses: Floats) -> Plane:
        """Return a plane between two geometries at the different placements (p, 4, 4) of the moving ones.

        normal: unit vector (3,) in the world frame from the second geometry of the pair to the first.
        """
        plane = np.empty(PLANE)
        plane[:FIRST_NORMAL] = pair
        describe_plane(self.shapes, normal, poses, plane, room_for_extents(self.shapes.spans))
        return plane

    def raise_bounds(self, planes: Floats, pairs: PlacedPairs, limit: float = math.inf) -> None:
        """Raise lower bounds of the distances of the planes' geometries at other placements, in place.

        Args:
            planes: Rows from `plane` (p, 10).
            pairs: Pairs with their bounds.
            limit: Bounds above it are not raised [m].
        """
        raise_bounds(*self.shapes, *pairs, planes, limit)

    def exclude(self, row: int, normal: Floats, plane: Plane, pairs: PlacedPairs, limit: float = math.inf) -> None:
        """Set the bound of a pair to infinity, and raise others by its plane, in place.

        Args:
            row: Place of the pair among the others.
            normal: Unit vector (3,) as for `plane`.
            plane: Becomes that of the pair (10,).
            pairs, limit: As for `raise_bounds`.
        """
        exclude(*self.shapes, *pairs, row, normal, plane, limit)


class KnownPlanes:
    """The latest plane of each of some pairs of geometries, for distances that are needed at many placements."""

    def __init__(self, planes: SeparatingPlanes) -> None:
        self._planes = planes
        self._found: dict[tuple[int, int], Plane] = {}

    def add(self, pair: tuple[int, int], normal: Floats, poses: Floats) -> None:
        """Add the plane of a pair; arguments are those of `SeparatingPlanes.plane`."""
        self._found[pair] = self._planes.plane(pair, normal, poses)

    def raise_bounds(self, of: Iterable[tuple[int, int]], pairs: PlacedPairs) -> None:
        """Raise lower bounds by the planes of some pairs, in place, as `SeparatingPlanes.raise_bounds`."""
        known = [self._found[pair] for pair in of if pair in self._found]
        if known:
            self._planes.raise_bounds(np.array(known), pairs)


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
