"""Dynamic model of the simulated robots that controllers use, evaluated once in each control period."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kinematics.dynamics import Dynamics
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...model.value import Vector3

Array = NDArray[np.float64]
MIN_INERTIA = 1e-6  # [kg m2 or kg] of a joint, for gains


class Plant:
    """Dynamics of the joints with a motor, including the armature of their drives. Arrays (n,) are in the order of
    `variables`.

    Attributes:
        cell, state: The cell with the masses of its simulation, and the state with its attachments.
        variables: All variables of robots and tools.
        q, v: Positions and velocities that the quantities are for.
    """

    def __init__(self, cell: RobotCell, state: RobotCellState, gravity: Vector3) -> None:
        self.cell, self.state = cell, state
        self._dynamics = Dynamics(cell, state, gravity)
        self.variables = self._dynamics.variables
        n = len(self.variables)
        self.armature = np.zeros(n)
        self.damping = np.zeros(n)
        self.friction = np.zeros(n)
        self.q, self.v = np.zeros(n), np.zeros(n)
        self._gravity: Array | None = None
        self._mass: Array | None = None

    def update(self, q: Array, v: Array) -> None:
        """Set the measured positions and velocities (n,)."""
        self.q, self.v = q, v
        self._gravity = self._mass = None

    @property
    def gravity(self) -> Array:
        """Efforts that compensate gravity (n,)."""
        if self._gravity is None:
            self._gravity = self._dynamics.gravity(self.q)
        return self._gravity

    @property
    def mass_matrix(self) -> Array:
        """Mass matrix with armature (n, n)."""
        if self._mass is None:
            self._mass = self._dynamics.mass_matrix(self.q) + np.diag(self.armature)
        return self._mass

    @property
    def inertias(self) -> Array:
        """Inertia that each joint moves while the others are at rest (n,)."""
        return np.maximum(np.diag(self.mass_matrix), MIN_INERTIA)

    def inverse(self, a: Array) -> Array:
        """Return the efforts (n,) for accelerations (n,), without friction."""
        return self._dynamics.inverse(self.q, self.v, a) + self.armature * a

    def known_friction(self, desired_v: Array) -> Array:
        """Return the efforts (n,) that compensate viscous friction, and static friction in the desired direction."""
        return self.damping * self.v + self.friction * np.sign(desired_v)
