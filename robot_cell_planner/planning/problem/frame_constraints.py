"""Evaluation of frame constraints: deviation of configurations, and projection onto the constraints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin

from ...errors import ConstraintMismatchError, Value
from ...kinematics.chain import Chain
from ...kinematics.forward import chain_to, frame_matrix
from ...kinematics.targets import target_frame
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...model.value import WORLD
from ...trajectory.limits import Array
from .constraints import FrameConstraint, FrameRule
from .space import JointSpace

# Fraction of the tolerance that projection reaches, so that straight motions between configurations stay within it.
TOLERANCE_FRACTION = 0.5
MAX_ITERATIONS = 60
EPSILON = 1e-12
START = "the start state"  # how errors name it
ANGULAR_RULES = (FrameRule.AXIS_IN_CONE, FrameRule.ORIENTATION)


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

    @cached_property
    def _cross_matrix(self) -> Array:
        """Matrix (3, 3) M with z @ M = z x axis."""
        return np.asarray(pin.skew(self.axis))

    def deviation(self, poses: Array) -> Array:
        """Return the distances (k,) [rad or m] of frames (k, 4, 4) from the set; for a cone, the angle to its axis."""
        rule = self.constraint.rule
        if rule is FrameRule.AXIS_IN_CONE:
            z = poses[:, :3, 2]
            return np.asarray(np.arctan2(np.linalg.norm(z @ self._cross_matrix, axis=1), z @ self.axis))
        if rule is FrameRule.ORIENTATION:
            rotations = poses[:, :3, :3] @ self.pose[:3, :3].T
            return np.array([float(np.linalg.norm(pin.log3(rotation))) for rotation in rotations])
        return np.asarray(np.linalg.norm(self._offset(poses[:, :3, 3]), axis=1))

    def _offset(self, points: Array) -> Array:
        """Return the offsets (k, 3) of points (k, 3) from their nearest points of the set."""
        offsets = points - self.pose[:3, 3]
        rule = self.constraint.rule
        if rule is FrameRule.POSITION_ON_PLANE:
            return np.asarray((offsets @ self.axis)[:, None] * self.axis)
        if rule is FrameRule.POSITION_ON_LINE:
            return np.asarray(offsets - (offsets @ self.axis)[:, None] * self.axis)
        local = offsets @ self.pose[:3, :3]
        extent = np.array(self.constraint.extent)
        return np.asarray((local - np.clip(local, -extent, extent)) @ self.pose[:3, :3].T)

    def gradient(self, q: Array, pose: Array) -> Array:
        """Return the gradient (dof,) of a non-zero deviation at q (dof,)."""
        jacobian = self.chain.jacobian(q)
        rule = self.constraint.rule
        if rule is FrameRule.AXIS_IN_CONE:
            normal = pose[:3, 2] @ self._cross_matrix
            size = math.sqrt(float(normal @ normal))
            # Opposite to the axis, all directions of rotation are equivalent.
            normal = normal / size if size > EPSILON else pose[:3, 0]
            return np.asarray(-normal @ jacobian[3:])
        if rule is FrameRule.ORIENTATION:
            rotation = pin.log3(pose[:3, :3] @ self.pose[:3, :3].T)
            return np.asarray(rotation / np.linalg.norm(rotation) @ jacobian[3:])
        offset = self._offset(pose[None, :3, 3])[0]
        return np.asarray(offset / np.linalg.norm(offset) @ jacobian[:3])


class FrameConstraints:
    """Frame constraints of a request at its start state. An empty instance is falsy."""

    def __init__(
        self, cell: RobotCell, state: RobotCellState, space: JointSpace, constraints: Sequence[FrameConstraint]
    ) -> None:
        self.frames = tuple(_constrained_frame(cell, state, space, constraint) for constraint in constraints)
        self._space = space

    def __bool__(self) -> bool:
        return bool(self.frames)

    @property
    def tightest(self) -> float:
        """Smallest tolerance [rad or m]."""
        return min(frame.tolerance for frame in self.frames)

    def excess(self, configurations: Array) -> Array:
        """Return the max deviation, in units of the tolerance, of configurations (k, dof): (k,); above 1 a constraint
        is violated.
        """
        rows = np.ascontiguousarray(configurations, dtype=np.float64)
        fractions = [frame.deviation(frame.chain.forward_many(rows)) / frame.tolerance for frame in self.frames]
        return np.asarray(np.max(fractions, axis=0))

    def residuals(self, q: Array) -> tuple[Array, Array]:
        """Return the residual of each constraint (m,), 0 within half its tolerance, and the gradients (m, dof) at q
        (dof,).
        """
        residuals, gradients = np.zeros(len(self.frames)), np.zeros((len(self.frames), len(q)))
        q = np.array(q, dtype=np.float64)
        for row, frame in enumerate(self.frames):
            pose = frame.chain.forward(q)
            deviation = float(frame.deviation(pose[None])[0])
            residuals[row] = max(0.0, deviation - TOLERANCE_FRACTION * frame.tolerance)
            if deviation > EPSILON:
                gradients[row] = frame.gradient(q, pose)
        return residuals, gradients

    def project(self, q: Array, basis: Array) -> Array | None:
        """Project q (dof,) onto the constraints by Newton's method, along the columns of a basis (dof, k) and within
        joint limits.

        Returns:
            The projected configuration (dof,); None if the iteration does not converge.
        """
        target = np.array([0.1 * TOLERANCE_FRACTION * frame.tolerance for frame in self.frames])
        q = q.copy()
        for _ in range(MAX_ITERATIONS):
            residuals, gradients = self.residuals(q)
            active = residuals > target
            if not active.any():
                return q
            step = np.linalg.lstsq(gradients[active] @ basis, -residuals[active], rcond=1e-6)[0]
            moved = np.clip(q + basis @ step, self._space.lower, self._space.upper)
            if float(np.abs(moved - q).max()) < EPSILON:
                return None
            q = moved
        return None

    def check(self, q: Array, what: str) -> None:
        """Reject a configuration (dof,) that violates a constraint.

        Raises:
            ConstraintMismatchError: With the frame and the deviation.
        """
        row = np.ascontiguousarray(q[None], dtype=np.float64)
        for frame in self.frames:
            deviation = float(frame.deviation(frame.chain.forward_many(row))[0])
            if deviation > frame.tolerance:
                unit = "rad" if frame.constraint.rule in ANGULAR_RULES else "m"
                text = f"{what} breaks the constraint '{frame.constraint.rule.value}' on frame {frame.name}"
                values = (Value("deviation", deviation, frame.tolerance, unit),)
                stage = "start" if what == START else "goals"
                raise ConstraintMismatchError(text, stage=stage, subjects=(frame.name,), values=values)


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
