"""Options of drafts."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InvalidValueError
from ..model.arguments import checked_fields
from .draft_defaults import MAX_SAMPLES, SAMPLES, SEED


@checked_fields
@dataclass(frozen=True)
class DraftOptions:
    """Options of drafts.

    Attributes:
        samples: Number of random configurations.
        seed: Seed of the random configurations.
        always: Min fraction [0 to 1] of colliding samples for a pair to count as always in collision.

    Raises:
        InvalidValueError: A value is out of range.
    """

    samples: int = SAMPLES
    seed: int = SEED
    always: float = 0.95

    def __post_init__(self) -> None:
        if not 1 <= self.samples <= MAX_SAMPLES:
            raise InvalidValueError(f"samples is {self.samples}, expected 1 to {MAX_SAMPLES:,}")
        if not 0 <= self.seed < 2**63:
            raise InvalidValueError(f"seed is {self.seed}, expected 0 to 2^63 - 1")
        if not 0.0 < self.always <= 1.0:
            raise InvalidValueError(f"always is {self.always}, expected above 0 and at most 1")
