"""Points of a path along a route, and the motions between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....trajectory.limits import Array


@dataclass(frozen=True, eq=False)
class Point:
    """A configuration (dof,) at a share of a piece of the route, 0 to 1."""

    q: Array
    piece: int
    share: float


@dataclass(frozen=True, eq=False)
class Edges:
    """The motions between points, the first from the start: the piece that each lies on (k,), and at which shares of it
    it begins and ends (k,)."""

    pieces: NDArray[np.intp]
    begins: Array
    ends: Array

    @classmethod
    def to(cls, pieces: NDArray[np.intp], shares: Array) -> Edges:
        """The motions to places that follow one another, at shares (k,) of pieces (k,)."""
        begins = np.concatenate(([0.0], shares[:-1]))[: len(shares)]
        begins[begins == 1.0] = 0.0
        return cls(pieces, begins, shares)

    def shares(self, between: float) -> Array:
        """Shares (k,) of the pieces at a share of each motion."""
        return np.asarray(self.begins + between * (self.ends - self.begins))

    def at(self, index: int) -> Edges:
        """One of them."""
        part = slice(index, index + 1)
        return Edges(self.pieces[part], self.begins[part], self.ends[part])
