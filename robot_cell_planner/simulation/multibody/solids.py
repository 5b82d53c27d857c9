"""Collision geometries of parts, in groups that become one shape of an engine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...collision.geometry.collision_geometry import CollisionGeometry, ConvexGeometry, Surface, collision_geometries
from ...io.mesh.decomposition import convex_pieces
from ...model.geometry import Cone, Shape
from ...model.pose import Pose

MAX_SHAPES_PER_GROUP = 16  # max number that PyBullet combines into one shape
CONE_SIDES = 64


class PlacedGeometry(NamedTuple):
    """Collision geometry at a pose in its part."""

    solid: CollisionGeometry
    pose: Pose


SolidGroup = tuple[PlacedGeometry, ...]


def groups_of_solids(shapes: Sequence[Shape], still: bool) -> list[SolidGroup]:
    """Group the collision geometries of shapes; each group becomes one collision shape of PyBullet.

    There is at least one group, which may be empty. Engines cannot move triangle meshes; those of moving objects are
    decomposed into convex pieces, which are an approximation.

    still: Whether the shapes never move.

    Raises:
        GeometryError: A mesh cannot be read or decomposed.
    """
    placed = [PlacedGeometry(solid, shape.pose) for shape in shapes for solid in _solids(shape, still)]
    plain = [entry for entry in placed if not is_points(entry.solid)]
    groups = [
        tuple(plain[start : start + MAX_SHAPES_PER_GROUP]) for start in range(0, len(plain), MAX_SHAPES_PER_GROUP)
    ]
    return groups + [(entry,) for entry in placed if is_points(entry.solid)] or [()]


def _solids(shape: Shape, still: bool) -> Iterator[CollisionGeometry]:
    for solid in collision_geometries(shape.geometry):
        if isinstance(solid, Surface) and not still:
            yield from map(ConvexGeometry, convex_pieces(solid.source))
        else:
            yield solid


def is_points(solid: CollisionGeometry) -> bool:
    """Return whether a geometry is made of points."""
    return isinstance(solid, (ConvexGeometry, Surface, Cone))


def is_surface(group: SolidGroup) -> bool:
    """Return whether a group is a triangle mesh."""
    return any(isinstance(entry.solid, Surface) for entry in group)


def cone_corners(cone: Cone) -> Iterator[tuple[float, float, float]]:
    """Yield the tip of a cone and points on the edge of its base [m]."""
    yield 0.0, 0.0, 0.5 * cone.length
    for side in range(CONE_SIDES):
        angle = math.tau * side / CONE_SIDES
        yield cone.radius * math.cos(angle), cone.radius * math.sin(angle), -0.5 * cone.length
