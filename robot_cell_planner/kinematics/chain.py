"""Serial chains: the way from one frame of a cell to another, reduced to what some of its variables move."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ..model.cache import IdentityCache
from ._kernels import chain_kernels
from .model import CellModel

Array = NDArray[np.float64]
Z = np.array((0.0, 0.0, 1.0))


class ChainJoint(NamedTuple):
    """A joint on the way. before: transform (4, 4) from the joint (or base) before; axis: unit, in its own frame."""

    before: Array
    turns: bool
    axis: Array
    variable: str
    multiplier: float
    offset: float


@dataclass(frozen=True, eq=False)
class Chain:
    """A chain whose variables are q (n,), as the array that the kernels take.

    table: (m + 1, 16), as `chain_kernels` says; constant. variables: names of q. used: whether each moves the tip.
    """

    table: Array
    variables: tuple[str, ...]
    used: tuple[bool, ...]

    @cached_property
    def all_used(self) -> bool:
        return all(self.used)

    def forward(self, q: Array) -> Array:
        """base_T_tip (4, 4) for a configuration (n,): C contiguous float64, writable."""
        return chain_kernels.forward(self.table, q)

    def forward_many(self, configurations: Array) -> Array:
        """base_T_tip (k, 4, 4) for configurations (k, n): C contiguous float64, writable."""
        return chain_kernels.forward_many(self.table, configurations)

    def jacobian(self, q: Array) -> Array:
        """Jacobian (6, n), linear rows first, of the tip's origin in the axes of the base."""
        return chain_kernels.jacobian_of(self.table, q)


class Way:
    """The joints between the world and a frame, before it is decided which of them are variables.

    variables: names of all variables on the way, in its order.
    """

    def __init__(self, model: CellModel, frame: str) -> None:
        placement = model.frame(frame)
        plain = model.mechanisms.pin_model
        joints: list[ChainJoint] = []
        index = placement.joint
        while index:
            drive = model.mechanisms.drives[index - 1]
            turns, axis = joint_motion(plain, index)
            before = plain.jointPlacements[index].homogeneous
            joints.append(ChainJoint(before, turns, axis, drive.variable, drive.multiplier, drive.offset))
            index = plain.parents[index]
        self.joints = tuple(reversed(joints))
        self.tip: Array = placement.placement.homogeneous
        self.variables = tuple(dict.fromkeys(joint.variable for joint in self.joints))

    def chain(self, variables: tuple[str, ...], values: dict[str, float]) -> Chain:
        """The chain from the world to the frame that `variables` move; all others on the way stay at `values`."""
        position = {name: index for index, name in enumerate(variables)}
        rows: list[Array] = []
        before = np.eye(4)
        for joint in self.joints:
            before = before @ joint.before
            if joint.variable not in position:
                value = joint.multiplier * values[joint.variable] + joint.offset
                before = before @ motion_matrix(joint.turns, joint.axis, value)
                continue
            aligned = _aligned(joint.axis)
            kind = 0.0 if joint.turns else 1.0
            rows.append(_row(before @ aligned, kind, position[joint.variable], joint.multiplier, joint.offset))
            before = aligned.T  # a rotation alone
        rows.append(_row(before @ self.tip, 0.0, 0, 0.0, 0.0))
        used = tuple(name in self.variables for name in variables)
        return Chain(np.array(rows), variables, used)


_ways: IdentityCache[Way] = IdentityCache(size=512)
_chains: IdentityCache[Chain] = IdentityCache(size=512)


def way_to(model: CellModel, frame: str) -> Way:
    """The joints between the world and a frame.

    Raises:
        UnknownNameError: there is no such frame.
    """
    return _ways.get((model,), (frame,), lambda: Way(model, frame))


def chain_of(model: CellModel, frame: str, variables: tuple[str, ...], held: tuple[tuple[str, float], ...]) -> Chain:
    """The chain from the world to a frame that `variables` move; held: names and values of all others on the way.

    Raises:
        UnknownNameError: there is no such frame.
    """
    return _chains.get((model,), (frame, variables, held), lambda: way_to(model, frame).chain(variables, dict(held)))


def joint_motion(model: pin.Model, index: int) -> tuple[bool, Array]:
    """Whether a joint of one degree of freedom turns, and its unit axis in its own frame."""
    joint = model.joints[index]
    data = joint.createData()
    joint.calc(data, np.zeros(model.nq), np.zeros(model.nv))
    column = np.asarray(data.S).reshape(6)
    turns = bool(np.any(column[3:]))
    return turns, column[3:] if turns else column[:3]


def motion_matrix(turns: bool, axis: Array, value: float) -> Array:
    """Transform (4, 4) of a joint at a value [rad or m]."""
    result = np.eye(4)
    if turns:
        result[:3, :3] = pin.exp3(value * axis)
    else:
        result[:3, 3] = value * axis
    return result


def _aligned(axis: Array) -> Array:
    """A rotation (4, 4) whose z axis is the given one."""
    result = np.eye(4)
    smallest = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(smallest, axis)
    x /= np.linalg.norm(x)
    result[:3, :3] = np.column_stack((x, np.cross(axis, x), axis))
    return np.eye(4) if np.array_equal(axis, Z) else result


def _row(before: Array, kind: float, variable: int, multiplier: float, offset: float) -> Array:
    return np.array((*before[:3, :3].ravel(), *before[:3, 3], kind, variable, multiplier, offset))
