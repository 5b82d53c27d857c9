"""Inverse kinematics problem in numeric form: chain, world target, limits and start configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ...errors import InvalidRequestError, UnknownNameError
from ...model.cell import RobotCell
from ...model.joint_arrays import check_distinct
from ...model.mechanism import JointLimits, Variable
from ...model.name_suggestions import unknown_name
from ...model.pose import quaternion_from_rotation
from ...model.state import RobotCellState
from ...model.value import WORLD, Vector3
from ...system.cache import IdentityCache
from .._kernels.pose_error_kernels import SMALL
from ..chain import Chain, joints_to
from ..forward import chain_at_state, frame_matrix
from ..model import CellModel, cell_model
from ..targets import NONE_FREE, TARGET_TYPES, FrameTarget, PointAxisTarget, Target, free_axes_of, target_frame
from .seeds import free_rotations, rotation_matrices

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
        start_target: Target with the free rotation that is nearest to the frame at the start (4, 4).
        rotation_weights: (3,) weights of rotations, see pose_error_kernels.py.
        free_axes: Axes of the target (0, 1, 2) about which the rotation is free.
        tolerance: (2,) [m, rad].
        start: (n,) values of the state [rad, m].
    """

    model: CellModel
    joints: Joints
    chain: Chain
    frame: str
    target: Array
    start_target: Array
    rotation_weights: Array
    free_axes: tuple[int, ...]
    tolerance: Array
    start: Array


UNIT_WEIGHTS = np.array(NONE_FREE)


def is_proven_out_of_reach(problem: IkProblem) -> bool:
    """Return whether a target is farther away than the chain is long: its position, or, if no rotation is free, a point
    on the last axis. Joint limits do not matter."""
    distance, angle = problem.tolerance.tolist()
    bounds = problem.chain.reach_bounds
    if not bounds:
        return False
    to_tip, to_last_axis = bounds
    if to_tip.excess(problem.target) > distance:
        return True
    weight = float(problem.rotation_weights.min())  # that of the axis with the largest tolerance; 0 if it is free
    moved = angle * float(np.linalg.norm(to_last_axis.point))  # by rotations within the tolerance
    return weight > 0.0 and to_last_axis.excess(problem.target) > distance + moved / weight


def within_limits(problem: IkProblem, variables: Sequence[Variable]) -> IkProblem:
    """Return the problem with the limits of its joints narrowed by the position limits of variables, which may be more
    than those of the problem, in any order."""
    limits = {variable.name: variable.limits for variable in variables}
    given = [limits.get(name, JointLimits()) for name in problem.joints.variables]
    lower = np.maximum(problem.joints.limits[0], [each.lower for each in given])
    upper = np.minimum(problem.joints.limits[1], [each.upper for each in given])
    narrowed = np.array((lower, upper, *problem.joints.limits[2:]))
    joints = Joints(problem.joints.variables, narrowed, problem.joints.angular)
    return msgspec.structs.replace(problem, joints=joints)


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
    weights = target.rotation_weights
    free = free_axes_of(weights)
    near = chain.forward(start) if free else None
    matrix = target_matrix(cell, state, target, near)
    start_target = matrix if near is None else free_targets(matrix, near, free, 0)[0]
    tolerance = np.array(target.tolerances)
    return IkProblem(model, joints, chain, setup.frame, matrix, start_target, _array(weights), free, tolerance, start)


def _array(rotation_weights: Vector3) -> Array:
    return UNIT_WEIGHTS if rotation_weights is NONE_FREE else np.array(rotation_weights)


def free_targets(target: Array, near: Array, free_axes: tuple[int, ...], count: int, seed: int = 0) -> Array:
    """Return the transform nearest in rotation to `near` (4, 4) among a target (4, 4) and its free rotations, and
    `count` others: (1 + count, 4, 4)."""
    result = np.repeat(target[None], 1 + count, axis=0)
    nearest = nearest_free_rotation(target[:3, :3], near[:3, :3], free_axes)
    # Rotations about two axes are no group: those of the nearest one are not those of the target.
    if len(free_axes) != 2:
        result[1:, :3, :3] = nearest
    if count:
        result[1:, :3, :3] @= free_rotations(free_axes, count, seed)
    result[0, :3, :3] = nearest
    return result


def nearest_free_rotation(target: Array, near: Array, free_axes: tuple[int, ...]) -> Array:
    """Return the rotation (3, 3) nearest to `near` (3, 3) among a target (3, 3) and its free rotations."""
    nearest = np.array(quaternion_from_rotation(target.T @ near))
    nearest[[axis for axis in range(3) if axis not in free_axes]] = 0.0
    length = np.linalg.norm(nearest)
    if length < SMALL:  # all free rotations are half a turn away
        return target
    return np.asarray(target @ rotation_matrices(nearest[None] / length)[0])


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
