"""Protocol of collision engines, and the threshold that defines a collision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...model.value import Vector3

if TYPE_CHECKING:
    from ..geometry.geometry_model import GeometryModel

Floats = NDArray[np.float64]

TOUCHING = 1e-5
"""Tolerance [m]: two objects collide if their distance is below their margin by more than this.

Surfaces may touch and, due to rounding, overlap by up to 10 micrometres: a part exactly on a table does not collide
with it. The tolerance is ten times that of the solvers.
"""

PROVING_ENGINE = "coal"  # whose distances prove motions free
ABSOLUTE_ERROR = {"coal": 2e-6, "bullet": 2e-3}  # [m]
RELATIVE_ERROR = 1e-5  # as a fraction of the distance


def distance_error(distance: float, engine: str = "coal") -> float:
    """Return an upper bound on how much a computed distance [m] may exceed the true one [m].

    Coal's solver terminates at a relative tolerance of 1e-6. Its distances exceed the true ones by up to 1.1e-6 m plus
    2e-6 of the distance (60,000 pairs of boxes, cylinders, capsules and convex meshes up to 20 m apart, against lower
    bounds from separating planes); proofs based on a distance allow several times as much. This holds for geometries up
    to 10 km, the largest of a cell: near contact, those of 8 m and more are corrected (`coal_large`; by at most 0.6e-6
    m in 160,000 distances of boxes, hulls and cylinders). Depths of overlaps of smaller ones exceed the true ones by up
    to 3e-6 m. Bullet's error is up to a millimetre.
    """
    return ABSOLUTE_ERROR[engine] + RELATIVE_ERROR * max(distance, 0.0)


def verdict_reserve(engine: str) -> float:
    """Return the distance in addition to a margin [m] at which the verdict of an engine is certainly free, by the true
    distances of its geometries. Proofs with coal's distances allow for their error themselves."""
    return 0.0 if engine == PROVING_ENGINE else ABSOLUTE_ERROR[engine]


def distance_errors(distances: Floats, engine: str = "coal") -> Floats:
    """Return `distance_error` of an engine's distances (k,) [m]."""
    return ABSOLUTE_ERROR[engine] + RELATIVE_ERROR * np.maximum(distances, 0.0)


class DistanceResult(NamedTuple):
    """Closest points of two collision geometries in the world frame [m], and their distance.

    distance [m]: negative for the penetration depth. normal: unit vector from the second geometry to the first; moving
    the first geometry along it separates the two.
    """

    distance: float
    point_first: Vector3
    point_second: Vector3
    normal: Vector3


class CollisionEngine(Protocol):
    """Collision engine for the geometries of one `GeometryModel`.

    q is the configuration (nq,) of the whole kinematic model; geometries are identified by their index. An engine keeps
    the last placements, so it may only be used by one thread at a time.

    is_exact: whether distances of convex geometries are right to a micrometre.
    """

    name: str
    is_exact: bool
    decomposed: tuple[str, ...]

    def of_geometries(self, geometry_model: GeometryModel, rows: Sequence[int]) -> CollisionEngine:
        """Return an engine for a model of some geometries of this one's; `rows`: their indices in this one's model."""
        ...

    def collides(self, q: Floats) -> bool:
        """Return whether any pair of the geometry model collides at q."""
        ...

    def place(self, q: Floats) -> Floats:
        """Place all geometries at q for `contact` and `distance`; return the poses (m, 4, 4) of the moving ones."""
        ...

    def poses(self, configurations: Floats) -> Floats:
        """Return the different placements (n, p, 4, 4) of the moving geometries at configurations (n, nq), see
        `GeometryModel.placement_rows`, without placing them."""
        ...

    def place_at(self, poses: Floats) -> None:
        """Place the moving geometries at poses (m, 4, 4), independent of the joints."""
        ...

    def contact(self, first: int, second: int, margin: float) -> DistanceResult | None:
        """Return the deepest contact of two geometries, or None if they do not collide.

        They collide if their distance is below the margin [m] by more than `TOUCHING`.
        """
        ...

    def separation(self, first: int, second: int, poses: Floats | None = None) -> tuple[float, Floats | None]:
        """Return the distance of two geometries [m], as in `distance`, and the direction in which they are separated.

        The direction is a unit vector (3,) from the second geometry to the first, normal to a plane between them; None
        for overlapping geometries, and for those that the engine decomposes into pieces beyond them.

        poses: one of those of `poses` (p, 4, 4); how geometries are placed afterwards is then undefined. None: as
        placed.
        """
        ...

    def distance(self, first: int, second: int) -> DistanceResult:
        """Return the distance of two geometries with the closest points."""
        ...
