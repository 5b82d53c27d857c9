"""Results of the validation in goals, and efforts of goals within the limits of their joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from robot_cell_planner.msg import JointLimits
from robot_cell_planner.srv import ValidateTrajectory

from ...errors import TrajectoryLimitError, Value, distinct_texts
from ...model.units import unit_of_effort
from ..conversions.trajectory_reports import limits_from_message, units_from_message
from .joint_feedback import published_names
from .trajectory_goals import MotionGoal


def validated(goal: MotionGoal, reply: ValidateTrajectory.Response, measured: Mapping[str, float]) -> MotionGoal:
    """Return a goal with the limits that its trajectory was validated against and their units, in its order of joints,
    the joints of the cell, and the positions that were measured when the validation was requested [rad or m].

    Raises:
        TrajectoryLimitError: The effort of a point exceeds the limit of its joint. Between points, efforts are
            linear, so that they do not exceed it there if they do not at the points.
    """
    _check_efforts(goal, reply.limits)
    return replace(
        goal,
        limits=limits_from_message(reply.limits, goal.joints),
        tolerances=replace(goal.tolerances, units=units_from_message(reply.limits, goal.joints)),
        measured=measured,
        cell_joints=published_names(reply.joints),
    )


def _check_efforts(goal: MotionGoal, limits: Sequence[JointLimits]) -> None:
    if goal.efforts is None or len(limits) != len(goal.joints):
        return
    allowed = np.array([limit.effort or np.inf for limit in limits])  # 0: no limit
    efforts = np.atleast_2d(goal.efforts)
    beyond = np.argwhere(np.abs(efforts) > allowed)
    if not len(beyond):
        return
    row, column = beyond[0]
    joint, effort, limit = goal.names[column], float(efforts[row, column]), float(allowed[column])
    found, bound = distinct_texts(effort, limit)
    unit = unit_of_effort(limits[column].unit)
    raise TrajectoryLimitError(
        f"effort of {joint} at {goal.trajectory.times[row]:.4f} s: {found} {unit}, limit {bound} {unit}",
        stage="validate trajectory",
        subjects=(joint,),
        values=(Value(f"effort of {joint}", effort, limit, unit),),
    )
