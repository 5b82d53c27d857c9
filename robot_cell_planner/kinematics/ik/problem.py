"""Inverse kinematics problem in numeric form: chain, world target, limits and start configuration."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ...errors import InvalidRequestError, UnknownNameError
from ...model.cell import RobotCell
from ...model.joint_arrays import check_distinct
from ...model.name_suggestions import unknown_name
from ...model.state import RobotCellState
from ...model.value import WORLD
from ...system.cache import IdentityCache
from .._kernels.pose_error_kernels import ABOUT_Z, ANY_ROTATION, FIXED_ROTATION
from ..chain import Chain, joints_to
from ..forward import chain_at_state, frame_matrix
from ..model import CellModel, cell_model
from ..targets import TARGET_TYPES, FrameTarget, PointAxisTarget, Target, target_frame

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Joints:
    """Variables of an inverse kinematics problem.

    Attributes:
        variables: Names.
        limits: (4, n): lower limits, upper limits, -inf, inf.
        angular: (n,), 1 for angles and 0 for lengths.
    """

    variables: tuple[str, ...]
    limits: Array
    angular: Array


def unlimited(joints: Joints) -> Joints:
    """Return a copy without limits."""
    return Joints(joints.variables, joints.limits[[2, 3, 2, 3]], joints.angular)


class IkProblem(msgspec.Struct, frozen=True, eq=False):
    """Inverse kinematics problem. All arrays are C-contiguous and writable, and must not be modified.

    Attributes:
        model: Model of the cell.
        joints: Variables and limits.
        chain: Chain from the world to the frame.
        frame: Frame that has to reach the target.
        target: world_T_target (4, 4).
        free_rotation: Task-space DoF mask, see ik_kernels.py.
        tolerance: (2,) [m, rad].
        start: (n,) values of the state [rad, m].
    """

    model: CellModel
    joints: Joints
    chain: Chain
    frame: str
    target: Array
    free_rotation: int
    tolerance: Array
    start: Array


class _Setup(msgspec.Struct, frozen=True, eq=False):
    """Data that depends neither on the target values nor on joint values. `chain`: set if no joint of the chain is
    fixed."""

    model: CellModel
    joints: Joints
    frame: str
    chain: Chain | None


_setups: IdentityCache[_Setup] = IdentityCache(size=256)


def ik_problem(
    cell: RobotCell, state: RobotCellState, target: Target, group: str = "", variables: tuple[str, ...] = ()
) -> IkProblem:
    """Build the problem of moving a group to a target.

    variables: Variables of the group that may move, in the order of the returned configurations; () for all.

    Raises:
        TargetModeMismatchError: The state does not support the target mode.
        UnknownNameError: The group, joint of the group, frame or body does not exist.
        InvalidRequestError: The group has no joints, none of them moves the frame, or the target is not a target type.
    """
    if not isinstance(target, TARGET_TYPES):
        raise InvalidRequestError(f"target is a {type(target).__name__}, expected a FrameTarget or PointAxisTarget")
    setup = _setups.get(
        (cell, state.base_poses, state.tools, state.bodies),
        (group, target.mode, target.frame, variables),
        lambda: _set_up(cell, state, target, group, variables),
    )
    model, joints = setup.model, setup.joints
    chain = setup.chain or chain_at_state(model, state, setup.frame, joints.variables)
    start = model.values(state, joints.variables)
    free = isinstance(target, PointAxisTarget) or target.position_only
    near = chain.forward(start) if free else None
    matrix = target_matrix(cell, state, target, near)
    free_rotation = FIXED_ROTATION
    if near is not None:
        free_rotation = ABOUT_Z
        if target.position_only:
            free_rotation = ANY_ROTATION
            matrix[:3, :3] = near[:3, :3]
    return IkProblem(model, joints, chain, setup.frame, matrix, free_rotation, np.array(target.tolerances), start)


def target_matrix(cell: RobotCell, state: RobotCellState, target: Target, near: Array | None = None) -> Array:
    """Return world_T_target (4, 4).

    near: world_T_frame; a PointAxisTarget is rotated as little as possible from it.

    Raises:
        UnknownNameError: The target's reference frame does not exist.
    """
    reference = None
    if target.reference_frame != WORLD:
        reference = frame_matrix(cell, state, target.reference_frame)
    if isinstance(target, FrameTarget):
        matrix = target.pose.matrix
        if target.native_scale != 1.0:
            matrix[:3, 3] *= target.native_scale
    else:
        assert near is not None
        matrix = _axis_matrix(target, near if reference is None else np.linalg.inv(reference) @ near)
    return matrix if reference is None else np.ascontiguousarray(reference @ matrix)


def _set_up(cell: RobotCell, state: RobotCellState, target: Target, group: str, variables: tuple[str, ...]) -> _Setup:
    model = cell_model(cell, state)
    joints = _solved_for(model, group, variables)
    frame = target_frame(cell, state, group, target.mode, target.frame)
    chain = chain_at_state(model, state, frame, joints.variables)
    if not any(chain.used):
        name = cell.group(group).name
        raise InvalidRequestError(f"no joint of group {name} moves frame {frame}", subjects=(name, frame))
    none_fixed = set(joints_to(model, frame).variables) <= set(joints.variables)
    return _Setup(model, joints, frame, chain if none_fixed else None)


def _solved_for(model: CellModel, group: str, variables: tuple[str, ...]) -> Joints:
    found = model.cell.group(group)
    for name in variables:
        if name not in found.variables:
            text = unknown_name(f"joint {name!r} of group {found.name}", name, found.variables)
            raise UnknownNameError(text, subjects=(name, found.name))
    names = variables or found.variables
    check_distinct(names)
    if not names:
        raise InvalidRequestError(f"group {found.name} has no joints", subjects=(found.name,))
    indices = model.indices(names)
    unlimited = np.full(len(names), np.inf)
    limits = np.array((model.lower[indices], model.upper[indices], -unlimited, unlimited))
    angular = np.array([float(model.variable(name).angular) for name in names])
    return Joints(names, limits, angular)


def _axis_matrix(target: PointAxisTarget, near: Array) -> Array:
    """Return the transform with the target's position and z axis and the min rotation from `near`."""
    axis = np.array(target.axis) / np.linalg.norm(target.axis)
    z = near[:3, 2]
    across, cosine = np.cross(z, axis), float(z @ axis)
    sine = float(np.linalg.norm(across))
    direction = across / sine if sine > 1e-12 else near[:3, 0]
    result = np.eye(4)
    result[:3, :3] = pin.exp3(np.arctan2(sine, cosine) * direction) @ near[:3, :3]
    result[:3, 3] = np.array(target.point) * target.native_scale
    return result
