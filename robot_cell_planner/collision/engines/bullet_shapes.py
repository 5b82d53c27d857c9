"""Conversion of collision geometries to Bullet shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pybullet

from ...errors import NotSupportedError
from ...io.mesh.loading import MeshData
from ...model.geometry import Box, Capsule, Cone, Cylinder, Sphere
from ...system.physics import beyond_bullet
from ..geometry.collision_geometry import CollisionGeometry, Surface

CONE_SIDES = 96  # sides of the pyramid around a cone, which exceeds it by at most 0.06 % of the radius


def bullet_body(client: int, geometry: CollisionGeometry, numbers: list[float]) -> int:
    """Create a Bullet body of a collision geometry, without margin, at a position and quaternion xyzw (7,).

    The body is created at its final pose, since ten thousand bodies created at one pose would all overlap. A body
    without mass is not moved by the simulation, but it can be placed.

    Raises:
        NotSupportedError: The mesh is too large for PyBullet.
    """
    shape = pybullet.createCollisionShape(physicsClientId=client, **shape_arguments(geometry))
    body = pybullet.createMultiBody(
        0.0, shape, basePosition=numbers[:3], baseOrientation=numbers[3:], physicsClientId=client
    )
    # By default Bullet enlarges hulls and triangles by a millimetre, and rounds the corners of boxes by as much.
    pybullet.changeDynamics(body, -1, collisionMargin=0.0, physicsClientId=client)
    return int(body)


def shape_arguments(geometry: CollisionGeometry) -> dict[str, Any]:
    """Return the arguments of PyBullet's createCollisionShape for a collision geometry.

    Raises:
        NotSupportedError: The mesh is too large for PyBullet.
    """
    if isinstance(geometry, Box):
        return {"shapeType": pybullet.GEOM_BOX, "halfExtents": [0.5 * size for size in geometry.size]}
    if isinstance(geometry, Sphere):
        return {"shapeType": pybullet.GEOM_SPHERE, "radius": geometry.radius}
    if isinstance(geometry, Cylinder):
        return {"shapeType": pybullet.GEOM_CYLINDER, "radius": geometry.radius, "height": geometry.length}
    if isinstance(geometry, Capsule):
        return {"shapeType": pybullet.GEOM_CAPSULE, "radius": geometry.radius, "height": geometry.length}
    if isinstance(geometry, Cone):
        return {"shapeType": pybullet.GEOM_MESH, "vertices": _cone_vertices(geometry)}
    _check_size(geometry.mesh)
    arguments = {"shapeType": pybullet.GEOM_MESH, "vertices": geometry.mesh.vertices.tolist()}
    if isinstance(geometry, Surface):
        arguments["indices"] = geometry.mesh.faces.ravel().tolist()
        arguments["flags"] = pybullet.GEOM_FORCE_CONCAVE_TRIMESH
    return arguments


def _cone_vertices(cone: Cone) -> list[list[float]]:
    """Return the tip of a cone, and the regular polygon around its base: a pyramid within the cone would be free where
    the cone is not."""
    angles = np.linspace(0.0, math.tau, CONE_SIDES, endpoint=False)
    reach = cone.radius / math.cos(math.pi / CONE_SIDES)
    base = [[reach * math.cos(a), reach * math.sin(a), -0.5 * cone.length] for a in angles.tolist()]
    return [[0.0, 0.0, 0.5 * cone.length], *base]


def _check_size(mesh: MeshData) -> None:
    if excess := beyond_bullet(len(mesh.vertices), len(mesh.faces)):
        raise NotSupportedError(f"a mesh {excess}", stage="collision")
