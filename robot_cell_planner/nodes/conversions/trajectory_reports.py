"""What the validation of a trajectory found, as a message."""

from __future__ import annotations

from robot_cell_planner.msg import CollisionPair, LimitViolation, TrajectoryCollision
from robot_cell_planner.msg import TrajectoryReport as ReportMessage

from ...trajectory.validation import Quantity, TrajectoryReport
from .basic import duration_to_message

QUANTITIES = {quantity: getattr(LimitViolation, quantity.name) for quantity in Quantity}


def report_to_message(report: TrajectoryReport) -> ReportMessage:
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
    return ReportMessage(
        valid=report.valid,
        violations=violations,
        collisions=collisions,
        truncated=report.truncated,
        duration=duration_to_message(report.duration),
        warnings=list(report.warnings),
    )
