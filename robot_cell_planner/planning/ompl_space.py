"""OMPL's spaces: the box of the joints, a subspace of it, and what constraints on frames leave of that."""

from __future__ import annotations

from typing import Any

import numpy as np
from ompl import base as ob
from ompl import geometric as og

from ..errors import ConstraintMismatchError
from ..trajectory.limits import Array
from .frame_constraints import FrameConstraints
from .subspace import Subspace

# OMPL looks for states that miss the constraints by less than this, in tolerances.
MISS = 0.2
PROJECTIONS = 50


class _Projection(ob.Constraint):  # type: ignore[misc]
    """The constraints in the coordinates of a subspace, in tolerances."""

    def __init__(self, subspace: Subspace, constraints: FrameConstraints) -> None:
        super().__init__(subspace.size, len(constraints.held), MISS)
        self.setMaxIterations(PROJECTIONS)
        self.subspace = subspace
        self.constraints = constraints
        self.scale = np.array([1.0 / held.tolerance for held in constraints.held])

    def function(self, x: Array, out: Array) -> None:
        out[:] = self.constraints.residuals(self.subspace.to_full(np.asarray(x)))[0] * self.scale

    def jacobian(self, x: Array, out: Array) -> None:
        gradients = self.constraints.residuals(self.subspace.to_full(np.asarray(x)))[1]
        out[:, :] = self.scale[:, None] * (gradients @ self.subspace.basis)


class SearchSpace:
    """A space of OMPL over a subspace, and the way between its states and configurations."""

    def __init__(self, subspace: Subspace, constraints: FrameConstraints | None, step: float) -> None:
        self.subspace = subspace
        self.size = subspace.size
        self._constrained = bool(constraints)
        box = ob.RealVectorStateSpace(self.size)
        bounds = ob.RealVectorBounds(self.size)
        for index, (low, high) in enumerate(zip(subspace.lower.tolist(), subspace.upper.tolist(), strict=True)):
            bounds.setLow(index, low)
            bounds.setHigh(index, high)
        box.setBounds(bounds)
        if not constraints:
            self.information: Any = ob.SpaceInformation(box)
            return
        if len(constraints.held) >= self.size:
            text = f"{len(constraints.held)} constraints on frames leave nothing of {self.size} dimensions"
            raise ConstraintMismatchError(text, stage="search")
        # OMPL's objects do not keep these alive by themselves.
        self._box, self._projection = box, _Projection(subspace, constraints)
        space = ob.ProjectedStateSpace(box, self._projection)
        self.information = ob.ConstrainedSpaceInformation(space)
        space.setDelta(step)

    def configuration(self, state: Any) -> Array:
        """The configuration (dof,) of a state."""
        return self.subspace.to_full(np.array([state[index] for index in range(self.size)]))

    def state(self, q: Array) -> Any:
        """The state of a configuration (dof,)."""
        state = self.information.getStateSpace().allocState()
        values = self.subspace.to_reduced(q)
        if self._constrained:
            state.copy(values)
            return state
        for index, value in enumerate(values.tolist()):
            state[index] = value
        return state

    def path(self, found: Any) -> Array:
        """Waypoints (n, dof) of a path of OMPL; on constraints, as dense as it was checked."""
        if self._constrained:
            found.interpolate()
        return np.array([self.configuration(state) for state in found.getStates()])

    def filled(self, waypoints: Array) -> Array:
        """Waypoints (n, dof) of a way through a roadmap; on constraints, as dense as it was checked."""
        if not self._constrained:
            return waypoints
        path = og.PathGeometric(self.information)
        for q in waypoints:
            path.append(self.state(q))
        return self.path(path)

