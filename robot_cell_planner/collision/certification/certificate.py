"""Certificates of motions: proven free, colliding at a given configuration, or undecided at a resolution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from ..pairs.allowed_pairs import CheckedPair

FINE = 1e-5  # [rad or m], interval size at which the exact distance test stops bisecting


class Verdict(str, Enum):
    """Verdict of a motion certificate."""

    FREE = "free"
    COLLIDING = "colliding"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class MotionCertificate:
    """Certificate of a motion.

    Attributes:
        verdict: Free, colliding or undecided.
        clearance: Proven minimum clearance along the motion, in addition to the margins of the cell [m]; NaN unless
            free. It equals the requested margin; the actual clearance may be larger.
        place: Path parameter of the collision, or of the first undecided interval; 0 if free.
        configuration: Configuration (dof,) at `place`; empty if free.
        pair: Pair that collides or may collide there.
        distance: Distance of the pair there minus its margin [m].
        resolution: Resolution of the test [rad or m].
        states: Number of configurations evaluated with spheres.
        exact_states: Number of configurations evaluated with exact distances.
        exact_fraction: Fraction of the motion's parameter range that exact distances had to decide.
        warnings: About objects whose sphere model is coarser than requested, so that exact distances decide more.
    """

    verdict: Verdict
    clearance: float = math.nan
    place: float = 0.0
    configuration: tuple[float, ...] = ()
    pair: CheckedPair | None = None
    distance: float = math.nan
    resolution: float = FINE
    states: int = 0
    exact_states: int = 0
    exact_fraction: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def free(self) -> bool:
        """Whether the motion is proven free."""
        return self.verdict is Verdict.FREE
