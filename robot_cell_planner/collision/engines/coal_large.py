"""Distances of coal to geometries of many metres, such as the ground of a hall.

Near contact coal loses digits with the square of the size: a part that overlaps a floor of 50 m by 20 micrometres may
have a distance of 2 micrometres. Millimetres apart, its distances have the same error for all sizes. The first geometry
is therefore moved away by `SHIFT` along the normal, and the shift subtracted from the distance there. Since the
distance of convex geometries changes by no more than a shift, the result never exceeds the true distance by more than
the error of the shifted one; if the normal is that of the closest points, both are equal.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import coal
import numpy as np
from numpy.typing import NDArray

from ..geometry.collision_geometry import CollisionGeometry, local_bounds

Floats = NDArray[np.float64]
LARGE = 8.0  # [m], longest side of the bounding box from which on a geometry is large
NEAR = 0.01  # [m], distances of large geometries below this are corrected
SHIFT = 0.01  # [m]
ACCURATE = 1e-3  # [m] distance from which on coal is accurate, for sizes up to 10 km
DEEP = 5e-3  # [m] depth of an overlap that is not corrected
WIDENING = 2e-5  # [m] for a size of 1 m, three times the largest error found; it grows with the square root of the size
EPA_TOLERANCE = 1e-9  # [m], for depths; coal's default is 1e-6
SAME = 2e-6  # [m]
MAX_NORMALS = 3


class LargeDistance(NamedTuple):
    """Corrected distance [m], closest points (3,) [m] of the placed geometries, and the unit vector (3,) from the
    second to the first."""

    distance: float
    point_first: Floats
    point_second: Floats
    direction: Floats


def size_of(geometry: CollisionGeometry) -> float:
    """Return the longest side of the bounding box of a geometry in its own frame [m]."""
    low, high = local_bounds(geometry)
    return float((high - low).max())


def widening(sizes: tuple[float, ...]) -> float:
    """Return by how much coal's distance of geometries of these sizes [m] may exceed the true one near contact [m]; 0
    if none is large."""
    largest = max(sizes, default=0.0)
    return WIDENING * math.sqrt(largest) if largest >= LARGE else 0.0


def corrected(measure: Any, first: Any, second: Any, result: Any, size: float) -> LargeDistance:
    """Return the distance of two convex geometries of which one is large.

    Args:
        measure: Coal's function for the distance of both.
        first, second: Their transforms.
        result: Coal's result for these.
        size: Size of the larger one [m].
    """
    request = coal.DistanceRequest()
    request.enable_signed_distance = True
    request.epa_tolerance = EPA_TOLERANCE
    found = float(result.min_distance)
    if found < -DEEP:
        result = coal.DistanceResult()
        measure(first, second, request, result)
        return _described(min(found, float(result.min_distance)), result, np.zeros(3))
    best: LargeDistance | None = None
    for _ in range(MAX_NORMALS):
        away = _direction(result)
        if away is None:
            break
        moved = coal.Transform3s(first.getRotation(), first.getTranslation() + SHIFT * away)
        result = coal.DistanceResult()
        distance = float(measure(moved, second, request, result))
        if distance >= ACCURATE and (best is None or distance - SHIFT > best.distance):
            best = _described(distance - SHIFT, result, -SHIFT * away)
        if best is not None and best.distance > found - SAME:
            return best
    return best or _described(min(found, 0.0) - widening((size,)), result, np.zeros(3))


def _described(distance: float, result: Any, back: Floats) -> LargeDistance:
    """Return a distance with the points and the normal of a result; back: motion of the first point."""
    direction = _direction(result)
    first, second = result.getNearestPoint1() + back, result.getNearestPoint2()
    return LargeDistance(distance, first, second, np.zeros(3) if direction is None else direction)


def _direction(result: Any) -> Floats | None:
    """Return the unit vector from the second geometry to the first, in which the first one leaves the second.

    Coal's normal is unset for some pairs, and the closest points are equal at contact.
    """
    normal = np.array(result.normal)
    if 0.9 < np.linalg.norm(normal) < 1.1:
        return -normal
    apart = result.getNearestPoint1() - result.getNearestPoint2()
    length = float(np.linalg.norm(apart))
    return apart / length if length > 1e-9 and result.min_distance > 0.0 else None
