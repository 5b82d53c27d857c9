"""What the checker asks of a collision engine, and what counts as a collision."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...model.value import Vector3

Floats = NDArray[np.float64]

TOUCHING = 1e-5
"""Two things collide where their gap is below their margin by more than this [m].

So surfaces may touch, and rounding may press them into each other by up to 10 micrometres: a part that stands
exactly on a table does not collide with it. The tolerance is ten times that of the solvers.
"""

ABSOLUTE_ERROR = {"coal": 2e-6, "bullet": 2e-3}  # [m]
RELATIVE_ERROR = 1e-5  # as a fraction of the distance


def distance_error(distance: float, engine: str = "coal") -> float:
    """By how much a measured distance [m] may exceed the true one [m].

    Coal's solver ends at a relative tolerance of 1e-6. Its distances exceed the true ones by up to 1.1e-6 m plus 2e-6
    of the distance (60,000 pairs of boxes, cylinders, capsules and convex meshes up to 20 m apart, against lower bounds
    from separating planes); a claim that rests on a distance allows for several times as much. Bullet is off by up to a
    millimetre.
    """
    return ABSOLUTE_ERROR[engine] + RELATIVE_ERROR * max(distance, 0.0)


class DistanceResult(NamedTuple):
    """Closest points of two solids, in the world [m]; distance: negative for the depth of an overlap.

    normal: unit vector from the second to the first, along which moving the first separates them.
    """

    distance: float
    point_first: Vector3
    point_second: Vector3
    normal: Vector3


class CollisionEngine(Protocol):
    """Geometry of one shape table. q: (nq,) configuration of the whole model; solids are named by their
    index.

    An engine keeps where things were last placed, so it belongs to one thread at a time.
    """

    name: str
    decomposed: tuple[str, ...]

    def collides(self, q: Floats) -> bool:
        """Whether any pair of the table collides."""
        ...

    def place(self, q: Floats) -> Floats:
        """Put everything where it is at q, for `contact` and `distance`; poses (m, 4, 4) of the moving
        solids."""
        ...

    def poses(self, configurations: Floats) -> Floats:
        """Poses (n, m, 4, 4) of the moving solids at n configurations (n, nq); nothing is placed there."""
        ...

    def place_at(self, poses: Floats) -> None:
        """Put the moving solids at poses (m, 4, 4), whatever the joints say."""
        ...

    def contact(self, first: int, second: int, margin: float) -> DistanceResult | None:
        """The deepest contact of two solids whose gap is below the margin [m] by more than `TOUCHING`, else
        None."""
        ...

    def separation(self, first: int, second: int) -> float:
        """Distance of two solids [m], as `distance` gives it."""
        ...

    def distance(self, first: int, second: int) -> DistanceResult:
        """Distance of two solids and its witness points."""
        ...
