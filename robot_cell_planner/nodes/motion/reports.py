"""Feedback and record of motions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from control_msgs.action import FollowJointTrajectory
from trajectory_msgs.msg import JointTrajectoryPoint

from robot_cell_planner.msg import ExecutionFeedback, ExecutionRecord, StateUsed

from ..conversions.basic import duration_to_message, time_to_message
from .motion import Motion, Phase


def feedback_message(motion: Motion) -> ExecutionFeedback:
    """Return the feedback of a motion."""
    tracking = motion.tracking()
    message = ExecutionFeedback(
        stage=motion.phase.value,
        reached=duration_to_message(motion.reached),
        remaining=duration_to_message(motion.remaining),
        speed_scale=motion.scale,
        joint_names=list(motion.goal.names),
    )
    if tracking is not None:
        message.desired = tracking.desired.positions.tolist()
        message.actual = tracking.actual.tolist()
        message.tracking_error = tracking.error.tolist()
    return message


def follow_feedback(motion: Motion, now: int) -> FollowJointTrajectory.Feedback:
    """Return the feedback of a FollowJointTrajectory action; now: time of the stamp [ns]."""
    tracking = motion.tracking()
    desired = motion.last if tracking is None else tracking.desired
    reached = duration_to_message(motion.reached)
    message = FollowJointTrajectory.Feedback(joint_names=list(motion.goal.names))
    message.header.stamp = time_to_message(now)
    message.desired = JointTrajectoryPoint(
        positions=desired.positions.tolist(),
        velocities=desired.velocities.tolist(),
        accelerations=desired.accelerations.tolist(),
        time_from_start=reached,
    )
    if tracking is not None:
        message.actual = JointTrajectoryPoint(positions=tracking.actual.tolist(), time_from_start=reached)
        message.error = JointTrajectoryPoint(positions=tracking.difference.tolist(), time_from_start=reached)
        if np.isfinite(tracking.actual_velocities).all():
            message.actual.velocities = tracking.actual_velocities.tolist()
            message.error.velocities = (tracking.desired.velocities - tracking.actual_velocities).tolist()
    if hasattr(message, "index"):  # not in releases before Kilted
        message.index = motion.point
    return message


def record_message(motion: Motion, started: int, used: StateUsed | None) -> ExecutionRecord:
    """Return the record of a motion; started [ns]: time of the first command. used: the state it was validated
    against."""
    sent, account = motion.sent, motion.account
    message = ExecutionRecord(
        started=time_to_message(started),
        duration=duration_to_message(sent.last - sent.first if sent.commands else 0.0),
        reached=duration_to_message(motion.reached),
        commands=sent.commands,
        longest_interval=sent.longest_interval,
        late_commands=sent.late,
        max_tracking_error=account.max_tracking_error,
        max_tracking_error_joint=account.joint,
        max_returning_error=account.max_returning_error,
        pauses=account.pauses,
        goal_error=account.goal_error,
    )
    if used is not None:
        message.state = used
    return message


def reported(motions: Sequence[Motion]) -> Motion | None:
    """Return the motion that the status is about: of those of robots, or else of grippers, one that stops or moves, or
    else the first one."""
    order = (Phase.STOPPING, Phase.MOVING, Phase.SETTLING, Phase.PAUSED, Phase.DONE)
    return min(motions, key=lambda motion: (motion.passive, order.index(motion.phase)), default=None)
