"""Depth of a sphere whose centre is inside a cylinder, for which coal considers only the way out through the side."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...model.geometry import Cylinder, Sphere
from ..geometry.collision_geometry import CollisionGeometry
from .base import DistanceResult


def through_end(
    first: CollisionGeometry, second: CollisionGeometry, placed: Any, other: Any, found: DistanceResult
) -> DistanceResult:
    """Return the overlap of a sphere and a cylinder with the depth through an end, if that is the shorter way out, else
    the given one.

    Args:
        first, second: Geometries.
        placed, other: Their transforms of coal.
        found: Distance of coal.
    """
    if found.distance > 0.0:
        return found
    if isinstance(first, Sphere) and isinstance(second, Cylinder):
        return _through_end(first, second, placed, other, found)
    if isinstance(first, Cylinder) and isinstance(second, Sphere):
        opposite = _through_end(second, first, other, placed, found)
        if opposite is found:
            return found
        x, y, z = opposite.normal
        return DistanceResult(opposite.distance, opposite.point_second, opposite.point_first, (-x, -y, -z))
    return found


def _through_end(sphere: Sphere, cylinder: Cylinder, placed: Any, other: Any, found: DistanceResult) -> DistanceResult:
    """As `through_end`, of a sphere and a cylinder in this order; `found` itself if it has the shorter way."""
    rotation, centre = np.array(other.getRotation()), np.array(placed.getTranslation())
    x, y, z = rotation.T @ (centre - np.array(other.getTranslation()))
    to_end = 0.5 * cylinder.length - abs(z)
    is_inside = to_end > 0.0 and np.hypot(x, y) < cylinder.radius
    if not is_inside or to_end + sphere.radius >= -found.distance:
        return found
    outwards = rotation[:, 2] * (1.0 if z >= 0.0 else -1.0)
    lowest, end = centre - sphere.radius * outwards, centre + to_end * outwards
    return DistanceResult(
        -(to_end + sphere.radius), tuple(lowest.tolist()), tuple(end.tolist()), tuple(outwards.tolist())
    )
