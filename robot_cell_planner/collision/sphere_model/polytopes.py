"""Convex polytopes around collision geometries, divided into simplices whose union contains the geometry."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.geometry import Box, Cone, Cylinder
from ..geometry.collision_geometry import CollisionGeometry, ConvexGeometry, Surface
from .support import offsets_of

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
        x, y, z = (0.5 * size for size in geometry.size)
        corners = np.array(((-x, -y), (x, -y), (x, y), (-x, y)))
        return _prism(corners, z)
    if isinstance(geometry, Cylinder):
        return _prism(_ring(geometry.radius), 0.5 * geometry.length)
    if isinstance(geometry, Cone):
        return _pyramid(_ring(geometry.radius), 0.5 * geometry.length)
    raise TypeError(f"{type(geometry).__name__} has no polytope of its own")


def _ring(radius: float) -> Floats:
    """Return the corners (SIDES, 2) of the polygon around a circle."""
    angles = 2.0 * math.pi * np.arange(SIDES) / SIDES
    reach = radius / math.cos(math.pi / SIDES)
    return np.column_stack((reach * np.cos(angles), reach * np.sin(angles)))


def _prism(polygon: Floats, half: float) -> Polytope:
    """Return the prism of a convex polygon (n, 2) between two heights, -half and half."""
    count = len(polygon)
    here, after = np.arange(count), np.roll(np.arange(count), -1)
    vertices = np.concatenate([np.column_stack((polygon, np.full(count, z))) for z in (-half, half)])
    sides = ((here, after, here + count), (after, after + count, here + count))
    caps = _cap(count)
    return _fan(vertices, np.concatenate((*(np.stack(side, axis=1) for side in sides), caps, caps + count)))


def _pyramid(polygon: Floats, half: float) -> Polytope:
    """Return the pyramid of a convex polygon (n, 2) at height -half with its apex at height half."""
    count = len(polygon)
    here, after = np.arange(count), np.roll(np.arange(count), -1)
    vertices = np.concatenate((np.column_stack((polygon, np.full(count, -half))), [[0.0, 0.0, half]]))
    sides = np.stack((here, after, np.full(count, count)), axis=1)
    return _fan(vertices, np.concatenate((sides, _cap(count))))


def _cap(count: int) -> NDArray[np.intp]:
    """Return triangles (n - 2, 3) of a convex polygon with corners 0 to n - 1."""
    return np.stack((np.zeros(count - 2, dtype=np.intp), np.arange(1, count - 1), np.arange(2, count)), axis=1)


def _fan(vertices: Floats, faces: NDArray[np.integer[Any]]) -> Polytope:
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
    planes = np.column_stack((normals, offsets_of(normals, np.ascontiguousarray(vertices, dtype=np.float64))))
    return Polytope(np.ascontiguousarray(simplices), _distinct(planes), np.ascontiguousarray(vertices))


def _distinct(planes: Floats) -> Floats:
    """Return the planes without duplicates, compared to nine digits."""
    _, first = np.unique(np.round(planes, 9), axis=0, return_index=True)
    return np.ascontiguousarray(planes[np.sort(first)])
