"""Collision shapes for PyBullet, which groups shapes and adds a margin to convex hulls."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pybullet
from numpy.typing import NDArray

from ...collision.geometry.collision_geometry import CollisionGeometry, ConvexGeometry, Surface
from ...errors import GeometryError
from ...io.mesh.cache import Arrays, cached_or_computed
from ...model.geometry import Box, Capsule, Cone, Cylinder, Mesh, Sphere
from ...model.pose import normalised
from ...system.physics import beyond_bullet
from ..multibody.solids import PlacedGeometry, SolidGroup, cone_corners, is_points

KIND = "shrunk"  # kind of entries of the mesh cache
TOO_LARGE = "Use a mesh with fewer faces, or its hull (use: hull)."
MARGIN = 1e-3  # [m] added by PyBullet around every hull

Points = NDArray[np.float64]


def collision_shape(client: int, group: SolidGroup) -> int:
    """Return the number of a new PyBullet collision shape; -1 for an empty group.

    Raises:
        GeometryError: The engine refuses the shape, because it has too many points.
    """
    if not group:
        return -1
    for entry in group:
        if isinstance(entry.solid, Surface):
            _check_size(entry.solid)
    try:
        if is_points(group[0].solid):
            return int(pybullet.createCollisionShape(**_points_arguments(group[0]), physicsClientId=client))
        return int(pybullet.createCollisionShapeArray(**_array_arguments(group), physicsClientId=client))
    except pybullet.error as error:
        kinds = ", ".join(type(entry.solid).__name__ for entry in group)
        text = f"the physics engine refuses {kinds}: {str(error).rstrip('.')}"
        raise GeometryError(text, stage="simulation") from error


def _check_size(surface: Surface) -> None:
    if excess := beyond_bullet(len(surface.mesh.vertices), len(surface.mesh.faces)):
        name = surface.source.uri if isinstance(surface.source, Mesh) else "a mesh of triangles"
        raise GeometryError(f"{name} {excess}", stage="simulation", subjects=(name,), remedy=TOO_LARGE)


def _array_arguments(group: SolidGroup) -> dict[str, Any]:
    rows = [_primitive(entry.solid) for entry in group]
    return {
        "shapeTypes": [row[0] for row in rows],
        "radii": [row[1] for row in rows],
        "lengths": [row[2] for row in rows],
        "halfExtents": [row[3] for row in rows],
        "collisionFramePositions": [list(entry.pose.position) for entry in group],
        "collisionFrameOrientations": [list(normalised(entry.pose.quaternion)) for entry in group],
    }


def _primitive(solid: CollisionGeometry) -> tuple[int, float, float, list[float]]:
    """Return kind, radius, length and half extents; values that do not apply to the kind are 1."""
    if isinstance(solid, Box):
        return pybullet.GEOM_BOX, 1.0, 1.0, [0.5 * value for value in solid.size]
    if isinstance(solid, Sphere):
        return pybullet.GEOM_SPHERE, solid.radius, 1.0, [1.0] * 3
    if isinstance(solid, (Cylinder, Capsule)):
        kind = pybullet.GEOM_CYLINDER if isinstance(solid, Cylinder) else pybullet.GEOM_CAPSULE
        return kind, solid.radius, solid.length, [1.0] * 3
    raise TypeError(f"{type(solid).__name__} is made of points")


def _points_arguments(entry: PlacedGeometry) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "shapeType": pybullet.GEOM_MESH,
        "collisionFramePosition": list(entry.pose.position),
        "collisionFrameOrientation": list(normalised(entry.pose.quaternion)),
    }
    solid = entry.solid
    if isinstance(solid, Surface):
        return arguments | {"vertices": solid.mesh.vertices.tolist(), "indices": solid.mesh.faces.ravel().tolist()}
    if isinstance(solid, ConvexGeometry):
        return arguments | {"vertices": cached_shrunk(solid.mesh.vertices).tolist()}
    if isinstance(solid, Cone):
        return arguments | {"vertices": shrunk(np.array(list(cone_corners(solid))), MARGIN).tolist()}
    raise TypeError(f"{type(solid).__name__} is not made of points")


def cached_shrunk(points: Points) -> Points:
    """Return `shrunk` by PyBullet's margin, which takes 10 ms for a hull, from the cache of meshes."""
    digest = hashlib.sha256(MARGIN.hex().encode() + points.astype("<f8").tobytes()).hexdigest()

    def compute() -> tuple[Points, Arrays]:
        found = shrunk(points, MARGIN)
        return found, (found, np.empty((0, 3), dtype=np.int32))

    return cached_or_computed(digest, KIND, lambda arrays: arrays[0], compute)


def shrunk(points: Points, margin: float) -> Points:
    """Return the corners of the convex hull of points with every face moved inwards by a margin [m].

    If the hull is too thin for that, the points are returned.
    """
    from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError  # slow import, needed for hulls only

    try:
        outer = ConvexHull(points)
    except QhullError:
        return points
    planes = np.unique(np.round(outer.equations, 12), axis=0)
    planes[:, 3] += margin
    inside = _centroid(points[outer.simplices], points.mean(axis=0))
    if float((planes[:, :3] @ inside + planes[:, 3]).max()) > -margin:
        return points
    corners = HalfspaceIntersection(planes, inside).intersections
    return np.unique(np.round(corners, 9), axis=0)


def _centroid(triangles: Points, apex: Points) -> Points:
    """Return the centre of volume of a convex body; `triangles` is (n, 3, 3), `apex` a point inside."""
    edges = triangles - apex
    volumes = np.abs(np.linalg.det(edges))
    centre: Points = apex + volumes @ edges.sum(axis=1) / (4.0 * volumes.sum())
    return centre
