"""Bounding boxes of shapes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...model.geometry import Box, Capsule, Cone, Cylinder, Geometry, Mesh, Sphere, Triangles
from .loading import load_mesh

Corners = NDArray[np.float64]
Primitive = Box | Sphere | Cylinder | Capsule | Cone


def bounding_box(geometry: Geometry) -> tuple[Corners, Corners]:
    """Return the lower and upper corner (3,) of the bounding box of a geometry in its own frame [m].

    Raises:
        GeometryError: A mesh cannot be read.
    """
    if isinstance(geometry, Mesh | Triangles):
        vertices = load_mesh(geometry).vertices
        return vertices.min(axis=0), vertices.max(axis=0)
    return primitive_bounds(geometry)


def primitive_bounds(geometry: Primitive) -> tuple[Corners, Corners]:
    """Return the lower and upper corner (3,) of the bounding box of a primitive in its own frame [m]."""
    if isinstance(geometry, Box):
        half = 0.5 * np.array(geometry.size)
    elif isinstance(geometry, Sphere):
        half = np.full(3, geometry.radius)
    else:
        end = 0.5 * geometry.length + (geometry.radius if isinstance(geometry, Capsule) else 0.0)
        half = np.array((geometry.radius, geometry.radius, end))
    return -half, half
