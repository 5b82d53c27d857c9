"""Dynamics of the robots and tools of a cell, including the masses of tools and attached bodies. Uses Pinocchio."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ..errors import InvalidRequestError, ModelError
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.joint_arrays import checked_configurations
from ..model.state import RobotCellState
from ..model.value import MAX_JOINT_VALUE, MAX_RATE, Vector3, vector3
from .model import cell_model
from .pinocchio_model import GRAVITY

Array = NDArray[np.float64]
DOWN: Vector3 = (0.0, 0.0, -GRAVITY)
NO_WRENCHES: Mapping[str, Array] = {}


class Dynamics:
    """Dynamics of all joints of a cell.

    Arguments are arrays (n,) in the order of `variables`, or (k, n) for k rows; results have the same form. Units are
    rad and m with time derivatives in s, and Nm and N for efforts. Friction is not modelled. The effort of a mimic
    joint is included in the effort of the variable that it follows.

    A wrench (6,) is an external force [N] and torque [Nm] at the origin and in the axes of the frame that it is given
    for. An instance must not be used by several threads at once.

    Raises:
        InvalidRequestError: Raised by every method if an array has the wrong shape or contains a number that is not
            finite.
        UnknownNameError: Raised by every method that takes wrenches if a frame does not exist.
    """

    @public
    def __init__(self, cell: RobotCell, state: RobotCellState, gravity: Vector3 = DOWN) -> None:
        """Build the dynamic model. `gravity` is expressed in the world frame [m/s2].

        Raises:
            InvalidRequestError: Gravity is not three finite numbers.
        """
        self._cell_model = cell_model(cell, state)
        self.variables = self._cell_model.variables
        self._state = state
        try:
            pull = np.array(vector3(gravity, "gravity"))
        except ValueError as error:
            raise InvalidRequestError(str(error), subjects=("gravity",)) from error
        self._model = pin.Model(self._cell_model.model)
        self._model.gravity.linear = pull
        self._data = self._model.createData()
        self._depth_first = _is_depth_first(self._model)
        expansion = self._cell_model.expansion
        self._matrix = np.eye(len(self.variables)) if expansion is None else expansion[0]

    @public
    def inverse(
        self,
        q: Array | None = None,
        v: Array | None = None,
        a: Array | None = None,
        wrenches: Mapping[str, Array] = NO_WRENCHES,
    ) -> Array:
        """Compute inverse dynamics: the efforts [Nm, N] for the accelerations `a`.

        If `q` is None, the configuration of the state is used; None for the others means zero.
        """
        rows, single = self._rows(q, v, a)
        forces = self._forces(wrenches)
        efforts = [
            pin.rnea(self._model, self._data, full, self._matrix @ dv, self._matrix @ da, *forces)
            for full, dv, da in zip(self._cell_model.expand(rows[0]), rows[1], rows[2], strict=True)
        ]
        return _formed(np.array(efforts) @ self._matrix, single)

    @public
    def gravity(self, q: Array | None = None) -> Array:
        """Compute the efforts [Nm, N] that compensate gravity."""
        rows, single = self._rows(q)
        efforts = [
            pin.computeGeneralizedGravity(self._model, self._data, full) for full in self._cell_model.expand(rows[0])
        ]
        return _formed(np.array(efforts) @ self._matrix, single)

    @public
    def mass_matrix(self, q: Array | None = None) -> Array:
        """Compute the joint space mass matrix [kg m2, kg m or kg], (n, n) or (k, n, n)."""
        rows, single = self._rows(q)
        return _formed(np.array([self._mass(full) for full in self._cell_model.expand(rows[0])]), single)

    @public
    def forward(
        self,
        q: Array | None = None,
        v: Array | None = None,
        efforts: Array | None = None,
        wrenches: Mapping[str, Array] = NO_WRENCHES,
    ) -> Array:
        """Compute forward dynamics: the accelerations [rad/s2, m/s2] that result from the efforts [Nm, N].

        Raises:
            ModelError: A joint moves no mass, so its acceleration is undefined.
        """
        rows, single = self._rows(q, v, efforts)
        bias = np.atleast_2d(self.inverse(rows[0], rows[1], None, wrenches))
        result = np.empty_like(bias)
        for row, full in enumerate(self._cell_model.expand(rows[0])):
            result[row] = self._accelerations(self._mass(full), rows[2][row] - bias[row])
        return _formed(result, single)

    def _accelerations(self, mass: Array, efforts: Array) -> Array:
        weightless = np.flatnonzero(np.diag(mass) <= 1e-12)
        if len(weightless):
            names = tuple(self.variables[index] for index in weightless)
            raise ModelError(f"joint {', '.join(names[:6])} moves no mass", stage="dynamics", subjects=names)
        try:
            np.linalg.cholesky(mass)
        except np.linalg.LinAlgError as error:
            text = "the masses of the links do not give a positive mass matrix"
            raise ModelError(text, stage="dynamics", subjects=self.variables) from error
        return np.asarray(np.linalg.solve(mass, efforts))

    def _mass(self, full: Array) -> Array:
        if self._depth_first:
            upper = np.triu(pin.crba(self._model, self._data, full))
            mass = upper + np.triu(upper, 1).T
        else:
            # Pinocchio's algorithm for composite rigid bodies needs the joints in depth-first order.
            rest = pin.computeGeneralizedGravity(self._model, self._data, full).copy()
            units, still = np.eye(self._model.nv), np.zeros(self._model.nv)
            mass = np.array([pin.rnea(self._model, self._data, full, still, unit) - rest for unit in units])
        return np.asarray(self._matrix.T @ mass @ self._matrix)

    def _rows(self, *arrays: Array | None) -> tuple[list[Array], bool]:
        """Return the arrays as tables with equal numbers of rows, and whether all of them were single rows."""
        defaults = [self._cell_model.configuration(self._state)] + [np.zeros(len(self.variables))] * 2
        bounds = (MAX_JOINT_VALUE, MAX_RATE, MAX_RATE)
        tables = [
            checked_configurations(np.atleast_2d(default if array is None else array), self.variables, max_value=bound)
            for array, default, bound in zip(arrays, defaults, bounds, strict=False)
        ]
        count = max(len(table) for table in tables)
        if any(len(table) not in (1, count) for table in tables):
            raise InvalidRequestError(f"arrays have {[len(t) for t in tables]} rows, expected as many or one")
        single = all(given is None or np.ndim(given) == 1 for given in arrays)
        return [np.repeat(table, count, axis=0) if len(table) < count else table for table in tables], single

    def _forces(self, wrenches: Mapping[str, Array]) -> tuple[object, ...]:
        """Return Pinocchio's list of joint forces in joint axes, or nothing without wrenches."""
        if not wrenches:
            return ()
        forces = [pin.Force.Zero() for _ in range(self._model.njoints)]
        for frame, wrench in wrenches.items():
            values = np.asarray(wrench, dtype=np.float64)
            if values.shape != (6,) or not np.isfinite(values).all():
                raise InvalidRequestError(f"the wrench at {frame} is not six finite numbers", subjects=(frame,))
            joint, placement = self._cell_model.frame(frame)
            forces[joint] = forces[joint] + placement.act(pin.Force(values))
        result = pin.StdVec_Force()
        result.extend(forces)
        return (result,)


def _is_depth_first(model: pin.Model) -> bool:
    """Return whether the joints below each joint follow it without a gap."""
    return all(list(tree) == list(range(tree[0], tree[0] + len(tree))) for tree in list(model.subtrees)[1:])


def _formed(result: Array, single: bool) -> Array:
    return result[0] if single else result
