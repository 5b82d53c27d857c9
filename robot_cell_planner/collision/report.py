"""Results of collision checks: colliding pairs, contacts, distances and the rule that applied."""

from __future__ import annotations

import msgspec

from ..errors import CollisionCheckError, Value
from ..model.value import Vector3
from .pairs.allowed_pairs import CheckedPair, PairType, SkippedPair
from .pairs.objects import ObjectKind

MAX_LISTED = 4


class Contact(msgspec.Struct, frozen=True):
    """Contact points, or closest points, of two objects.

    Attributes:
        point_first: Closest point on the first object, in the world frame [m].
        point_second: Closest point on the second object, in the world frame [m].
        normal: Unit vector in the world frame from the second object to the first; moving the first object along it
            separates the two.
        depth: Penetration depth [m], or the negative distance.
    """

    point_first: Vector3
    point_second: Vector3
    normal: Vector3
    depth: float


class CollisionPair(msgspec.Struct, frozen=True):
    """Two objects that collide.

    Attributes:
        pair_type: Type of the pair.
        first, second: Names of the objects.
        first_kind, second_kind: Link, tool or body.
        distance: Smallest distance of the surfaces [m]; negative: penetration depth.
        margin: Requested minimum distance [m].
        contacts: One for each pair of collision geometries that collides, deepest first.
    """

    pair_type: PairType
    first: str
    second: str
    first_kind: ObjectKind
    second_kind: ObjectKind
    distance: float
    margin: float
    contacts: tuple[Contact, ...] = ()

    @property
    def depth(self) -> float:
        """Penetration depth [m]; negative if only the margin is violated."""
        return -self.distance

    @property
    def point_first(self) -> Vector3:
        """Point of the deepest contact on the first object, in the world frame [m]."""
        return self.contacts[0].point_first

    @property
    def point_second(self) -> Vector3:
        """Point of the deepest contact on the second object, in the world frame [m]."""
        return self.contacts[0].point_second

    @property
    def normal(self) -> Vector3:
        """Normal of the deepest contact, from the second object to the first."""
        return self.contacts[0].normal

    def __str__(self) -> str:
        state = f"overlap by {self.depth:.3g} m" if self.distance <= 0.0 else f"are {self.distance:.3g} m apart"
        margin = f", margin {self.margin:.3g} m" if self.margin else ""
        objects = f"{self.first_kind.value} {self.first} and {self.second_kind.value} {self.second}"
        return f"{self.pair_type}: {objects} {state}{margin}"


class CollisionReport(msgspec.Struct, frozen=True):
    """Result of a collision check of one state.

    Attributes:
        pairs: Colliding pairs, by step and then by names; all of them, or the first ones if a maximum was requested.
        pairs_checked: Number of pairs that were checked.
        engine: Name of the collision engine.
        decomposed: Names of objects that were checked as a convex decomposition, because the mesh requests one or the
            engine does not support its triangles.
        checked, skipped: All checked pairs and skipped pairs, if a verbose report was requested.
        pairs_skipped: Number of pairs that the rules exclude.
    """

    pairs: tuple[CollisionPair, ...]
    pairs_checked: int
    engine: str
    decomposed: tuple[str, ...] = ()
    checked: tuple[CheckedPair, ...] = ()
    skipped: tuple[SkippedPair, ...] = ()
    pairs_skipped: int = 0

    @property
    def in_collision(self) -> bool:
        """Whether any pair collides."""
        return bool(self.pairs)

    def __str__(self) -> str:
        if not self.pairs:
            return f"no collision in {self.pairs_checked} pairs"
        listed = "; ".join(map(str, self.pairs[:MAX_LISTED]))
        more = len(self.pairs) - MAX_LISTED
        return f"{listed}; and {more} more" if more > 0 else listed

    def raise_if_colliding(self, stage: str = "collision") -> None:
        """Raise an error if the report has a colliding pair.

        Raises:
            CollisionCheckError: At least one pair collides; the report is in `partial`.
        """
        if not self.pairs:
            return
        names = tuple(dict.fromkeys(name for pair in self.pairs for name in (pair.first, pair.second)))
        values = tuple(
            Value(f"distance {pair.first} - {pair.second}", pair.distance, pair.margin, "m")
            for pair in self.pairs[:MAX_LISTED]
        )
        raise CollisionCheckError(str(self), stage=stage, subjects=names, values=values, partial=self)


class Clearance(msgspec.Struct, frozen=True):
    """Smallest distance of two objects; infinite and without names if no pair is within the search distance.

    distance [m]: between the surfaces, negative for the penetration depth. Points and normal are as in `Contact`.
    """

    distance: float
    margin: float = 0.0
    first: str = ""
    second: str = ""
    first_kind: ObjectKind = ObjectKind.LINK
    second_kind: ObjectKind = ObjectKind.LINK
    point_first: Vector3 = (0.0, 0.0, 0.0)
    point_second: Vector3 = (0.0, 0.0, 0.0)
    normal: Vector3 = (0.0, 0.0, 0.0)

    @property
    def slack(self) -> float:
        """Distance minus margin [m]; the pair collides if it is below zero."""
        return self.distance - self.margin
