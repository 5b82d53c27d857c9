"""Forward kinematics of collision geometries in compiled code: one call for all joints and geometries."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kinematics.chain import joint_axis
from ...system.borrowed_arrays import borrowed
from ...system.compiled import compiled

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
# Columns of a joint's row: row of the parent, whether it is revolute, axis, index in q, placement in the parent (4, 4).
PARENT, REVOLUTE, AXIS, VALUE, PLACEMENT = 0, 1, 2, 5, 6
JOINT, IN_JOINT = 0, 1  # columns of a placement's row: joint, placement in the joint (4, 4)
MATRIX = 16
MOTION, BEFORE, WORK = 2, 1, 2  # work space behind the poses of joints, from its end


def placement_rows(joints: Indices, joint_T_geometry: Floats) -> Indices:
    """Return the row of each geometry (m,) among the different placements, read-only: the parts of a decomposed mesh
    have one.

    joints: joint of each geometry (m,). joint_T_geometry: placements (m, 4, 4).
    """
    return _placement_rows(joints.tobytes(), joint_T_geometry.tobytes())


@lru_cache(maxsize=64)
def _placement_rows(joints: bytes, poses: bytes) -> Indices:
    placed = np.column_stack((np.frombuffer(joints, dtype=np.intp), np.frombuffer(poses).reshape(-1, MATRIX)))
    found = np.unique(placed, axis=0, return_inverse=True)[1].ravel().astype(np.intp)
    found.setflags(write=False)
    return found


class GeometryPlacements:
    """Forward kinematics of geometries fixed to the joints of a Pinocchio model with one degree of freedom per joint.

    joints: joint of each geometry (m,). joint_T_geometry: placements (m, 4, 4).

    Attributes:
        rows: As of `placement_rows` (m,), for p different placements.
    """

    def __init__(self, model: Any, joints: Indices, joint_T_geometry: Floats) -> None:
        # Few arrays are passed, since every array argument adds to the duration of a call.
        used = _from_the_world(model, joints)
        rows = {joint: row for row, joint in enumerate(used)}
        self._joints = np.zeros((len(used), PLACEMENT + MATRIX))
        for row, index in enumerate(used[1:], start=1):
            revolute, axis = joint_axis(model, index)
            placement = model.jointPlacements[index].homogeneous.ravel()
            self._joints[row] = (rows[model.parents[index]], revolute, *axis, index - 1, *placement)
        own = np.array([rows[joint] for joint in joints.tolist()], dtype=np.float64)
        self.rows = placement_rows(joints, joint_T_geometry)
        _, firsts = np.unique(self.rows, return_index=True)
        self._placed: Floats = np.column_stack((own, joint_T_geometry.reshape(-1, MATRIX)))[firsts]

    def at(self, q: Floats) -> Floats:
        """Return C contiguous poses (m, 4, 4) in the world frame at a C contiguous configuration (nq,)."""
        return placed_poses(q, self._joints, self._placed)[self.rows]

    def along(self, configurations: Floats) -> Floats:
        """Return the different placements (n, p, 4, 4) in the world frame at configurations (n, nq)."""
        return poses_along(configurations, self._joints, self._placed)


def _from_the_world(model: Any, joints: Indices) -> list[int]:
    """Return the joints that move some joints, and these, parents first; the world is the first."""
    found = {0}
    for joint in joints.tolist():
        while joint not in found:
            found.add(joint)
            joint = model.parents[joint]
    return sorted(found)


@compiled
def placed_poses(q: Floats, joints: Floats, placed: Floats) -> Floats:
    """Return poses (p, 4, 4) of placements (p, 17) in joints (n, 22), of which the first is the world."""
    poses: Floats = poses_along(q.reshape(1, -1), joints, placed)[0]
    return poses


@compiled
def poses_along(configurations: Floats, joints: Floats, placed: Floats) -> Floats:
    """Return `placed_poses` for each of n configurations (n, nq)."""
    poses = np.empty((configurations.shape[0], placed.shape[0], 4, 4))
    world = np.empty((joints.shape[0] + WORK, 4, 4))
    world[0] = world[-MOTION] = np.eye(4)
    compute_poses(configurations, joints, placed, world, poses)
    return poses


@compiled
def compute_poses(configurations: Floats, joints: Floats, placed: Floats, world: Floats, poses: Floats) -> None:
    """Compute `poses_along` into `poses`.

    world: Work space (n + WORK, 4, 4): poses of the joints, of which the first is set, and of a motion, the identity.
    """
    configurations, joints, placed, world, poses = borrowed((configurations, joints, placed, world, poses))
    motion, before = world[-MOTION], world[-BEFORE]
    for k in range(configurations.shape[0]):
        for j in range(1, joints.shape[0]):
            place_motion(joints[j], configurations[k, int(joints[j, VALUE])], motion)
            multiply(world[int(joints[j, PARENT])], joints[j, PLACEMENT:], before)
            multiply(before, motion.ravel(), world[j])
        for i in range(placed.shape[0]):
            multiply(world[int(placed[i, JOINT])], placed[i, IN_JOINT:], poses[k, i])


@compiled
def place_motion(joint: Floats, value: float, motion: Floats) -> None:
    """Compute the pose (4, 4) of a joint's motion at a value; its last row is set."""
    x, y, z = joint[AXIS], joint[AXIS + 1], joint[AXIS + 2]
    if joint[REVOLUTE] != 0.0:
        # Rodrigues' rotation formula.
        c, s = math.cos(value), math.sin(value)
        d = 1.0 - c
        motion[0, 0], motion[0, 1], motion[0, 2] = c + d * x * x, d * x * y - s * z, d * x * z + s * y
        motion[1, 0], motion[1, 1], motion[1, 2] = d * x * y + s * z, c + d * y * y, d * y * z - s * x
        motion[2, 0], motion[2, 1], motion[2, 2] = d * x * z - s * y, d * y * z + s * x, c + d * z * z
        motion[0, 3], motion[1, 3], motion[2, 3] = 0.0, 0.0, 0.0
    else:
        motion[:3, :3] = 0.0
        motion[0, 0], motion[1, 1], motion[2, 2] = 1.0, 1.0, 1.0
        motion[0, 3], motion[1, 3], motion[2, 3] = value * x, value * y, value * z


@compiled
def multiply(first: Floats, second: Floats, result: Floats) -> None:
    """Compute the product of two transforms, (4, 4) and (16,), into `result`."""
    for row in range(3):
        x, y, z = first[row, 0], first[row, 1], first[row, 2]
        for column in range(3):
            result[row, column] = x * second[column] + y * second[4 + column] + z * second[8 + column]
        result[row, 3] = first[row, 3] + x * second[3] + y * second[7] + z * second[11]
    result[3, 0], result[3, 1], result[3, 2], result[3, 3] = 0.0, 0.0, 0.0, 1.0
