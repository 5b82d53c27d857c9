"""Conversions of the report of a trajectory validation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robot_cell_planner.msg import CollisionPair, JointLimits, LimitViolation, TrajectoryCollision
from robot_cell_planner.msg import TrajectoryReport as ReportMessage

from ...collision.pairs.allowed_pairs import pair_type
from ...collision.pairs.objects import ObjectKind
from ...model.cell import RobotCell
from ...model.mechanism import Variable
from ...trajectory.limits import RATES, MotionLimits
from ...trajectory.validation import TrajectoryReport
from .basic import duration_to_message
from .collisions import KINDS
from .trajectories import QUANTITIES


def report_to_message(report: TrajectoryReport, cell: RobotCell) -> ReportMessage:
    """Return the report of a trajectory in a cell. Distances are NaN, since a validation computes none."""
    violations = [
        LimitViolation(
            quantity=QUANTITIES[found.quantity],
            joint=found.variable,
            point=found.sample,
            time=duration_to_message(found.time),
            value=found.value,
            limit=found.limit,
            unit=found.unit,
        )
        for found in report.violations
    ]
    collisions = [
        TrajectoryCollision(
            point=found.sample,
            place=float(found.sample),
            time=duration_to_message(found.time),
            pair=_pair(found.first, found.second, cell),
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


def _pair(first: str, second: str, cell: RobotCell) -> CollisionPair:
    """Return a colliding pair of which the names are known; "" if they are not."""
    pair = CollisionPair(verdict=CollisionPair.COLLIDING, distance=math.nan, margin=math.nan)
    if first and second:
        kinds = list(KINDS)
        one, other = sorted((first, second), key=lambda name: kinds.index(_kind(name, cell)))
        pair.name_a, pair.kind_a = one, KINDS[_kind(one, cell)]
        pair.name_b, pair.kind_b = other, KINDS[_kind(other, cell)]
        same_tool = one.partition("/")[0] == other.partition("/")[0]
        pair.pair_type = int(pair_type(_kind(one, cell), _kind(other, cell), same_model=same_tool))
    return pair


def _kind(name: str, cell: RobotCell) -> ObjectKind:
    if name in cell.bodies:
        return ObjectKind.BODY
    return ObjectKind.TOOL if name in cell.tool_links else ObjectKind.LINK


def limits_to_message(variables: Sequence[Variable], bounds: Sequence[tuple[float, float]] = ()) -> list[JointLimits]:
    """Return the limits of joints in the cell; missing limits are 0. bounds: lower and upper position limits of each,
    if they differ from those of the cell."""
    bounds = bounds or [(variable.limits.lower, variable.limits.upper) for variable in variables]
    return [_joint_limits(variable, *pair) for variable, pair in zip(variables, bounds, strict=True)]


def _joint_limits(variable: Variable, lower: float, upper: float) -> JointLimits:
    message = JointLimits(joint=variable.name, unit=variable.unit)
    message.has_position_limits = bool(np.isfinite((lower, upper)).all())
    if message.has_position_limits:
        message.lower, message.upper = float(lower), float(upper)
    for name in (*RATES, "effort"):
        rate = float(getattr(variable.limits, name) or 0.0)
        setattr(message, name, rate if np.isfinite(rate) else 0.0)
    return message


def limits_from_message(messages: Sequence[JointLimits], joints: tuple[str, ...]) -> MotionLimits | None:
    """Return the limits of joints (in the names of the cell), in their order; None if one has no rate limits."""
    if len(messages) != len(joints) or not all(getattr(message, name) > 0.0 for message in messages for name in RATES):
        return None
    bounds = [(m.lower, m.upper) if m.has_position_limits else (-np.inf, np.inf) for m in messages]
    lower, upper = np.array(bounds).T
    velocity, acceleration, jerk = (np.array([getattr(message, name) for message in messages]) for name in RATES)
    return MotionLimits(joints, lower, upper, velocity, acceleration, jerk, units=units_from_message(messages, joints))


def units_from_message(messages: Sequence[JointLimits], joints: Sequence[str]) -> tuple[str, ...]:
    """Return the units of the positions of joints, in their order; () if one is not known."""
    units = tuple(message.unit for message in messages)
    return units if len(units) == len(joints) and all(units) else ()
