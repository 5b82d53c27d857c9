"""Solids as geometries of coal."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import coal
import numpy as np

from ..cell.geometry import Box, Capsule, Cone, Cylinder, Sphere
from ..cell.meshes import MeshData
from .solids import Solid, Surface


def coal_geometry(solid: Solid) -> Any:
    """A geometry that belongs to the caller alone, so that its address tells which solid it is.

    Its box in its own frame is computed.
    """
    geometry = _build(solid).clone() if isinstance(solid, Surface) else _build(solid)
    geometry.computeLocalAABB()
    return geometry


def _build(solid: Solid) -> Any:
    if isinstance(solid, Box):
        return coal.Box(*solid.size)
    if isinstance(solid, Sphere):
        return coal.Sphere(solid.radius)
    if isinstance(solid, Cylinder):
        return coal.Cylinder(solid.radius, solid.length)
    if isinstance(solid, Capsule):
        return coal.Capsule(solid.radius, solid.length)
    if isinstance(solid, Cone):
        return coal.Cone(solid.radius, solid.length)
    if isinstance(solid, Surface):
        return _surface(solid)
    return coal.Convex(*_convex_parts(solid.mesh))


@lru_cache(maxsize=1024)
def _convex_parts(mesh: MeshData) -> tuple[Any, Any]:
    points = coal.StdVec_Vec3s()
    points.extend(list(mesh.vertices))
    triangles = coal.StdVec_Triangle()
    triangles.extend([coal.Triangle(*face) for face in mesh.faces.tolist()])
    return points, triangles


@lru_cache(maxsize=64)
def _surface(solid: Surface) -> Any:
    mesh = solid.mesh
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(mesh.faces), len(mesh.vertices))
    model.addVertices(np.array(mesh.vertices))
    model.addTriangles(mesh.faces.astype(np.int64))
    model.endModel()
    return model
