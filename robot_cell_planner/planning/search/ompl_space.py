"""OMPL's space over the configurations that are searched."""

from __future__ import annotations

from typing import Any

import numpy as np
from ompl import base as ob

from ...trajectory.limits import Array
from ..problem.subspace import Subspace


class Coordinates:
    """The way from states of OMPL to configurations."""

    def __init__(self, subspace: Subspace) -> None:
        self.subspace = subspace
        self._all = slice(0, subspace.size)

    def configuration(self, state: Any) -> Array:
        """The configuration (dof,) of a state."""
        return self.subspace.to_full(np.array(state[self._all]))

    def within_limits(self, q: Array) -> bool:
        """Whether a configuration (dof,) of a state is within the limits of the joints; bounds of the space see to that
        where it is all of joint space."""
        return self.subspace.whole or self.subspace.within_limits(q)


class SearchSpace:
    """A space of OMPL over the coordinates of a subspace, and the way between its states and configurations."""

    def __init__(self, subspace: Subspace) -> None:
        self.subspace = subspace
        self.size = subspace.size
        self._box = ob.RealVectorStateSpace(self.size)
        self.bound(subspace.lower, subspace.upper)
        self.information: Any = ob.SpaceInformation(self._box)
        self.coordinates = Coordinates(subspace)

    def bound(self, lower: Array, upper: Array) -> None:
        """Draw samples between bounds (k,) from now on; states that exist already may be beyond them."""
        bounds = ob.RealVectorBounds(self.size)
        for index, (low, high) in enumerate(zip(lower.tolist(), upper.tolist(), strict=True)):
            bounds.setLow(index, low)
            bounds.setHigh(index, high)
        self._box.setBounds(bounds)

    def state(self, q: Array) -> Any:
        """The state of a configuration (dof,)."""
        state = self.information.getStateSpace().allocState()
        for index, value in enumerate(self.subspace.to_reduced(q).tolist()):
            state[index] = value
        return state

    def path(self, found: Any) -> Array:
        """Waypoints (n, dof) of a path of OMPL."""
        return np.array([self.coordinates.configuration(state) for state in found.getStates()])
