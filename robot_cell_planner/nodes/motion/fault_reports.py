"""Motions that end with an error are published for case files, which the planning node writes: it knows the cell, and
does not stream."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from std_msgs.msg import UInt8MultiArray

from robot_cell_planner.srv import ValidateTrajectory

from ...errors import CancelledError, RobotCellError, StopRequestedError, TrajectoryStartError
from ...trajectory.tracking import Check, FaultRecord, TrackingRow, supervised
from ..common.node import CellNode, reliable
from ..conversions.motion_faults import DEPTH, TOPIC, MotionFault, fault_to_message
from .motion import Motion
from .path_return import FeedbackTimeouts
from .trajectory_goals import MotionGoal


class FaultReports:
    """Publishes what the supervision of a motion has seen, if anybody subscribes."""

    def __init__(self, node: CellNode, timeouts: FeedbackTimeouts) -> None:
        self._node = node
        self._timeouts = timeouts
        self._publisher = node.create_publisher(UInt8MultiArray, TOPIC, reliable(DEPTH))

    def report(self, motion: Motion, reply: ValidateTrajectory.Response | None) -> None:
        """Publish a motion that ended with an error, unless its end was requested. reply: of its validation."""
        error = motion.error
        requested = isinstance(error, (CancelledError, StopRequestedError))
        if error is None or motion.passive or requested or not self._has_subscribers:
            return
        used = ("", "") if reply is None else (reply.state.cell_digest, reply.state.state_digest)
        self._publish(MotionFault(motion.supervised(), FaultRecord.of(error), *used))

    def starting_at(self, goal: MotionGoal, positions: Mapping[str, float]) -> MotionGoal:
        """As `MotionGoal.starting_at`; a goal that does not start there is published."""
        try:
            return goal.starting_at(positions)
        except TrajectoryStartError as error:
            if self._has_subscribers:
                self._publish(self._refused(goal, positions, error))
            raise

    def _refused(self, goal: MotionGoal, positions: Mapping[str, float], error: TrajectoryStartError) -> MotionFault:
        here, rest = np.array([positions[joint] for joint in goal.joints]), np.zeros(len(goal.joints))
        row = TrackingRow(Check.START, 0.0, 0.0, 0.0, goal.trajectory.positions[0], rest, here, rest)
        motion = supervised(
            goal.named_trajectory,
            goal.joints,
            goal.tolerances,
            (row,),
            silence=self._timeouts.silence,
            lost_after=self._timeouts.lost_after,
            speed_scale=goal.speed_scale,
        )
        return MotionFault(motion, FaultRecord.of(error))

    @property
    def _has_subscribers(self) -> bool:
        return self._publisher.get_subscription_count() > 0

    def _publish(self, fault: MotionFault) -> None:
        try:
            self._publisher.publish(fault_to_message(fault))
        except RobotCellError as error:
            self._node.get_logger().warning(f"the fault of a motion is not published: {error}")
