"""OMPL state space over the coordinates of the searched subspace."""

from __future__ import annotations

from typing import Any

import numpy as np
from ompl import base as ob

from ...trajectory.limits import Array
from ..problem.subspace import Subspace


class Coordinates:
    """Conversion of OMPL states to configurations."""

    def __init__(self, subspace: Subspace) -> None:
        self.subspace = subspace
        self._all = slice(0, subspace.size)

    def configuration(self, state: Any) -> Array:
        """Return the configuration (dof,) of a state."""
        return self.subspace.to_full(np.array(state[self._all]))

    def within_limits(self, q: Array) -> bool:
        """Return whether the configuration (dof,) of a state is within joint limits. In the whole joint space the state
        space bounds ensure it.
        """
        return self.subspace.whole or self.subspace.within_limits(q)


class SearchSpace:
    """OMPL state space over the coordinates of a subspace, with conversions of its states."""

    def __init__(self, subspace: Subspace) -> None:
        self.subspace = subspace
        self.size = subspace.size
        self._box = ob.RealVectorStateSpace(self.size)
        self._lower, self._upper = subspace.lower, subspace.upper
        self.bound(self._lower, self._upper)
        self.information: Any = ob.SpaceInformation(self._box)
        self.coordinates = Coordinates(subspace)

    def bound(self, lower: Array, upper: Array) -> None:
        """Restrict samples to bounds (k,) from now on; existing states may be outside."""
        bounds = ob.RealVectorBounds(self.size)
        for index, (low, high) in enumerate(zip(lower.tolist(), upper.tolist(), strict=True)):
            bounds.setLow(index, low)
            bounds.setHigh(index, high)
        self._box.setBounds(bounds)

    def state(self, q: Array) -> Any:
        """Return the state of a configuration (dof,)."""
        state = self.information.getStateSpace().allocState()
        for index, value in enumerate(self.subspace.to_reduced(q).tolist()):
            state[index] = value
        return state

    def searched(self, q: Array) -> Array | None:
        """Return the configuration (dof,) of the state of q (dof,); None if it is not within the bounds of the
        subspace."""
        z = self.subspace.to_reduced(q)
        found = self.coordinates.configuration(self.state(q))
        inside = bool(((z >= self._lower) & (z <= self._upper)).all())
        return found if inside and self.coordinates.within_limits(found) else None

    def path(self, found: Any) -> Array:
        """Return the waypoints (n, dof) of an OMPL path."""
        return np.array([self.coordinates.configuration(state) for state in found.getStates()])
