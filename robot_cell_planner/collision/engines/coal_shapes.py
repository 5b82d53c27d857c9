"""Conversion of collision geometries to coal geometries."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import coal
import numpy as np

from ...io.mesh.loading import MeshData
from ...model.geometry import Box, Capsule, Cone, Cylinder, Sphere
from ..geometry.collision_geometry import CollisionGeometry, Surface


def coal_geometry(geometry: CollisionGeometry) -> Any:
    """Return a new coal geometry, so that its address identifies the collision geometry.

    Its local bounding box is computed.
    """
    shape = _build(geometry)
    shape.computeLocalAABB()
    return shape


def _build(geometry: CollisionGeometry) -> Any:
    if isinstance(geometry, Box):
        return coal.Box(*geometry.size)
    if isinstance(geometry, Sphere):
        return coal.Sphere(geometry.radius)
    if isinstance(geometry, Cylinder):
        return coal.Cylinder(geometry.radius, geometry.length)
    if isinstance(geometry, Capsule):
        return coal.Capsule(geometry.radius, geometry.length)
    if isinstance(geometry, Cone):
        return coal.Cone(geometry.radius, geometry.length)
    if isinstance(geometry, Surface):
        return _surface(geometry).clone()
    return _convex(geometry.mesh).clone()


@lru_cache(maxsize=1024)
def _convex(mesh: MeshData) -> Any:
    points = coal.StdVec_Vec3s()
    points.extend(list(mesh.vertices))
    triangles = coal.StdVec_Triangle()
    triangles.extend([coal.Triangle(*face) for face in mesh.faces.tolist()])
    return coal.Convex(points, triangles)


@lru_cache(maxsize=64)
def _surface(geometry: Surface) -> Any:
    mesh = geometry.mesh
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
