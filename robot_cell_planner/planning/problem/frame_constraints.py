"""Constraints on frames as numbers: how far a configuration is off, and the way back onto them."""

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

# Configurations are brought this far inside the tolerance, so that the straight ways between them stay within it.
SHARE_OF_TOLERANCE = 0.5
ITERATIONS = 60
ENOUGH = 1e-12
ANGLES = (FrameRule.AXIS_IN_CONE, FrameRule.ORIENTATION)


@dataclass(frozen=True, eq=False)
class HeldFrame:
    """A constraint with the chain (world to frame) that it is about. pose (4, 4) and axis (3,) in the world."""

    constraint: FrameConstraint
    name: str
    chain: Chain
    pose: Array
    axis: Array

    @property
    def tolerance(self) -> float:
        return self.constraint.tolerance

    @cached_property
    def _across(self) -> Array:
        """The matrix (3, 3) for which z @ matrix is the cross product of z and the axis."""
        return np.asarray(pin.skew(self.axis))

    def deviation(self, poses: Array) -> Array:
        """How far frames (k, 4, 4) are off the set (k,) [rad or m]; of a cone: from its axis."""
        rule = self.constraint.rule
        if rule is FrameRule.AXIS_IN_CONE:
            z = poses[:, :3, 2]
            return np.asarray(np.arctan2(np.linalg.norm(z @ self._across, axis=1), z @ self.axis))
        if rule is FrameRule.ORIENTATION:
            turns = poses[:, :3, :3] @ self.pose[:3, :3].T
            return np.array([float(np.linalg.norm(pin.log3(turn))) for turn in turns])
        return np.asarray(np.linalg.norm(self._offset(poses[:, :3, 3]), axis=1))

    def _offset(self, points: Array) -> Array:
        """From the nearest point of the set to points (k, 3)."""
        away = points - self.pose[:3, 3]
        rule = self.constraint.rule
        if rule is FrameRule.POSITION_ON_PLANE:
            return np.asarray((away @ self.axis)[:, None] * self.axis)
        if rule is FrameRule.POSITION_ON_LINE:
            return np.asarray(away - (away @ self.axis)[:, None] * self.axis)
        local = away @ self.pose[:3, :3]
        extent = np.array(self.constraint.extent)
        return np.asarray((local - np.clip(local, -extent, extent)) @ self.pose[:3, :3].T)

    def gradient(self, q: Array, pose: Array) -> Array:
        """Of the deviation at a configuration (dof,), where it is not zero."""
        jacobian = self.chain.jacobian(q)
        rule = self.constraint.rule
        if rule is FrameRule.AXIS_IN_CONE:
            normal = pose[:3, 2] @ self._across
            size = math.sqrt(float(normal @ normal))
            # Straight against the axis any direction leads back.
            normal = normal / size if size > ENOUGH else pose[:3, 0]
            return np.asarray(-normal @ jacobian[3:])
        if rule is FrameRule.ORIENTATION:
            turn = pin.log3(pose[:3, :3] @ self.pose[:3, :3].T)
            return np.asarray(turn / np.linalg.norm(turn) @ jacobian[3:])
        offset = self._offset(pose[None, :3, 3])[0]
        return np.asarray(offset / np.linalg.norm(offset) @ jacobian[:3])


class FrameConstraints:
    """The constraints of a request on frames, at the state that it starts from. Empty: nothing is held."""

    def __init__(
        self, cell: RobotCell, state: RobotCellState, space: JointSpace, constraints: Sequence[FrameConstraint]
    ) -> None:
        self.held = tuple(_held_frame(cell, state, space, constraint) for constraint in constraints)
        self._space = space

    def __bool__(self) -> bool:
        return bool(self.held)

    @property
    def tightest(self) -> float:
        """The smallest tolerance [rad or m]."""
        return min(held.tolerance for held in self.held)

    def excess(self, configurations: Array) -> Array:
        """Largest deviation of configurations (k, dof) in tolerances (k,): beyond 1 a constraint is broken."""
        rows = np.ascontiguousarray(configurations, dtype=np.float64)
        shares = [held.deviation(held.chain.forward_many(rows)) / held.tolerance for held in self.held]
        return np.asarray(np.max(shares, axis=0))

    def residuals(self, q: Array) -> tuple[Array, Array]:
        """By how much each constraint is missed (m,), 0 within half its tolerance, and the gradients (m, dof)."""
        missed, gradients = np.zeros(len(self.held)), np.zeros((len(self.held), len(q)))
        q = np.array(q, dtype=np.float64)
        for row, held in enumerate(self.held):
            pose = held.chain.forward(q)
            deviation = float(held.deviation(pose[None])[0])
            missed[row] = max(0.0, deviation - SHARE_OF_TOLERANCE * held.tolerance)
            if deviation > ENOUGH:
                gradients[row] = held.gradient(q, pose)
        return missed, gradients

    def project(self, q: Array, basis: Array) -> Array | None:
        """The configuration on the constraints that Newton's method reaches from q (dof,) by moving along the columns
        of a basis (dof, k), within the bounds of the joints; None if it reaches none."""
        near = np.array([0.1 * SHARE_OF_TOLERANCE * held.tolerance for held in self.held])
        q = q.copy()
        for _ in range(ITERATIONS):
            missed, gradients = self.residuals(q)
            active = missed > near
            if not active.any():
                return q
            step = np.linalg.lstsq(gradients[active] @ basis, -missed[active], rcond=1e-6)[0]
            moved = np.clip(q + basis @ step, self._space.lower, self._space.upper)
            if float(np.abs(moved - q).max()) < ENOUGH:
                return None
            q = moved
        return None

    def check(self, q: Array, what: str) -> None:
        """Refuse a configuration (dof,) that breaks a constraint.

        Raises:
            ConstraintMismatchError: with the frame and by how much.
        """
        row = np.ascontiguousarray(q[None], dtype=np.float64)
        for held in self.held:
            deviation = float(held.deviation(held.chain.forward_many(row))[0])
            if deviation > held.tolerance:
                unit = "rad" if held.constraint.rule in ANGLES else "m"
                text = f"{what} breaks the constraint '{held.constraint.rule.value}' on frame {held.name}"
                values = (Value("deviation", deviation, held.tolerance, unit),)
                raise ConstraintMismatchError(text, stage="goals", subjects=(held.name,), values=values)


def _held_frame(cell: RobotCell, state: RobotCellState, space: JointSpace, constraint: FrameConstraint) -> HeldFrame:
    name = target_frame(cell, state, space.group, constraint.mode, constraint.frame)
    chain = chain_to(cell, state, name, space.variables)
    pose, axis = constraint.pose.matrix, np.array(constraint.axis) / np.linalg.norm(constraint.axis)
    if constraint.reference_frame != WORLD:
        reference = frame_matrix(cell, state, constraint.reference_frame)
        pose, axis = reference @ pose, reference[:3, :3] @ axis
    if not any(chain.used):
        text = f"no joint that is planned moves the constrained frame {name}"
        raise ConstraintMismatchError(text, stage="start", subjects=(name,))
    return HeldFrame(constraint, name, chain, pose, axis)
