"""Conversion of collision geometries to coal geometries."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import coal
import numpy as np

from ...io.mesh.loading import MeshData
from ...model.geometry import Box, Capsule, Cone, Cylinder, Sphere
from ..geometry.collision_geometry import Solid, Surface


def coal_geometry(solid: Solid) -> Any:
    """Return a new coal geometry, so that its address identifies the collision geometry.

    Its local bounding box is computed.
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


def _settle_boxes() -> None:
    """Make coal's results for boxes identical in every process.

    At the first support point of a box that a process computes, coal decides once whether its boxes are enlarged by a
    factor of 1e-10: they are if the direction has a zero component. The direction used here has none, so they are not.
    """
    turn = coal.Quaternion(0.8, 0.2, 0.3, 0.48).normalized().toRotationMatrix()
    box, other, request = coal.Box(1.0, 1.0, 1.0), coal.Capsule(0.1, 0.3), coal.DistanceRequest()
    request.enable_signed_distance = True
    for x in (2.0, 0.1):  # separated, and overlapping
        pose = coal.Transform3s(turn, np.array((x, 0.2, 0.1)))
        coal.distance(other, coal.Transform3s(), box, pose, request, coal.DistanceResult())


_settle_boxes()
