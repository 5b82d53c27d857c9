"""Differential kinematics: Jacobians, their time derivatives and derived quantities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRequestError
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.joint_arrays import checked_configurations
from ..model.state import RobotCellState
from ..model.value import MAX_RATE, Vector3, vector3
from ._kernels import chain_kernels
from .chain import Chain
from .forward import chain_to, frame_matrix
from .model import cell_model
from .targets import TargetMode, target_frame

Array = NDArray[np.float64]
ORIGIN: Vector3 = (0.0, 0.0, 0.0)


class JacobianAxes(str, Enum):
    """Axes in which a Jacobian or twist is expressed."""

    WORLD = "world"
    BASE = "base"  # base link of the group
    TOOL = "tool"  # the frame itself, in its current orientation


@dataclass(frozen=True, eq=False)
class Jacobians:
    """Jacobians of a point for k configurations.

    Attributes:
        variables: Names of the columns.
        jacobian: (k, 6, n), linear rows first [m/rad, 1; m/m, 0].
        derivative: (k, 6, n), time derivative of the Jacobian at the given velocities; zero if none were given.
    """

    variables: tuple[str, ...]
    jacobian: Array
    derivative: Array
    velocities: Array

    def twists(self) -> Array:
        """Return the linear [m/s] and angular [rad/s] velocities of the point, (k, 6)."""
        return np.asarray(np.einsum("kij,kj->ki", self.jacobian, self.velocities))

    def singular_values(self) -> Array:
        """Return the singular values in descending order, (k, min(6, n))."""
        return np.asarray(np.linalg.svd(self.jacobian, compute_uv=False))

    def manipulabilities(self) -> Array:
        """Return sqrt(det(J J^T)), or sqrt(det(J^T J)) for fewer than six variables, (k,)."""
        return np.asarray(self.singular_values().prod(axis=1))


@public
def jacobians(
    cell: RobotCell,
    state: RobotCellState,
    group: str = "",
    frame: str = "",
    point: Vector3 = ORIGIN,
    axes: JacobianAxes = JacobianAxes.WORLD,
    configurations: Array | None = None,
    velocities: Array | None = None,
) -> Jacobians:
    """Compute the Jacobians of a point fixed to a frame with respect to the variables of a group.

    Args:
        cell: Models of the cell.
        state: Values of all other variables, and attachments.
        group: Planning group; "" for the main group.
        frame: Frame of the point; "" for the tool centre point, or for the tip link of a group without a tool.
        point: Position in that frame [m].
        axes: Axes in which the result is expressed.
        configurations: (k, n) values of the group's variables [rad, m]; None for those of the state.
        velocities: (k, n) or (n,) [rad/s, m/s], for the time derivatives.

    Raises:
        UnknownNameError: The group or frame does not exist.
        InvalidRequestError: An array has the wrong shape or contains a number that is not finite.
    """
    names = cell.group(group).variables
    frame = frame or moved_frame(cell, state, group)
    chain = at_point(chain_to(cell, state, frame, names), point)
    if configurations is None:
        rows = cell_model(cell, state).values(state, names)[None]
    else:
        rows = checked_configurations(configurations, names)
    rates = np.zeros_like(rows)
    if velocities is not None:
        given = checked_configurations(np.atleast_2d(velocities), names, max_value=MAX_RATE)
        if len(given) not in (1, len(rows)):
            raise InvalidRequestError(f"there are {len(given)} velocities for {len(rows)} configurations")
        rates[:] = given
    jacobian, derivative, poses = chain_kernels.jacobians_and_rates(chain.table, rows, rates)
    if axes is JacobianAxes.BASE:
        base = cell.group(group).base_link or cell.robot_of_group(group).mechanism.root
        rotation = frame_matrix(cell, state, base)[:3, :3].T
        jacobian, derivative = _wrapped(jacobian, rotation), _wrapped(derivative, rotation)
    elif axes is JacobianAxes.TOOL:
        rotations = poses[:, :3, :3].transpose(0, 2, 1)
        # d(R^T J)/dt = R^T (dJ/dt - w x J)
        spin = np.einsum("kij,kj->ki", jacobian[:, 3:], rates)[:, None, :]
        crossed = [np.cross(spin, half.transpose(0, 2, 1)) for half in (jacobian[:, :3], jacobian[:, 3:])]
        derivative = derivative - np.concatenate([half.transpose(0, 2, 1) for half in crossed], axis=1)
        jacobian, derivative = _wrapped(jacobian, rotations), _wrapped(derivative, rotations)
    return Jacobians(names, jacobian, derivative, rates)


def moved_frame(cell: RobotCell, state: RobotCellState, group: str = "") -> str:
    """Return the tool centre point of a group, or its tip link if no tool is attached."""
    mode = TargetMode.TOOL if cell.tool_of_group(state, group) else TargetMode.ROBOT
    return target_frame(cell, state, group, mode)


def at_point(chain: Chain, point: Sequence[float]) -> Chain:
    """Return the chain to a point [m] fixed to the tip, with the axes of the tip.

    Raises:
        InvalidRequestError: The point is not three finite numbers.
    """
    try:
        offset = np.array(vector3(point, "point"))
    except ValueError as error:
        raise InvalidRequestError(str(error), subjects=("point",)) from error
    table = chain.table.copy()
    table[-1, 9:12] += table[-1, :9].reshape(3, 3) @ offset
    return Chain(table, chain.variables, chain.used)


def _wrapped(jacobian: Array, rotation: Array) -> Array:
    """Rotate the linear and angular rows of Jacobians (k, 6, n); `rotation` is (3, 3) or (k, 3, 3)."""
    return np.concatenate((rotation @ jacobian[:, :3], rotation @ jacobian[:, 3:]), axis=1)
