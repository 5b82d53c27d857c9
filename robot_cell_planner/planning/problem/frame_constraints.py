"""Evaluation of frame constraints: deviation of configurations, and projection onto the constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import ConstraintMismatchError, Value
from ...kinematics._kernels import frame_set_kernels as kernels
from ...kinematics._kernels import frame_set_motion_kernels as motion_kernels
from ...kinematics.chain import Chain
from ...kinematics.forward import chain_to, frame_matrix
from ...kinematics.targets import target_frame
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...model.value import WORLD
from ...trajectory.limits import Array
from .constraints import FrameConstraint, FrameRule
from .space import JointSpace

START = "the start state"  # how errors name it
CONSTRAINT_STEP = motion_kernels.CHECK_STEP  # [rad or m] between states of a motion that are checked
ANGULAR_RULES = (FrameRule.AXIS_IN_CONE, FrameRule.ORIENTATION)
KINDS = {
    FrameRule.AXIS_IN_CONE: kernels.AXIS_IN_CONE,
    FrameRule.ORIENTATION: kernels.ORIENTATION,
    FrameRule.POSITION_IN_BOX: kernels.POSITION_IN_BOX,
    FrameRule.POSITION_ON_PLANE: kernels.POSITION_ON_PLANE,
    FrameRule.POSITION_ON_LINE: kernels.POSITION_ON_LINE,
}


@dataclass(frozen=True, eq=False)
class ConstrainedFrame:
    """Frame constraint with the kinematic chain from world to the frame.

    Attributes:
        pose: Pose (4, 4) of the constraint in the world.
        axis: Unit axis (3,) of the constraint in the world.
    """

    constraint: FrameConstraint
    name: str
    chain: Chain
    pose: Array
    axis: Array

    @property
    def tolerance(self) -> float:
        return self.constraint.tolerance


class FrameConstraints:
    """Frame constraints of a request at its start state. An empty instance is falsy."""

    def __init__(
        self, cell: RobotCell, state: RobotCellState, space: JointSpace, constraints: Sequence[FrameConstraint]
    ) -> None:
        self.frames = tuple(_constrained_frame(cell, state, space, constraint) for constraint in constraints)
        if self.frames:
            self._sets = _frame_sets(self.frames, space)

    def __bool__(self) -> bool:
        return bool(self.frames)

    def deviations(self, q: Array) -> Array:
        """Return the deviation of each frame (m,) [rad or m] at q (dof,); for a cone, the angle to its axis."""
        return kernels.deviations(self._sets, _rows(q))

    def excess(self, configurations: Array) -> Array:
        """Return the max deviation, in units of the tolerance, of configurations (k, dof): (k,); above 1 a constraint
        is violated.
        """
        return kernels.excess(self._sets, _rows(configurations))

    def keeps(self, path: Array) -> bool:
        """Return whether the states of a path (n, dof) every CONSTRAINT_STEP, and its waypoints, are within the
        tolerances. Search, simplification and verification all apply this rule.
        """
        return motion_kernels.path_within(self._sets, _rows(path))

    def project(self, q: Array, basis: Array) -> Array | None:
        """Project q (dof,) onto the constraints by Newton's method, along the columns of a basis (dof, k) and within
        joint limits.

        Returns:
            The projected configuration (dof,); None if the iteration does not converge.
        """
        projected = np.array(q, dtype=np.float64)
        return projected if kernels.project(self._sets, projected, basis) else None

    def step_towards(self, start: Array, end: Array, step: float, basis: Array) -> Array | None:
        """Return the projected configuration (dof,) one step from `start` towards `end`, which is farther away than
        that; None without progress, or beyond joint limits. basis: As in `project`."""
        moved = np.empty(len(start))
        return moved if kernels.step_towards(self._sets, _rows(start), _rows(end), step, basis, moved) else None

    def trace(self, start: Array, end: Array, step: float, basis: Array) -> Array | None:
        """Return a path (n, dof) on the constraints with these ends, in steps of this length towards the end; None if
        there is none. Straight motions along it stay within the tolerances. basis: As in `project`.
        """
        points = kernels.trace(self._sets, _rows(start), _rows(end), step, basis)
        return self.refined(points, basis) if len(points) else None

    def refined(self, path: Array, basis: Array) -> Array | None:
        """Return a path (n, dof) with points added until it satisfies `keeps`; None if projection fails. basis: As in
        `project`."""
        points = motion_kernels.refined(self._sets, _rows(path), basis)
        return points if len(points) else None

    def check(self, q: Array, what: str) -> None:
        """Reject a configuration (dof,) that violates a constraint.

        Raises:
            ConstraintMismatchError: With the frame and the deviation.
        """
        for frame, deviation in zip(self.frames, self.deviations(q).tolist() if self.frames else (), strict=True):
            if deviation > frame.tolerance:
                unit = "rad" if frame.constraint.rule in ANGULAR_RULES else "m"
                text = f"{what} breaks the constraint '{frame.constraint.rule.value}' on frame {frame.name}"
                values = (Value("deviation", deviation, frame.tolerance, unit),)
                stage = "start" if what == START else "goals"
                raise ConstraintMismatchError(text, stage=stage, subjects=(frame.name,), values=values)


def _rows(configurations: Array) -> Array:
    """Return configurations as the kernels take them: C-contiguous and writable."""
    if configurations.flags.carray and configurations.dtype == np.float64:  # `np.require` takes longer than kernels
        return configurations
    return np.require(configurations, np.float64, ("C", "W"))


def _frame_sets(frames: Sequence[ConstrainedFrame], space: JointSpace) -> kernels.FrameSets:
    ends = np.cumsum([0, *(len(frame.chain.table) for frame in frames)])
    return kernels.FrameSets(
        chains=np.concatenate([frame.chain.table for frame in frames]),
        spans=np.column_stack((ends[:-1], ends[1:])).astype(np.int64),
        rules=np.array([KINDS[frame.constraint.rule] for frame in frames], dtype=np.int64),
        tolerances=np.array([frame.tolerance for frame in frames]),
        poses=np.array([frame.pose for frame in frames]),
        axes=np.array([frame.axis for frame in frames]),
        extents=np.array([frame.constraint.extent for frame in frames], dtype=np.float64),
        bounds=np.array((space.lower, space.upper)),
    )


def _constrained_frame(
    cell: RobotCell, state: RobotCellState, space: JointSpace, constraint: FrameConstraint
) -> ConstrainedFrame:
    name = target_frame(cell, state, space.group, constraint.mode, constraint.frame)
    chain = chain_to(cell, state, name, space.variables)
    pose, axis = constraint.pose.matrix, np.array(constraint.axis) / np.linalg.norm(constraint.axis)
    if constraint.reference_frame != WORLD:
        reference = frame_matrix(cell, state, constraint.reference_frame)
        pose, axis = reference @ pose, reference[:3, :3] @ axis
    if not any(chain.used):
        text = f"no joint that is planned moves the constrained frame {name}"
        raise ConstraintMismatchError(text, stage="start", subjects=(name,))
    return ConstrainedFrame(constraint, name, chain, pose, axis)
