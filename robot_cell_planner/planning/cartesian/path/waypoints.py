"""Waypoints of Cartesian motions: poses or axes of a frame of the group, and the segments between them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....errors import InvalidRequestError, LimitExceededError, Value
from ....kinematics.targets import DEFAULT_TOLERANCE, FrameTarget, PointAxisTarget, TargetMode, free_axes_of
from ....model.arguments import checked_fields
from ....model.pose import Pose
from ....model.value import WORLD, Vector3, vector3
from ....trajectory.limits import Array
from .rotations import rotations_by_quaternions

MAX_WAYPOINTS = 100_000
TARGET_FIELDS = ("mode", "frame", "reference_frame", "tolerance_position", "tolerance_angle", "native_scale")


@checked_fields
@dataclass(frozen=True)
class Segment:
    """Path to a waypoint.

    Attributes:
        via: Point on the circle from the previous waypoint to this one, in the frame and unit of the waypoints;
            None for a straight line.
        blend_radius: Distance before and after the waypoint, along the path, at which its corner is rounded [m]; 0
            to meet the waypoint exactly.
        speed: Speed of the frame [m/s], if the motion is timed; 0 for that of the timing options.

    Raises:
        InvalidRequestError: A number is negative or not finite.
    """

    via: Vector3 | None = None
    blend_radius: float = 0.0
    speed: float = 0.0

    def __post_init__(self) -> None:
        for name in ("blend_radius", "speed"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                text = f"{name} of a segment is {value:g}, expected a finite number from 0"
                raise InvalidRequestError(text, stage="request", values=(Value(name, value, 0.0),))
        if self.via is not None:
            try:
                vector3(self.via, "via")
            except ValueError as error:
                raise InvalidRequestError(str(error), stage="request") from error


STRAIGHT = Segment()


@dataclass(frozen=True, kw_only=True)
class _Waypoints:
    """Common attributes of waypoints.

    Attributes:
        mode, frame, reference_frame, tolerance_position, native_scale: As in `FrameTarget`.
        tolerance_angle: As in `FrameTarget`, along the whole path: from 3.14 on, only the position is prescribed.
        segments: Segment to each waypoint; empty for straight lines.
    """

    mode: TargetMode = TargetMode.ROBOT
    frame: str = ""
    reference_frame: str = WORLD
    tolerance_position: float | None = None
    tolerance_angle: float = DEFAULT_TOLERANCE
    native_scale: float = 1.0
    segments: tuple[Segment, ...] = ()

    def segment(self, index: int) -> Segment:
        """Return the segment to a waypoint."""
        return self.segments[index] if self.segments else STRAIGHT

    @property
    def free_axes(self) -> tuple[int, ...]:
        """Axes of the frame (0, 1, 2) about which the rotation is free along the whole path."""
        return free_axes_of(self.target(0).rotation_weights)

    def target(self, index: int) -> FrameTarget | PointAxisTarget:
        """Return a waypoint as a target of inverse kinematics."""
        raise NotImplementedError  # depends on the kind of waypoints

    def _target_fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in TARGET_FIELDS}

    def _check(self, count: int) -> None:
        object.__setattr__(self, "segments", tuple(self.segments))
        if not count:
            raise InvalidRequestError("no waypoint is given", stage="request")
        if count > MAX_WAYPOINTS:
            numbers = (Value("waypoints", count, MAX_WAYPOINTS),)
            raise LimitExceededError(f"{count} waypoints are given", stage="request", values=numbers)
        if self.segments and len(self.segments) != count:
            text = f"{len(self.segments)} segments are given for {count} waypoints"
            raise InvalidRequestError(text, stage="request", values=(Value("segments", len(self.segments), count),))
        if self.segments and self.segments[-1].blend_radius:
            text = "the last waypoint has a blend radius, but no motion follows"
            raise InvalidRequestError(text, stage="request")
        for index in range(count):
            try:
                self.target(index)
            except ValueError as error:
                raise InvalidRequestError(f"waypoint {index}: {error}", stage="request") from error


def common_fields(target: FrameTarget | PointAxisTarget) -> dict[str, Any]:
    """Return the fields of waypoints that are those of a target."""
    found = {name: getattr(target, name) for name in TARGET_FIELDS}
    if isinstance(target, FrameTarget):
        found["tolerance_angles"] = target.tolerance_angles
    return found


@checked_fields
@dataclass(frozen=True)
class FrameWaypoints(_Waypoints):
    """Poses of a frame of the group, without the start pose.

    The position is interpolated linearly, or along a circle, and the orientation by slerp. If the rotations about one
    axis or all axes are free, the orientations are first turned to those nearest to the start.

    Attributes:
        poses: reference_frame_T_target.
        tolerance_angles: As in `FrameTarget`, in place of `tolerance_angle`: from 3.14 on, the rotation about the axis
            is free along the whole path.

    Raises:
        InvalidRequestError: No pose, invalid target fields, or segments that do not match.
        LimitExceededError: More than 100,000 poses.
    """

    poses: tuple[Pose, ...]
    tolerance_angles: Vector3 | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "poses", tuple(self.poses))
        self._check(len(self.poses))

    def __len__(self) -> int:
        return len(self.poses)

    def target(self, index: int) -> FrameTarget:
        return FrameTarget(pose=self.poses[index], tolerance_angles=self.tolerance_angles, **self._target_fields())

    def positions(self) -> Array:
        """Return positions (n, 3) in the reference frame, in the caller's unit."""
        return np.array([pose.position for pose in self.poses])

    def rotations(self) -> Array:
        """Return rotations (n, 3, 3) in the reference frame."""
        return rotations_by_quaternions([pose.quaternion for pose in self.poses])


@checked_fields
@dataclass(frozen=True)
class PointAxisWaypoints(_Waypoints):
    """Positions of the origin of a frame, each with a direction of its z axis; the rotation about that axis is free.

    The position is interpolated linearly, or along a circle, and the axis along the shortest arc.

    Attributes:
        points_and_axes: (point, axis) pairs in the reference frame; axes of any non-zero length.

    Raises:
        InvalidRequestError: No point, invalid target fields, or segments that do not match.
        LimitExceededError: More than 100,000 points.
    """

    points_and_axes: tuple[tuple[Vector3, Vector3], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "points_and_axes", tuple(self.points_and_axes))
        self._check(len(self.points_and_axes))

    def __len__(self) -> int:
        return len(self.points_and_axes)

    def target(self, index: int) -> PointAxisTarget:
        point, axis = self.points_and_axes[index]
        return PointAxisTarget(point=point, axis=axis, **self._target_fields())

    def positions(self) -> Array:
        """Return points (n, 3) in the reference frame, in the caller's unit."""
        return np.array([point for point, _ in self.points_and_axes])

    def axes(self) -> Array:
        """Return unit axes (n, 3) in the reference frame."""
        axes = np.array([axis for _, axis in self.points_and_axes])
        return np.asarray(axes / np.linalg.norm(axes, axis=1, keepdims=True))


Waypoints = FrameWaypoints | PointAxisWaypoints
