"""Shapes as geometries of coal, built from numbers and mesh files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import coal
import numpy as np
from numpy.typing import NDArray

from .urdf import Shape

Floats = NDArray[np.float64]
Pieces = Mapping[tuple[str, tuple[float, ...]], list[Floats]]


def geometries(shape: Shape, pieces: Pieces) -> list[Any]:
    """The geometries of coal that a shape becomes; several for a mesh that is decomposed, whose `pieces` are given by
    path and scale."""
    if shape.kind == "mesh" and shape.use == "decomposition":
        return [hull(points) for points in pieces[shape.path, shape.numbers]]
    if shape.kind in ("mesh", "triangles"):
        mesh = _loaded(shape.path, shape.numbers) if shape.kind == "mesh" else surface(shape.vertices, shape.faces)
        return [hull(np.array(mesh.vertices())) if shape.use == "hull" else mesh]
    makers = {
        "box": coal.Box,
        "sphere": coal.Sphere,
        "cylinder": coal.Cylinder,
        "capsule": coal.Capsule,
        "cone": coal.Cone,
    }
    return [_measured(makers[shape.kind](*shape.numbers))]


def is_surface(geometry: Any) -> bool:
    """Whether a geometry is a surface of triangles without volume."""
    return isinstance(geometry, coal.BVHModelBase)


def hull(points: Floats | None) -> Any:
    """Convex hull of points (n, 3), by coal's own Qhull."""
    corners = coal.StdVec_Vec3s()
    corners.extend([np.array(point) for point in np.asarray(points)])
    return _measured(coal.Convex.convexHull(corners, True, "Qt"))


def surface(vertices: Floats | None, faces: NDArray[np.int64] | None) -> Any:
    """Triangles as they are; vertices (n, 3), faces (m, 3)."""
    corners, triangles = np.asarray(vertices, dtype=np.float64), np.asarray(faces, dtype=np.int64)
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(triangles), len(corners))
    model.addVertices(corners)
    model.addTriangles(triangles)
    model.endModel()
    return _measured(model)


@lru_cache(maxsize=256)
def _loaded(path: str, scale: tuple[float, ...]) -> Any:
    """A mesh file by coal's loader (assimp) [m]. Negative scales mirror, which changes no distance."""
    return _measured(coal.MeshLoader(coal.BV_OBBRSS).load(path, np.array(scale)))


def _measured(geometry: Any) -> Any:
    geometry.computeLocalAABB()
    return geometry
