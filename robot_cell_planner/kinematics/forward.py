"""Forward kinematics: poses of frames for given joint values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRequestError
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.joint_arrays import checked_configurations, require_limits
from ..model.pose import Pose
from ..model.state import RobotCellState
from ..model.value import WORLD, Vector3, positive
from ..system.cache import IdentityCache
from ._kernels import chain_kernels
from .chain import Chain, chain_of, joints_to
from .model import CellModel, cell_model
from .targets import TargetMode, target_frame
from .transforms import WorldTransforms, pose_of

Array = NDArray[np.float64]


class _FrameChain(NamedTuple):
    """Chain from the world to a frame, with all joints of the chain as its variables."""

    model: CellModel
    chain: Chain

    def matrix(self, state: RobotCellState) -> Array:
        return self.chain.forward(self.model.values(state, self.chain.variables))

    def pose(self, state: RobotCellState) -> Pose:
        x, y, z, qx, qy, qz, qw = chain_kernels.tip_numbers(
            self.chain.table, self.model.values(state, self.chain.variables)
        )
        return Pose((x, y, z), (qx, qy, qz, qw))


_frame_chains: IdentityCache[_FrameChain] = IdentityCache(size=512)


@public
def forward_kinematics(
    cell: RobotCell,
    state: RobotCellState,
    group: str = "",
    mode: TargetMode = TargetMode.ROBOT,
    relative_to: str = WORLD,
    native_scale: float | None = None,
    workpiece: str = "",
    check_limits: bool = False,
) -> Pose:
    """Compute the pose of a group's planner frame, tool centre point or workpiece in the frame `relative_to`.

    Args:
        cell: Models of the cell.
        state: Joint values and attachments.
        group: Planning group; "" for the main group.
        mode: Frame of the group to evaluate.
        relative_to: Reference frame of the result.
        native_scale: Metres per unit of the returned position; 0.001 returns mm.
        workpiece: Body that mode WORKPIECE refers to; required only if several bodies are attached to the tool.
        check_limits: Refuse joint values beyond position limits.

    Raises:
        JointLimitError: A joint value is beyond a limit.
        TargetModeMismatchError: The state does not support the mode.
        UnknownNameError: The group or a frame does not exist.
        InvalidRequestError: The scale is not a finite number above zero.
    """
    frame_chain = _frame_chains.get(
        (cell, state.base_poses, state.tools, state.bodies),
        (group, mode, workpiece),
        lambda: _frame_chain(cell_model(cell, state), target_frame(cell, state, group, mode, workpiece)),
    )
    if check_limits:
        _require_limits(cell, state, frame_chain.chain.variables)
    return _pose(cell, state, frame_chain, relative_to, native_scale)


@public
def forward_kinematics_to_frame(
    cell: RobotCell,
    state: RobotCellState,
    frame: str,
    relative_to: str = WORLD,
    native_scale: float | None = None,
    check_limits: bool = False,
) -> Pose:
    """Compute the pose of any frame (link, tool, tool link, tool centre point, body, named frame) in `relative_to`.

    native_scale: Metres per unit of the returned position; 0.001 returns mm.
    check_limits: Refuse values beyond position limits, of the joints that the frame depends on.

    Raises:
        JointLimitError: A joint value is beyond a limit.
        UnknownNameError: A frame does not exist.
        InvalidRequestError: The scale is not a finite number above zero.
    """
    frame_chain = _frame_chain_to(cell, state, frame)
    if check_limits:
        _require_limits(cell, state, frame_chain.chain.variables)
    return _pose(cell, state, frame_chain, relative_to, native_scale)


def _require_limits(cell: RobotCell, state: RobotCellState, names: tuple[str, ...]) -> None:
    values = np.array([[state.configuration[name] for name in names]])
    require_limits([cell.variables[name] for name in names], values)


def _pose(
    cell: RobotCell, state: RobotCellState, frame_chain: _FrameChain, relative_to: str, native_scale: float | None
) -> Pose:
    if relative_to == WORLD:
        pose = frame_chain.pose(state)
    else:
        pose = pose_of(inverted(_frame_chain_to(cell, state, relative_to).matrix(state)) @ frame_chain.matrix(state))
    return pose if native_scale is None else scaled(pose, native_scale)


@public
def frame_matrix(cell: RobotCell, state: RobotCellState, frame: str, relative_to: str = WORLD) -> Array:
    """Compute relative_to_T_frame (4, 4) at the joint values of a state.

    Raises:
        UnknownNameError: A frame does not exist.
    """
    world_T_frame = _frame_chain_to(cell, state, frame).matrix(state)
    if relative_to == WORLD:
        return world_T_frame
    return inverted(_frame_chain_to(cell, state, relative_to).matrix(state)) @ world_T_frame


def _frame_chain_to(cell: RobotCell, state: RobotCellState, frame: str) -> _FrameChain:
    objects = (cell, state.base_poses, state.tools, state.bodies)
    return _frame_chains.get(objects, (frame,), lambda: _frame_chain(cell_model(cell, state), frame))


def _frame_chain(model: CellModel, frame: str) -> _FrameChain:
    return _FrameChain(model, chain_of(model, frame, joints_to(model, frame).variables, ()))


def inverted(transform: Array) -> Array:
    """Return the inverse transform (4, 4): b_T_a for a_T_b."""
    result = np.eye(4)
    result[:3, :3] = transform[:3, :3].T
    result[:3, 3] = -(result[:3, :3] @ transform[:3, 3])
    return result


def chain_to(cell: RobotCell, state: RobotCellState, frame: str, variables: Sequence[str]) -> Chain:
    """Return the chain from the world to a frame, with all joints except `variables` fixed at the values of the state.

    Use it to evaluate many configurations one at a time: `chain.forward(q)` has almost no overhead.

    Raises:
        UnknownNameError: The frame or a variable does not exist.
    """
    model = cell_model(cell, state)
    names = tuple(variables)
    model.indices(names)
    return chain_at_state(model, state, frame, names)


def scaled(pose: Pose, native_scale: float) -> Pose:
    """Convert the position of a pose from metres to units of `native_scale` metres.

    Raises:
        InvalidRequestError: The scale is not a finite number above zero.
    """
    try:
        positive(native_scale, "native_scale")
    except ValueError as error:
        raise InvalidRequestError(str(error), subjects=("native_scale",)) from error
    x, y, z = pose.position
    position: Vector3 = (x / native_scale, y / native_scale, z / native_scale)
    return Pose(position, pose.quaternion)


@public
def all_link_poses(cell: RobotCell, state: RobotCellState, relative_to: str = WORLD) -> dict[str, Pose]:
    """Compute the poses of all robot links, tools, tool links and tool centre points in `relative_to`.

    Raises:
        UnknownNameError: `relative_to` does not exist.
    """
    transforms = WorldTransforms(cell, state)
    names = (name for name in transforms.model.mechanisms.frames if name != WORLD)
    return {name: transforms.pose(name, relative_to) for name in names}


@public
def forward_batch(
    cell: RobotCell,
    state: RobotCellState,
    frame: str,
    variables: Sequence[str],
    configurations: Array,
    relative_to: str = WORLD,
    check_limits: bool = False,
) -> Array:
    """Compute relative_to_T_frame (k, 4, 4) for configurations (k, n) of `variables` [rad, m].

    All other variables are fixed at the values of the state.

    check_limits: Refuse configurations beyond position limits.

    Raises:
        JointLimitError: A value is beyond a limit.
        UnknownNameError: A frame or a variable does not exist.
        InvalidRequestError: The array has the wrong shape or contains a number that is not finite.
    """
    model = cell_model(cell, state)
    names = tuple(variables)
    model.indices(names)
    rows = checked_configurations(configurations, names)
    if check_limits:
        require_limits([cell.variables[name] for name in names], rows)
    poses = chain_at_state(model, state, frame, names).forward_many(rows)
    if relative_to == WORLD:
        return poses
    references = chain_at_state(model, state, relative_to, names).forward_many(rows)
    rotations = references[:, :3, :3].transpose(0, 2, 1)
    result = np.zeros_like(poses)
    result[:, :3, :3] = rotations @ poses[:, :3, :3]
    result[:, :3, 3] = np.einsum("kij,kj->ki", rotations, poses[:, :3, 3] - references[:, :3, 3])
    result[:, 3, 3] = 1.0
    return result


def chain_at_state(model: CellModel, state: RobotCellState, frame: str, variables: tuple[str, ...]) -> Chain:
    """Return the chain from the world to a frame, with all joints except `variables` fixed at the values of the state.

    Raises:
        UnknownNameError: The frame does not exist.
    """
    fixed = tuple(name for name in joints_to(model, frame).variables if name not in variables)
    values = tuple(model.values(state, fixed).tolist()) if fixed else ()
    return chain_of(model, frame, variables, tuple(zip(fixed, values, strict=True)))
