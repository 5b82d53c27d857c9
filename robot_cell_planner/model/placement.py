"""World poses of frames, computed along the frame tree in pure Python.

Intended for reading files, where each pose is needed once. The kinematics package computes transforms faster.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..errors import UnknownNameError
from .cell import RobotCell
from .frames import path_to_known
from .mechanism import Joint, JointKind, Mechanism
from .name_suggestions import unknown_name
from .pose import IDENTITY, Pose, normalised
from .state import RobotCellState
from .value import WORLD, Vector3

Placement = tuple[str, Pose]
X: Vector3 = (1.0, 0.0, 0.0)


class Placements:
    """Frames by name, each with a parent frame and a pose; world poses are computed on demand."""

    def __init__(self, placements: Mapping[str, Placement]) -> None:
        self.placements = placements
        self.poses: dict[str, Pose] = {WORLD: IDENTITY}

    def world(self, name: str) -> Pose:
        """Return world_T_name.

        Raises:
            UnknownNameError: A frame does not exist.
            FrameCycleError: The frames form a cycle.
        """
        path, _ = path_to_known(name, self.poses, lambda frame: self._placement(frame)[0])
        for frame in reversed(path):
            parent, pose = self.placements[frame]
            self.poses[frame] = self.poses[parent] @ pose
        return self.poses[name]

    def _placement(self, frame: str) -> Placement:
        if frame not in self.placements:
            raise UnknownNameError(unknown_name(f"frame {frame!r}", frame, self.placements), subjects=(frame,))
        return self.placements[frame]

    def between(self, first: str, second: str) -> Pose:
        """Return first_T_second."""
        return self.world(first).inverse() @ self.world(second)


def placements(cell: RobotCell, state: RobotCellState) -> dict[str, Placement]:
    """Return the parent frame and the pose in it of every frame of a cell in a state."""
    result: dict[str, Placement] = {}
    for name, robot in cell.robots.items():
        result[robot.mechanism.root] = (robot.attached_to or WORLD, state.base_poses[name])
        result.update(_links(robot.mechanism, state.configuration))
    for name, tool in cell.tools.items():
        tool_state = state.tools[name]
        result[name] = (cell.tip_link(tool_state.attached_to) if tool_state.attached_to else WORLD, tool_state.pose)
        result[tool.frame_of(tool.mechanism.root)] = (name, IDENTITY)
        for link, (parent, pose) in _links(tool.mechanism, tool_state.configuration).items():
            result[tool.frame_of(link)] = (tool.frame_of(parent), pose)
        result[tool.tcp_frame] = (tool.frame_of(tool.tcp_link or tool.mechanism.root), tool.tcp)
    for name, body in state.bodies.items():
        result[name] = (body.attached_to or WORLD, body.pose)
    for frame in cell.frames.values():
        result[frame.name] = (frame.attached_to, frame.pose)
    return result


def _links(mechanism: Mechanism, configuration: Mapping[str, float]) -> dict[str, Placement]:
    return {
        joint.child: (joint.parent, joint.origin @ motion(mechanism, joint, configuration))
        for joint in mechanism.joints.values()
    }


def motion(mechanism: Mechanism, joint: Joint, configuration: Mapping[str, float]) -> Pose:
    """Return the pose of the child link in the joint frame.

    A planar joint translates along the x and y axes of the plane normal to its axis, then rotates about the axis. A
    floating joint translates along x, y and z, then rotates by yaw, pitch and roll (rotation Rz Ry Rx).
    """
    if joint.kind is JointKind.FIXED:
        return IDENTITY
    if joint.kind is JointKind.FLOATING:
        x, y, z, yaw, pitch, roll = (configuration[name] for name in joint.variables)
        return Pose.from_rpy((x, y, z), (roll, pitch, yaw))
    if joint.kind is JointKind.PLANAR:
        return _planar(joint, *(configuration[name] for name in joint.variables))
    source, multiplier, offset = mechanism.mimic_source(joint.name)
    value = multiplier * configuration[source] + offset
    if joint.kind is JointKind.PRISMATIC:
        x, y, z = joint.axis
        return Pose((value * x, value * y, value * z))
    return rotation_about(joint.axis, value)


def _planar(joint: Joint, x: float, y: float, theta: float) -> Pose:
    first, second = plane_axes(joint.axis)
    position = tuple(x * a + y * b for a, b in zip(first, second, strict=True))
    return Pose((position[0], position[1], position[2]), rotation_about(joint.axis, theta).quaternion)


def plane_axes(normal: Vector3) -> tuple[Vector3, Vector3]:
    """Return the x and y axes of the plane with a unit normal.

    For the normal z they are those of the joint frame. Otherwise they are rotated by the minimal rotation from z to the
    normal; for -z, the x axis is unchanged.
    """
    nx, ny, nz = normal
    if nz < -1.0 + 1e-9:
        return X, (0.0, -1.0, 0.0)
    k = 1.0 / (1.0 + nz)
    return (1.0 - k * nx * nx, -k * nx * ny, -nx), (-k * nx * ny, 1.0 - k * ny * ny, -ny)


def rotation_about(axis: Vector3, angle: float) -> Pose:
    """Return the rotation by an angle [rad] about a unit axis."""
    s = math.sin(0.5 * angle)
    return Pose(quaternion=normalised((axis[0] * s, axis[1] * s, axis[2] * s, math.cos(0.5 * angle))))
