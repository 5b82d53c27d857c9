"""Arms without obstacles, and paths of their tips that are known to be feasible, for tests of Cartesian planning."""

import numpy as np
import pinocchio as pin
from loaded_cells import loaded

from robot_cell_planner.kinematics.forward import forward_batch, forward_kinematics
from robot_cell_planner.kinematics.targets import TargetMode
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints, PointAxisWaypoints
from robot_cell_planner.planning.cartesian.planner import CartesianOptions, CartesianRequest, plan_cartesian


def moved(pose, x=0.0, y=0.0, z=0.0):
    return Pose((pose.position[0] + x, pose.position[1] + y, pose.position[2] + z), pose.quaternion)


def axis_of(pose):
    return tuple(pose.matrix[:3, 2].tolist())


def as_axis(pose):
    """The point and z axis of a pose."""
    return pose.position, axis_of(pose)


def tool_pose(cell, state):
    return forward_kinematics(cell, state, mode=TargetMode.TOOL)


def tool_poses(cell, state, variables, configurations):
    return forward_batch(cell, state, "gripper/tcp", variables, configurations)


def random_motion(seed, angle, length):
    """Cell and state, pose of the tool there, and another one at about a length [m] and an angle [rad] from it."""
    cell, state = loaded()
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1.5, 0.5, 6).tolist()
    state = state.with_configuration(dict(zip(cell.group("").variables, values, strict=True)))
    pose, turn = tool_pose(cell, state), np.eye(4)
    turn[:3, :3] = pin.exp3(rng.normal(size=3) * angle)
    return cell, state, pose, moved(pose, *rng.normal(size=3) * length) @ Pose.from_matrix(turn)


def distances_to_line(positions, pose, end):
    """Distances (n,) [m] of positions (n, 3) from the line between the positions of two poses."""
    first, step = np.array(pose.position), np.array(end.position) - np.array(pose.position)
    nearest = first + np.clip((positions - first) @ step / (step @ step), 0.0, 1.0)[:, None] * step
    return np.linalg.norm(positions - nearest, axis=1)


def follow(cell, state, waypoints, *, group="", timing=None, **options):
    request = CartesianRequest(waypoints, group=group, options=CartesianOptions(**options), timing=timing)
    return plan_cartesian(cell, state, request)


def frames(*poses, mode=TargetMode.TOOL, **fields):
    return FrameWaypoints(poses, mode=mode, **fields)


def axes(*poses, mode=TargetMode.TOOL, **fields):
    return PointAxisWaypoints(tuple(as_axis(pose) for pose in poses), mode=mode, **fields)


def known_line(chain, q, direction, length, turn, lower, upper, swing=0.0, step=0.01):
    """The pose at the end of a straight path that the joints can follow from q; None if they cannot.

    swing: null-space motion of a redundant arm, rad or m per unit of the path.
    """
    start = chain.forward(q.copy())
    steps = int(np.ceil(max(length, np.linalg.norm(turn)) / step))
    target = start
    for index in range(1, steps + 1):
        target = start.copy()
        target[:3, :3] = start[:3, :3] @ pin.exp3(index / steps * turn)
        target[:3, 3] += index / steps * length * direction
        before = q
        if len(q) > 6:
            null = np.linalg.svd(chain.jacobian(q))[2][-1]
            q = q + swing * step * null * np.sign(null[np.argmax(np.abs(null))])
        for _ in range(6):
            pose = chain.forward(q.copy())
            error = np.concatenate(
                (target[:3, 3] - pose[:3, 3], pose[:3, :3] @ pin.log3(pose[:3, :3].T @ target[:3, :3]))
            )
            jacobian = chain.jacobian(q.copy())
            if np.linalg.svd(jacobian, compute_uv=False)[-1] < 0.05:
                return None
            q = q + np.linalg.pinv(jacobian) @ error
        if (q < lower).any() or (q > upper).any() or np.abs(q - before).max() > 0.2:
            return None
    return target
