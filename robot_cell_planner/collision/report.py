"""What a collision check finds: values that name the things, the step of the rule book, and the numbers."""

from __future__ import annotations

import msgspec

from ..errors import CollisionCheckError, Value
from ..model.value import Vector3
from .pairs.allowed_pairs import CheckedPair, SkippedPair, Step
from .pairs.objects import ObjectKind

MAX_LISTED = 4


class Contact(msgspec.Struct, frozen=True):
    """Where two things touch or come closest.

    point_first, point_second: witness points in the world [m]. normal: unit vector in the world from the
    second to the first, along which moving the first separates them. depth [m]: overlap, or minus the gap.
    """

    point_first: Vector3
    point_second: Vector3
    normal: Vector3
    depth: float


class CollisionPair(msgspec.Struct, frozen=True):
    """Two things that collide.

    distance [m]: the smallest gap of their surfaces, negative for the depth of an overlap. margin [m]: the
    gap that was asked for. contacts: one for each pair of their shapes that collides, deepest first.
    """

    step: Step
    first: str
    second: str
    first_kind: ObjectKind
    second_kind: ObjectKind
    distance: float
    margin: float
    contacts: tuple[Contact, ...] = ()

    @property
    def depth(self) -> float:
        """Depth of the overlap [m]; negative where only the margin is broken."""
        return -self.distance

    @property
    def point_first(self) -> Vector3:
        return self.contacts[0].point_first

    @property
    def point_second(self) -> Vector3:
        return self.contacts[0].point_second

    @property
    def normal(self) -> Vector3:
        return self.contacts[0].normal

    def __str__(self) -> str:
        state = f"overlap by {self.depth:.3g} m" if self.distance <= 0.0 else f"are {self.distance:.3g} m apart"
        margin = f", margin {self.margin:.3g} m" if self.margin else ""
        things = f"{self.first_kind.value} {self.first} and {self.second_kind.value} {self.second}"
        return f"{self.step}: {things} {state}{margin}"


class CollisionReport(msgspec.Struct, frozen=True):
    """What a check of one state found.

    pairs: those that collide, by step, then by names: all, or only the first. pairs_checked: how many were
    held against each other. pairs_skipped: how many the rules leave out. engine: its name. decomposed: things
    that the engine checked by a convex decomposition although their triangles were asked for, or that ask for
    one. checked, skipped: all pairs, where a verbose report was asked for.
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
        return bool(self.pairs)

    def __str__(self) -> str:
        if not self.pairs:
            return f"no collision in {self.pairs_checked} pairs"
        listed = "; ".join(map(str, self.pairs[:MAX_LISTED]))
        more = len(self.pairs) - MAX_LISTED
        return f"{listed}; and {more} more" if more > 0 else listed

    def raise_if_colliding(self, stage: str = "collision") -> None:
        """Turn a collision into an error.

        Raises:
            CollisionCheckError: something collides; the report is in `partial`.
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
    """The closest approach of two things; infinite distance and no names where nothing was near enough.

    distance [m]: gap of their surfaces, negative for the depth of an overlap. Points and normal as in
    `Contact`.
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
        """What is left of the distance beyond the margin [m]; below zero the pair collides."""
        return self.distance - self.margin
