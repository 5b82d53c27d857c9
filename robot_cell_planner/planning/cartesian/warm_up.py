"""Compiles the kernels of Cartesian planning ahead of their first use."""

from __future__ import annotations

import numpy as np

from ...errors import PlanningError
from ...kinematics.forward import forward_kinematics
from ...kinematics.ik.warm_up import practice_arms
from ...model.pose import Pose
from .path.rotations import rotations_by_vectors
from .path.waypoints import FrameWaypoints, PointAxisWaypoints, Waypoints
from .planner import CartesianOptions, CartesianRequest, CartesianStrategy, plan_cartesian
from .redundancy.self_motion_kernels import select_distinct

DISTANCE = 0.02  # [m]
OUT_OF_REACH = 9.0  # [m]


def warm_up() -> None:
    """Call every kernel once: arms with and without analytic inverse kinematics follow a pose and an axis, also out of
    reach.
    """
    for cell, state in practice_arms()[:2]:
        pose = forward_kinematics(cell, state)
        for strategy in CartesianStrategy:
            for waypoints in (_frame(pose, DISTANCE), _axis(pose, DISTANCE), _frame(pose, OUT_OF_REACH)):
                # Large steps, for few points.
                options = CartesianOptions(
                    strategy=strategy, max_step_distance=0.5 * DISTANCE, min_step_distance=0.5 * DISTANCE
                )
                try:
                    plan_cartesian(cell, state, CartesianRequest(waypoints, options=options))
                except PlanningError:
                    continue  # out of reach, intentionally
    # Kernels of rotating paths, and of redundant arms.
    rotations_by_vectors(np.zeros((1, 3)))
    select_distinct(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1), 0.5)


def _frame(pose: Pose, distance: float) -> Waypoints:
    x, y, z = pose.position
    return FrameWaypoints((Pose((x - distance, y, z), pose.quaternion),))


def _axis(pose: Pose, distance: float) -> Waypoints:
    x, y, z = pose.position
    axis = pose.matrix[:3, 2].tolist()
    return PointAxisWaypoints((((x - distance, y, z), (axis[0], axis[1], axis[2])),))


if __name__ == "__main__":
    warm_up()
