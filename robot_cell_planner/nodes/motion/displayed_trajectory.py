"""The trajectory that is executed, for viewers."""

from __future__ import annotations

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from ...trajectory.trajectory import Trajectory
from ..common.node import LATCHED, CellNode
from ..conversions.trajectories import trajectory_to_message
from .trajectory_goals import MotionGoal

MAX_POINTS = 100


class DisplayedTrajectory:
    """Publishes each trajectory when its execution begins: positions at up to MAX_POINTS equal times.

    Messages stay small, since a long one would hold the interpreter while commands are streamed.
    """

    def __init__(self, node: CellNode) -> None:
        self._node = node
        self._publisher = node.create_publisher(JointTrajectory, "execution/trajectory", LATCHED)

    def publish(self, goal: MotionGoal) -> None:
        """Publish the trajectory of a goal."""
        trajectory = goal.trajectory
        first, last = float(trajectory.times[0]), trajectory.duration
        times = np.linspace(first, last, min(len(trajectory), MAX_POINTS)) if last > first else trajectory.times[-1:]
        shown = Trajectory(goal.joints, times, trajectory.at(times))
        self._publisher.publish(trajectory_to_message(shown, self._node.get_clock().now().nanoseconds))
