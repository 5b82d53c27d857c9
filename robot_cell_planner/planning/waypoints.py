"""Waypoints of Cartesian motions, and the ways between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from ..cell.pose import Pose
from ..cell.value import WORLD
from ..errors import InvalidRequestError, LimitExceededError, Value
from ..kinematics.targets import DEFAULT_TOLERANCE, FrameTarget, TargetMode
from ..trajectory.limits import Array

MAX_WAYPOINTS = 100_000


@dataclass(frozen=True)
class FrameWaypoints:
    """Poses that a frame of the group passes one after the other; the pose that it starts from is not one of them.

    poses: reference_frame_T_target. mode, frame, reference_frame, tolerances and native_scale: as in a `FrameTarget`.

    Raises:
        InvalidRequestError: no pose, or fields that a target would refuse.
        LimitExceededError: more than a hundred thousand poses.
    """

    poses: tuple[Pose, ...]
    mode: TargetMode = TargetMode.ROBOT
    frame: str = ""
    reference_frame: str = WORLD
    tolerance_position: float = DEFAULT_TOLERANCE
    tolerance_angle: float = DEFAULT_TOLERANCE
    native_scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "poses", tuple(self.poses))
        if not self.poses:
            raise InvalidRequestError("no waypoint is given", stage="request")
        if len(self.poses) > MAX_WAYPOINTS:
            numbers = (Value("waypoints", len(self.poses), MAX_WAYPOINTS),)
            raise LimitExceededError(f"{len(self.poses)} waypoints are given", stage="request", values=numbers)
        try:
            self.target(0)
        except ValueError as error:
            raise InvalidRequestError(str(error), stage="request") from error

    def target(self, index: int) -> FrameTarget:
        """A waypoint as a target of inverse kinematics."""
        return FrameTarget(
            pose=self.poses[index],
            mode=self.mode,
            frame=self.frame,
            reference_frame=self.reference_frame,
            tolerance_position=self.tolerance_position,
            tolerance_angle=self.tolerance_angle,
            native_scale=self.native_scale,
        )


@dataclass(frozen=True, eq=False)
class Line:
    """A straight way between two poses (4, 4): position linear, orientation by slerp. length [m], angle [rad]."""

    start: Array
    end: Array
    length: float
    angle: float
    turn: Array

    @classmethod
    def between(cls, start: Array, end: Array) -> Line:
        turn = Rotation.from_matrix(start[:3, :3].T @ end[:3, :3]).as_rotvec()
        length = math.dist(start[:3, 3], end[:3, 3])
        return cls(start, end, length, float(np.linalg.norm(turn)), turn)

    @property
    def measure(self) -> float:
        """The path parameter of the whole line: its length, or its angle if it only turns."""
        return self.length if self.length > 1e-9 else self.angle

    def poses(self, shares: Sequence[float] | Array) -> Array:
        """Poses (k, 4, 4) at shares (k,) of the way, 0 to 1; the end exactly as it was given."""
        shares = np.asarray(shares, dtype=np.float64)
        result = np.zeros((len(shares), 4, 4))
        turned = Rotation.from_rotvec(shares[:, None] * self.turn).as_matrix()
        result[:, :3, :3] = self.start[:3, :3] @ turned
        result[:, :3, 3] = self.start[:3, 3] + shares[:, None] * (self.end[:3, 3] - self.start[:3, 3])
        result[:, 3, 3] = 1.0
        result[shares == 1.0] = self.end
        return result

    def distance_from(self, shares: Array, poses: Array) -> tuple[Array, Array]:
        """How far poses (k, 4, 4) are off the line: distance of their origins from it [m], and angle of their
        orientations from that which belongs to shares (k,) of the way [rad]."""
        wanted = self.poses(shares)
        offsets = poses[:, :3, 3] - wanted[:, :3, 3]
        if self.length > 1e-9:
            direction = (self.end[:3, 3] - self.start[:3, 3]) / self.length
            offsets = offsets - (offsets @ direction)[:, None] * direction
        relative = np.swapaxes(wanted[:, :3, :3], 1, 2) @ poses[:, :3, :3]
        angles = np.asarray(Rotation.from_matrix(relative).magnitude())
        return np.asarray(np.linalg.norm(offsets, axis=1)), angles
