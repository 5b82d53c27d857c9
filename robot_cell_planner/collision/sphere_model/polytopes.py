"""Convex polytopes around collision geometries, divided into simplices whose union contains the geometry."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.geometry import Box, Cone, Cylinder
from ..geometry.collision_geometry import CollisionGeometry, ConvexGeometry, Surface
from . import approximation_kernels as kernels

Floats = NDArray[np.float64]
SIDES = 24  # sides of the prism around a cylinder and of the pyramid around a cone
FLAT = 1e-12  # [m2], twice the area below which a triangle counts as degenerate


@dataclass(frozen=True, eq=False)
class Polytope:
    """Polytope that encloses a geometry and is approximated in its place.

    Attributes:
        simplices: Corners (k, 4, 3) [m] of tetrahedra whose union is the polytope; for a surface its triangles with the
            last corner repeated.
        planes: Outward unit normals and offsets (m, 4), n . x <= offset inside; none for a surface.
        corners: (v, 3) [m].
    """

    simplices: Floats
    planes: Floats
    corners: Floats

    @property
    def is_surface(self) -> bool:
        """Whether it is a triangle surface without interior."""
        return not len(self.planes)


def polytope_around(geometry: CollisionGeometry) -> Polytope:
    """Return the enclosing polytope of a box, cylinder, cone, convex geometry or surface.

    Cylinders and cones are enclosed by a prism or pyramid of 24 sides, which exceeds them by at most 0.9 % of the
    radius.
    """
    if isinstance(geometry, Surface):
        corners = geometry.mesh.vertices[geometry.mesh.faces]
        simplices = np.concatenate((corners, corners[:, 2:]), axis=1)
        return Polytope(np.ascontiguousarray(simplices), np.empty((0, 4)), geometry.mesh.vertices)
    if isinstance(geometry, ConvexGeometry):
        return _fan(geometry.mesh.vertices, geometry.mesh.faces)
    if isinstance(geometry, Box):
        half = 0.5 * np.array(geometry.size)
        signs = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
        return _hull_of(signs * half)
    if isinstance(geometry, Cylinder):
        ends = (_ring(geometry.radius, -0.5 * geometry.length), _ring(geometry.radius, 0.5 * geometry.length))
        return _hull_of(np.concatenate(ends))
    if isinstance(geometry, Cone):
        return _hull_of(
            np.concatenate((_ring(geometry.radius, -0.5 * geometry.length), [[0.0, 0.0, 0.5 * geometry.length]]))
        )
    raise TypeError(f"{type(geometry).__name__} has no polytope of its own")


def _ring(radius: float, height: float) -> Floats:
    """Return the corners (SIDES, 3) of the polygon around a circle."""
    angles = 2.0 * math.pi * np.arange(SIDES) / SIDES
    reach = radius / math.cos(math.pi / SIDES)
    return np.column_stack((reach * np.cos(angles), reach * np.sin(angles), np.full(SIDES, height)))


def _hull_of(points: Floats) -> Polytope:
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    return _fan(points, hull.simplices.astype(np.int32))


def _fan(vertices: Floats, faces: NDArray[np.int32]) -> Polytope:
    """Return the tetrahedra between the centre of a convex mesh and its faces, independent of face orientation."""
    middle = vertices.mean(axis=0)
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sizes = np.linalg.norm(normals, axis=1)
    # A degenerate face still gives a tetrahedron, without volume; its plane is that of other faces.
    simplices = np.concatenate((corners, np.broadcast_to(middle, (len(corners), 1, 3))), axis=1)
    geometry = sizes > FLAT
    normals = normals[geometry] / sizes[geometry, None]
    offsets = np.einsum("ij,ij->i", normals, corners[geometry, 0])
    inwards = offsets < normals @ middle
    normals[inwards] *= -1.0
    # Compute the offset over all vertices, so that none is outside despite rounding of the normal.
    planes = np.column_stack((normals, kernels.offsets_of(normals, np.ascontiguousarray(vertices, dtype=np.float64))))
    return Polytope(np.ascontiguousarray(simplices), _distinct(planes), np.ascontiguousarray(vertices))


def _distinct(planes: Floats) -> Floats:
    """Return the planes without duplicates, compared to nine digits."""
    _, first = np.unique(np.round(planes, 9), axis=0, return_index=True)
    return np.ascontiguousarray(planes[np.sort(first)])
