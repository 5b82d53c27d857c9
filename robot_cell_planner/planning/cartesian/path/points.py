"""Points along a Cartesian path, and the motions between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....trajectory.limits import Array


@dataclass(frozen=True, eq=False)
class Point:
    """Configuration (dof,) at a fraction of a segment, 0 to 1."""

    q: Array
    segment: int
    fraction: float


@dataclass(frozen=True, eq=False)
class Edges:
    """Motions between points, including the one from the start.

    Attributes:
        segments: Segment of each motion (k,).
        begins, ends: Range of the fraction of the segment (k,).
    """

    segments: NDArray[np.intp]
    begins: Array
    ends: Array

    @classmethod
    def to(cls, segments: NDArray[np.intp], fractions: Array) -> Edges:
        """Return the motions to consecutive points at fractions (k,) of segments (k,)."""
        begins = np.concatenate(([0.0], fractions[:-1]))[: len(fractions)]
        begins[begins == 1.0] = 0.0
        return cls(segments, begins, fractions)

    def fractions(self, between: float) -> Array:
        """Return the fractions of segments (k,) at a fraction of each motion."""
        return np.asarray(self.begins + between * (self.ends - self.begins))

    def at(self, index: int) -> Edges:
        """Return one motion."""
        part = slice(index, index + 1)
        return Edges(self.segments[part], self.begins[part], self.ends[part])
