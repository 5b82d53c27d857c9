"""Conversions of trajectories and of what their validation found."""

from __future__ import annotations

import numpy as np
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_cell_planner.msg import CollisionPair, LimitViolation, TrajectoryCollision, TrajectoryReport

from ...errors import InvalidRequestError, LimitExceededError, RobotCellError, Value
from ...trajectory import validation
from ...trajectory.trajectory import Trajectory
from .basic import duration_from_message, duration_to_message

MOST_POINTS = 1_000_000
QUANTITIES = {
    validation.Quantity.POSITION: LimitViolation.POSITION,
    validation.Quantity.VELOCITY: LimitViolation.VELOCITY,
    validation.Quantity.ACCELERATION: LimitViolation.ACCELERATION,
    validation.Quantity.JERK: LimitViolation.JERK,
    validation.Quantity.CONTINUITY: LimitViolation.CONTINUITY,
    validation.Quantity.START: LimitViolation.START,
}


def trajectory_to_message(trajectory: Trajectory) -> JointTrajectory:
    points = []
    for index, time in enumerate(trajectory.times.tolist()):
        point = JointTrajectoryPoint(positions=trajectory.positions[index].tolist())
        if trajectory.velocities is not None:
            point.velocities = trajectory.velocities[index].tolist()
        if trajectory.accelerations is not None:
            point.accelerations = trajectory.accelerations[index].tolist()
        point.time_from_start = duration_to_message(time)
        points.append(point)
    return JointTrajectory(joint_names=list(trajectory.variables), points=points)


def trajectory_from_message(message: JointTrajectory, field: str) -> Trajectory:
    """The trajectory.

    Raises:
        InvalidRequestError: no points, lists of wrong lengths, times that do not increase, numbers that are not finite.
        LimitExceededError: more than a million points.
    """
    names, points = tuple(message.joint_names), message.points
    if not points:
        raise InvalidRequestError(f"{field} has no points", subjects=(field,))
    if len(points) > MOST_POINTS:
        numbers = (Value("points", len(points), MOST_POINTS),)
        raise LimitExceededError(f"{field} has {len(points)} points", subjects=(field,), values=numbers)
    columns = {part: [list(getattr(p, part)) for p in points] for part in ("positions", "velocities", "accelerations")}
    for part, rows in columns.items():
        for index, row in enumerate(rows):
            if len(row) != len(names) and (part == "positions" or row):
                text = f"{field}.points[{index}] has {len(row)} {part}, expected {len(names)}"
                raise InvalidRequestError(text, subjects=(field,))
    given = {part: np.array(rows) for part, rows in columns.items() if all(rows)}
    if "velocities" not in given:
        given.pop("accelerations", None)
    times = np.array([duration_from_message(point.time_from_start) for point in points])
    try:
        return Trajectory(names, times, given["positions"], given.get("velocities"), given.get("accelerations"))
    except RobotCellError as error:
        error.message = f"{field}: {error.message}"
        raise


def report_to_message(report: validation.TrajectoryReport) -> TrajectoryReport:
    violations = [
        LimitViolation(
            quantity=QUANTITIES[found.quantity],
            joint=found.variable,
            point=found.sample,
            time=duration_to_message(found.time),
            value=found.value,
            limit=found.limit,
        )
        for found in report.violations
    ]
    collisions = [
        TrajectoryCollision(
            point=found.sample,
            place=float(found.sample),
            time=duration_to_message(found.time),
            pair=CollisionPair(name_a=found.first, name_b=found.second),
        )
        for found in report.collisions
    ]
    return TrajectoryReport(
        valid=report.valid,
        violations=violations,
        collisions=collisions,
        truncated=report.truncated,
        duration=duration_to_message(report.duration),
        warnings=list(report.warnings),
    )
