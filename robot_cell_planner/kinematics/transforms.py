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
    """Where the frames of a cell are in a state; each is computed when it is asked for.

    Every method raises UnknownNameError for a frame that does not exist.
    """

    def __init__(self, cell: RobotCell, state: RobotCellState) -> None:
        self.model = cell_model(cell, state)
        self._state = state

    @cached_property
    def _joints(self) -> pin.StdVec_SE3:
        mechanisms = self.model.mechanisms
        data = mechanisms.data()
        pin.forwardKinematics(mechanisms.pin_model, data, self.model.expand(self.model.configuration(self._state)))
        return pin.StdVec_SE3(data.oMi)  # a copy; the next call in this thread overwrites the data

    def placement(self, frame: str) -> pin.SE3:
        """world_T_frame as Pinocchio has it."""
        joint, placement = self.model.frame(frame)
        return self._joints[joint] * placement if joint else placement

    def matrix(self, frame: str, relative_to: str = WORLD) -> Array:
        """relative_to_T_frame, (4, 4)."""
        result = self.placement(frame)
        if relative_to != WORLD:
            result = self.placement(relative_to).actInv(result)
        return np.ascontiguousarray(result.homogeneous)

    def pose(self, frame: str, relative_to: str = WORLD) -> Pose:
        """relative_to_T_frame."""
        return pose_of(self.matrix(frame, relative_to))

    def between(self, first: str, second: str) -> Pose:
        """first_T_second."""
        return self.pose(second, first)


@public
def world_pose(cell: RobotCell, state: RobotCellState, frame: str) -> Pose:
    """world_T_frame.

    Raises:
        UnknownNameError: there is no such frame.
    """
    return WorldTransforms(cell, state).pose(frame)


def pose_of(transform: Array) -> Pose:
    """The pose of a transform (4, 4) that is known to be one: C contiguous float64."""
    x, y, z, qx, qy, qz, qw = pose_numbers(transform)
    return Pose((x, y, z), (qx, qy, qz, qw))
