"""Collision shapes for PyBullet, which groups shapes and adds a margin to convex hulls."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pybullet
from numpy.typing import NDArray

from ..collision.geometry.collision_geometry import CollisionGeometry, ConvexGeometry, Surface, collision_geometries
from ..errors import GeometryError
from ..io.mesh.decomposition import convex_pieces
from ..model.geometry import Box, Capsule, Cone, Cylinder, Shape, Sphere
from ..model.pose import Pose, normalised

MAX_SHAPES_PER_GROUP = 16  # max number that PyBullet combines into one shape
CONE_SIDES = 64
MARGIN = 1e-3  # [m] added by PyBullet around every hull

Points = NDArray[np.float64]


class PlacedGeometry(NamedTuple):
    """Collision geometry at a pose in its part."""

    solid: CollisionGeometry
    pose: Pose


SolidGroup = tuple[PlacedGeometry, ...]


def groups_of_solids(shapes: Sequence[Shape], still: bool) -> list[SolidGroup]:
    """Group the collision geometries of shapes; each group becomes one PyBullet collision shape.

    There is at least one group, which may be empty. The engine cannot move triangle meshes; those of moving objects are
    decomposed into convex pieces, which are an approximation.

    still: Whether the shapes never move.

    Raises:
        GeometryError: A mesh cannot be read or decomposed.
    """
    placed = [PlacedGeometry(solid, shape.pose) for shape in shapes for solid in _solids(shape, still)]
    plain = [entry for entry in placed if not _is_points(entry.solid)]
    groups = [
        tuple(plain[start : start + MAX_SHAPES_PER_GROUP]) for start in range(0, len(plain), MAX_SHAPES_PER_GROUP)
    ]
    return groups + [(entry,) for entry in placed if _is_points(entry.solid)] or [()]


def _solids(shape: Shape, still: bool) -> Iterator[CollisionGeometry]:
    for solid in collision_geometries(shape.geometry):
        if isinstance(solid, Surface) and not still:
            yield from map(ConvexGeometry, convex_pieces(solid.source))
        else:
            yield solid


def _is_points(solid: CollisionGeometry) -> bool:
    return isinstance(solid, (ConvexGeometry, Surface, Cone))


def is_surface(group: SolidGroup) -> bool:
    """Return whether a group is a triangle mesh."""
    return any(isinstance(entry.solid, Surface) for entry in group)


def collision_shape(client: int, group: SolidGroup) -> int:
    """Return the number of a new PyBullet collision shape; -1 for an empty group.

    Raises:
        GeometryError: The engine refuses the shape, because it has too many points.
    """
    if not group:
        return -1
    try:
        if _is_points(group[0].solid):
            return int(pybullet.createCollisionShape(**_points_arguments(group[0]), physicsClientId=client))
        return int(pybullet.createCollisionShapeArray(**_array_arguments(group), physicsClientId=client))
    except pybullet.error as error:
        kinds = ", ".join(type(entry.solid).__name__ for entry in group)
        raise GeometryError(f"the physics engine refuses {kinds}: {error}", stage="simulation") from error


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
        return arguments | {"vertices": shrunk(solid.mesh.vertices, MARGIN).tolist()}
    if isinstance(solid, Cone):
        return arguments | {"vertices": shrunk(np.array(list(_cone_corners(solid))), MARGIN).tolist()}
    raise TypeError(f"{type(solid).__name__} is not made of points")


def _cone_corners(cone: Cone) -> Iterator[tuple[float, float, float]]:
    yield 0.0, 0.0, 0.5 * cone.length
    for side in range(CONE_SIDES):
        angle = math.tau * side / CONE_SIDES
        yield cone.radius * math.cos(angle), cone.radius * math.sin(angle), -0.5 * cone.length


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
