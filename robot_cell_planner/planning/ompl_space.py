"""OMPL's space over the configurations that are searched."""

from __future__ import annotations

from typing import Any

import numpy as np
from ompl import base as ob

from ..trajectory.limits import Array
from .subspace import Subspace


class SearchSpace:
    """A space of OMPL over the coordinates of a subspace, and the way between its states and configurations."""

    def __init__(self, subspace: Subspace) -> None:
        self.subspace = subspace
        self.size = subspace.size
        box = ob.RealVectorStateSpace(self.size)
        bounds = ob.RealVectorBounds(self.size)
        for index, (low, high) in enumerate(zip(subspace.lower.tolist(), subspace.upper.tolist(), strict=True)):
            bounds.setLow(index, low)
            bounds.setHigh(index, high)
        box.setBounds(bounds)
        self.information: Any = ob.SpaceInformation(box)
        self._all = slice(0, self.size)

    def configuration(self, state: Any) -> Array:
        """The configuration (dof,) of a state."""
        return self.subspace.to_full(np.array(state[self._all]))

    def within_limits(self, q: Array) -> bool:
        """Whether a configuration (dof,) of a state is within the limits of the joints; bounds of the space see to that
        where it is all of joint space."""
        return self.subspace.whole or self.subspace.within_limits(q)

    def state(self, q: Array) -> Any:
        """The state of a configuration (dof,)."""
        state = self.information.getStateSpace().allocState()
        for index, value in enumerate(self.subspace.to_reduced(q).tolist()):
            state[index] = value
        return state

    def path(self, found: Any) -> Array:
        """Waypoints (n, dof) of a path of OMPL."""
        return np.array([self.configuration(state) for state in found.getStates()])
