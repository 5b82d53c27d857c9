"""Motions that a search has found in collision, for messages about searches without a path."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ...collision.checker import CollisionChecker
from ...collision.report import CollisionPair
from ...trajectory.limits import Array

MAX_BLOCKED_MOTIONS = 256


class BlockedMotion(NamedTuple):
    """Straight motion between two configurations (dof,) that is blocked at a path parameter from 0 to 1."""

    start: Array
    end: Array
    parameter: float

    @property
    def configuration(self) -> Array:
        """Configuration (dof,) at which the motion is blocked."""
        return self.start + self.parameter * (self.end - self.start)


class BlockedMotions:
    """Blocked motions of a search.

    Attributes:
        count: Number of motions found in collision.
        last: The last one of them; None if there is none.
    """

    def __init__(self) -> None:
        self.count = 0
        self.last: BlockedMotion | None = None
        self._first: list[BlockedMotion] = []

    def add(self, motion: BlockedMotion) -> None:
        """Add a motion; the first `MAX_BLOCKED_MOTIONS` are stored."""
        self.count += 1
        self.last = motion
        if len(self._first) < MAX_BLOCKED_MOTIONS:
            self._first.append(motion)

    def most_frequent_pair(self, checker: CollisionChecker) -> tuple[CollisionPair, int] | None:
        """Return the pair that blocks most of the stored motions, and its count; None if no motion was blocked."""
        found: dict[tuple[str, str], CollisionPair] = {}
        counts: Counter[tuple[str, str]] = Counter()
        for motion in self._first:
            pair = checker.first_pair(motion.configuration)
            if pair is not None:
                found.setdefault((pair.first, pair.second), pair)
                counts[pair.first, pair.second] += 1
        if not counts:
            return None
        names = min(counts, key=lambda pair: (-counts[pair], pair))
        return found[names], counts[names]
