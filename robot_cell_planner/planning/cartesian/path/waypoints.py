"""Waypoints of Cartesian motions: poses or axes that a frame of the group passes, and how it gets to each."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from ....errors import InvalidRequestError, LimitExceededError, Value
from ....kinematics.targets import DEFAULT_TOLERANCE, FrameTarget, PointAxisTarget, TargetMode
from ....model.arguments import checked_fields
from ....model.pose import Pose
from ....model.value import WORLD, Vector3, vector3
from ....trajectory.limits import Array

MAX_WAYPOINTS = 100_000


@checked_fields
@dataclass(frozen=True)
class Segment:
    """How to get to a waypoint.

    via: a point, in the frame and unit of the waypoints, on the circle that leads from the waypoint before through it
    to this one; None: the way is straight. blend_radius [m]: how far before and after the waypoint, along the way, the
    corner is rounded; 0: the waypoint is met exactly. speed [m/s]: of the frame on the way here, if the motion is
    timed; 0: that of the timing.

    Raises:
        InvalidRequestError: a number that is negative or not finite.
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
    """What both kinds share.

    mode, frame, reference_frame, tolerances and native_scale: as in a `FrameTarget`. segments: how to get to each
    waypoint; none: straight to all of them.
    """

    mode: TargetMode = TargetMode.ROBOT
    frame: str = ""
    reference_frame: str = WORLD
    tolerance_position: float = DEFAULT_TOLERANCE
    tolerance_angle: float = DEFAULT_TOLERANCE
    native_scale: float = 1.0
    segments: tuple[Segment, ...] = ()

    def segment(self, index: int) -> Segment:
        """How to get to a waypoint."""
        return self.segments[index] if self.segments else STRAIGHT

    def target(self, index: int) -> FrameTarget | PointAxisTarget:
        """A waypoint as a target of inverse kinematics."""
        raise NotImplementedError

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
            text = "the last waypoint has a blend radius, and no motion follows that it could blend into"
            raise InvalidRequestError(text, stage="request")
        for index in range(count):
            try:
                self.target(index)
            except ValueError as error:
                raise InvalidRequestError(f"waypoint {index}: {error}", stage="request") from error


@checked_fields
@dataclass(frozen=True)
class FrameWaypoints(_Waypoints):
    """Poses that a frame of the group passes one after the other; the pose that it starts from is not one of them.

    poses: reference_frame_T_target. Between them the position changes linearly, or along a circle, and the orientation
    by slerp.

    Raises:
        InvalidRequestError: no pose, or fields that a target would refuse, or segments that do not fit.
        LimitExceededError: more than a hundred thousand poses.
    """

    poses: tuple[Pose, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "poses", tuple(self.poses))
        self._check(len(self.poses))

    def __len__(self) -> int:
        return len(self.poses)

    def target(self, index: int) -> FrameTarget:
        return FrameTarget(
            pose=self.poses[index],
            mode=self.mode,
            frame=self.frame,
            reference_frame=self.reference_frame,
            tolerance_position=self.tolerance_position,
            tolerance_angle=self.tolerance_angle,
            native_scale=self.native_scale,
        )

    def positions(self) -> Array:
        """Positions (n, 3) in the reference frame, in the caller's unit."""
        return np.array([pose.position for pose in self.poses])

    def rotations(self) -> Array:
        """Rotations (n, 3, 3) in the reference frame."""
        return np.asarray(Rotation.from_quat([pose.quaternion for pose in self.poses]).as_matrix())


@checked_fields
@dataclass(frozen=True)
class PointAxisWaypoints(_Waypoints):
    """Points that the origin of a frame passes, each with a direction for its z axis; the rotation about that is free.

    points_and_axes: (point, axis), both in the reference frame; axes of any length but zero. Between them the point
    moves linearly, or along a circle, and the axis turns along the shortest arc.

    Raises:
        InvalidRequestError: no point, or fields that a target would refuse, or segments that do not fit.
        LimitExceededError: more than a hundred thousand points.
    """

    points_and_axes: tuple[tuple[Vector3, Vector3], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "points_and_axes", tuple(self.points_and_axes))
        self._check(len(self.points_and_axes))

    def __len__(self) -> int:
        return len(self.points_and_axes)

    def target(self, index: int) -> PointAxisTarget:
        point, axis = self.points_and_axes[index]
        return PointAxisTarget(
            point=point,
            axis=axis,
            mode=self.mode,
            frame=self.frame,
            reference_frame=self.reference_frame,
            tolerance_position=self.tolerance_position,
            tolerance_angle=self.tolerance_angle,
            native_scale=self.native_scale,
        )

    def positions(self) -> Array:
        """Points (n, 3) in the reference frame, in the caller's unit."""
        return np.array([point for point, _ in self.points_and_axes])

    def axes(self) -> Array:
        """Unit axes (n, 3) in the reference frame."""
        axes = np.array([axis for _, axis in self.points_and_axes])
        return np.asarray(axes / np.linalg.norm(axes, axis=1, keepdims=True))


Waypoints = FrameWaypoints | PointAxisWaypoints
