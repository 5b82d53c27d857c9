"""Poses of all frames of a cell in one state."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.pose import Pose
from ..model.state import RobotCellState
from ..model.value import WORLD
from ._kernels.chain_kernels import pose_numbers
from .model import cell_model

Array = NDArray[np.float64]


class WorldTransforms:
    """Frame poses of a cell in a state, computed on demand.

    Raises:
        UnknownNameError: Raised by every method if a frame does not exist.
    """

    @public
    def __init__(self, cell: RobotCell, state: RobotCellState) -> None:
        self.model = cell_model(cell, state)
        self._state = state

    @cached_property
    def _joints(self) -> pin.StdVec_SE3:
        mechanisms = self.model.mechanisms
        data = mechanisms.data()
        pin.forwardKinematics(mechanisms.pin_model, data, self.model.expand(self.model.configuration(self._state)))
        return pin.StdVec_SE3(data.oMi)  # copied, because the next call in this thread overwrites the data

    def placement(self, frame: str) -> pin.SE3:
        """Return world_T_frame as a Pinocchio SE3."""
        joint, placement = self.model.frame(frame)
        return self._joints[joint] * placement if joint else placement

    def matrix(self, frame: str, relative_to: str = WORLD) -> Array:
        """Return relative_to_T_frame, (4, 4)."""
        result = self.placement(frame)
        if relative_to != WORLD:
            result = self.placement(relative_to).actInv(result)
        return np.ascontiguousarray(result.homogeneous)

    def pose(self, frame: str, relative_to: str = WORLD) -> Pose:
        """Return relative_to_T_frame."""
        return pose_of(self.matrix(frame, relative_to))

    def between(self, first: str, second: str) -> Pose:
        """Return first_T_second."""
        return self.pose(second, first)


@public
def world_pose(cell: RobotCell, state: RobotCellState, frame: str) -> Pose:
    """Return world_T_frame.

    Raises:
        UnknownNameError: The frame does not exist.
    """
    return WorldTransforms(cell, state).pose(frame)


def pose_of(transform: Array) -> Pose:
    """Convert a valid transform (4, 4), C-contiguous float64, to a pose."""
    x, y, z, qx, qy, qz, qw = pose_numbers(transform)
    return Pose((x, y, z), (qx, qy, qz, qw))
