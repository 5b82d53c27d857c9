"""Serial chains: the joints between two frames of a cell, reduced to the given variables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ..system.cache import IdentityCache
from ._kernels import chain_kernels
from .model import CellModel
from .reach_bounds import ReachBound, reach_bounds

Array = NDArray[np.float64]
Z = np.array((0.0, 0.0, 1.0))


class ChainJoint(NamedTuple):
    """Joint of a chain.

    Attributes:
        before: Transform (4, 4) from the preceding joint (or the base).
        revolute: Whether the joint is revolute; otherwise it is prismatic.
        axis: Unit axis in the joint's own frame.
        variable: Variable that the joint follows.
        multiplier, offset: Joint value = multiplier * variable + offset.
    """

    before: Array
    revolute: bool
    axis: Array
    variable: str
    multiplier: float
    offset: float


@dataclass(frozen=True, eq=False)
class Chain:
    """Serial chain with variables q (n,), in the array form that the kernels use.

    Attributes:
        table: (m + 1, 16), format as in `chain_kernels`. Must not be modified.
        variables: Names of the elements of q.
        used: Whether each variable moves the tip.
    """

    table: Array
    variables: tuple[str, ...]
    used: tuple[bool, ...]

    @cached_property
    def all_used(self) -> bool:
        """Whether every variable moves the tip."""
        return all(self.used)

    @cached_property
    def reach_bounds(self) -> tuple[ReachBound, ...]:
        """Bounds of the reach: of the tip's origin, and of a point on the last axis; () if it depends on limits."""
        return reach_bounds(self.table)

    def forward(self, q: Array) -> Array:
        """Compute base_T_tip (4, 4) for a configuration (n,), which must be a C-contiguous, writable float64 array."""
        return chain_kernels.forward(self.table, q)

    def forward_many(self, configurations: Array) -> Array:
        """Compute base_T_tip (k, 4, 4) for configurations (k, n): a C-contiguous, writable float64 array."""
        return chain_kernels.forward_many(self.table, configurations)

    def tip_path_length(self, path: Array, counts: Array) -> float:
        """Return the length [m] of the tip's path, see `chain_kernels.tip_path_length`; arrays as of `forward_many`."""
        length: float = chain_kernels.tip_path_length(self.table, path, counts)
        return length

    def jacobian(self, q: Array) -> Array:
        """Compute the Jacobian (6, n) of the tip's origin in base axes, linear rows first."""
        return chain_kernels.jacobian_of(self.table, q)

    def point_speeds(self, q: Array, point: Array, direction: Array) -> Array:
        """Compute the speed (n,) along a direction (3,) of a point (3,) of the tip for each variable, both in base axes
        [m per rad or m]."""
        return chain_kernels.point_speeds(self.table, q, point, direction)


class JointPath:
    """Joints between the world and a frame, before the variables are selected.

    variables: Names of all variables of these joints, in chain order.
    """

    def __init__(self, model: CellModel, frame: str) -> None:
        placement = model.frame(frame)
        plain = model.mechanisms.pin_model
        joints: list[ChainJoint] = []
        index = placement.joint
        while index:
            coupling = model.mechanisms.couplings[index - 1]
            revolute, axis = joint_axis(plain, index)
            before = plain.jointPlacements[index].homogeneous
            joints.append(ChainJoint(before, revolute, axis, coupling.variable, coupling.multiplier, coupling.offset))
            index = plain.parents[index]
        self.joints = tuple(reversed(joints))
        self.tip: Array = placement.placement.homogeneous
        self.variables = tuple(dict.fromkeys(joint.variable for joint in self.joints))

    def chain(self, variables: tuple[str, ...], values: dict[str, float]) -> Chain:
        """Return the chain from the world to the frame with the given variables; all others are fixed at `values`."""
        position = {name: index for index, name in enumerate(variables)}
        rows: list[Array] = []
        before = np.eye(4)
        for joint in self.joints:
            before = before @ joint.before
            if joint.variable not in position:
                value = joint.multiplier * values[joint.variable] + joint.offset
                before = before @ joint_transform(joint.revolute, joint.axis, value)
                continue
            aligned = np.eye(4) if np.array_equal(joint.axis, Z) else aligned_rotation(joint.axis)
            kind = 0.0 if joint.revolute else 1.0
            rows.append(_row(before @ aligned, kind, position[joint.variable], joint.multiplier, joint.offset))
            before = aligned.T  # rotation only
        rows.append(_row(before @ self.tip, 0.0, 0, 0.0, 0.0))
        used = tuple(name in self.variables for name in variables)
        return Chain(np.array(rows), variables, used)


JointAxis = tuple[bool, Array]
_joint_paths: IdentityCache[JointPath] = IdentityCache(size=512)
_chains: IdentityCache[Chain] = IdentityCache(size=512)
_axes: IdentityCache[tuple[JointAxis, ...]] = IdentityCache(size=64, owners=64)


def joints_to(model: CellModel, frame: str) -> JointPath:
    """Return the joints between the world and a frame.

    Raises:
        UnknownNameError: The frame does not exist.
    """
    return _joint_paths.get((_owner(model, frame),), (frame,), lambda: JointPath(model, frame))


def chain_of(model: CellModel, frame: str, variables: tuple[str, ...], fixed: tuple[tuple[str, float], ...]) -> Chain:
    """Return the chain from the world to a frame with the given variables.

    fixed: Names and values of all other variables of the chain.

    Raises:
        UnknownNameError: The frame does not exist.
    """
    return _chains.get(
        (_owner(model, frame),),
        (frame, variables, fixed),
        lambda: joints_to(model, frame).chain(variables, dict(fixed)),
    )


def _owner(model: CellModel, frame: str) -> object:
    """Return what places a frame: the mechanisms, which cells with the same robots and tools share, or the whole
    model."""
    return model.mechanisms if frame in model.mechanisms.frames else model


def joint_axis(model: pin.Model, index: int) -> JointAxis:
    """Return whether a joint with one degree of freedom is revolute, and its unit axis in its own frame, read-only."""
    return _axes.get((model,), (), lambda: tuple(_joint_axis(model, number) for number in range(1, model.njoints)))[
        index - 1
    ]


def _joint_axis(model: pin.Model, index: int) -> JointAxis:
    joint = model.joints[index]
    data = joint.createData()
    joint.calc(data, np.zeros(model.nq), np.zeros(model.nv))
    column = np.array(data.S).reshape(6)
    column.setflags(write=False)
    revolute = bool(np.any(column[3:]))
    return revolute, column[3:] if revolute else column[:3]


def joint_transform(revolute: bool, axis: Array, value: float) -> Array:
    """Return the transform (4, 4) of a joint at a value [rad or m]."""
    result = np.eye(4)
    if revolute:
        result[:3, :3] = pin.exp3(value * axis)
    else:
        result[:3, 3] = value * axis
    return result


def aligned_rotation(axis: Array) -> Array:
    """Return a rotation (4, 4) whose z axis is the given unit vector, read-only."""
    return _aligned_rotation(*axis.tolist())


@lru_cache(maxsize=256)
def _aligned_rotation(*axis: float) -> Array:
    result, z = np.eye(4), np.array(axis)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    result[:3, :3] = np.column_stack((x, np.cross(z, x), z))
    result.setflags(write=False)
    return result


def _row(before: Array, kind: float, variable: int, multiplier: float, offset: float) -> Array:
    return np.array((*before[:3, :3].ravel(), *before[:3, 3], kind, variable, multiplier, offset))
