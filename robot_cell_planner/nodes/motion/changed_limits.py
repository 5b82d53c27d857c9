"""Limits that have become narrower while a motion runs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from robot_cell_planner.msg import LimitViolation

from ...errors import TrajectoryLimitError, Value, distinct_texts
from ...model.start_limits import START_LIMIT_TOLERANCE
from ...trajectory.limits import RATES, MotionLimits
from ..conversions.basic import duration_from_message
from ..conversions.trajectories import NAMES, unit_of_violation
from .trajectory_goals import MotionGoal

STAGE = "look-ahead"
RELATIVE = 1e-9  # difference of equal limits after their conversion
BOUNDS = ("lower", "upper")
AGAIN = "Start servo again, which then keeps to the present limits."
ORDERS = {getattr(LimitViolation, name.upper()): name for name in RATES}  # rates by the constants of the message


def by_changed_limits(goal: MotionGoal, violations: Iterable[LimitViolation]) -> list[LimitViolation]:
    """Return the violations of limits that are narrower than those that a goal was validated against: the motion keeps
    to the others. All of them, if the limits of the validation are unknown."""
    return [found for found in violations if _is_narrower(goal, found)]


def _is_narrower(goal: MotionGoal, found: LimitViolation) -> bool:
    validated = goal.limits
    if validated is None or found.joint not in goal.names:
        return True
    column, slack = goal.names.index(found.joint), RELATIVE * abs(found.limit)
    if found.quantity == LimitViolation.POSITION:
        below = found.value < found.limit
        bound = float((validated.lower if below else validated.upper)[column])
        if abs(goal.trajectory.positions[0, column] - bound) <= slack:
            slack += START_LIMIT_TOLERANCE  # the validation may have widened the limit to the start
        return (found.limit - bound if below else bound - found.limit) > slack
    return bool(found.limit < getattr(validated, ORDERS[found.quantity])[column] - slack)


def beyond_limit(found: LimitViolation, reached: float, revision: int) -> TrajectoryLimitError:
    """Return the error of a motion that would violate a changed limit.

    reached: time reached along the trajectory [s]. revision: of the scene that was checked.
    """
    quantity, time = NAMES[found.quantity], duration_from_message(found.time)
    value, limit = distinct_texts(found.value, found.limit)
    unit = unit_of_violation(found)
    return TrajectoryLimitError(
        f"since revision {revision} of the scene, the {quantity} of {found.joint} would be beyond its limit at "
        f"{time:.3f} s of the trajectory: {value} {unit}, limit {limit} {unit}",
        stage=STAGE,
        subjects=(found.joint,),
        values=(
            Value(f"{quantity} of {found.joint}", found.value, found.limit, unit),
            Value("time of the violation", time, unit="s"),
            Value("time reached", reached, unit="s"),
            Value("revision", revision),
        ),
        remedy="Plan again from the robot's present state; the option `replan` does so by itself.",
    )


def narrower_limit(validated: MotionLimits, present: MotionLimits) -> TrajectoryLimitError | None:
    """Return an error that names the first limit that is narrower than that of the same joint before; None if there is
    none."""
    for name in (*BOUNDS, *RATES):
        before, now = getattr(validated, name), getattr(present, name)
        beyond = now - before if name == "lower" else before - now
        with np.errstate(invalid="ignore"):  # both infinite
            columns = np.flatnonzero(beyond > RELATIVE * np.abs(now))
        for column in columns[:1].tolist():
            joint, quantity = (
                validated.variables[column],
                f"{name} position limit" if name in BOUNDS else f"{name} limit",
            )
            value, limit = distinct_texts(float(before[column]), float(now[column]))
            unit = validated.unit(column, RATES.index(name) + 1 if name in RATES else 0)
            text = f"the {quantity} of {joint} has become narrower: {limit} {unit}, was {value} {unit}"
            values = (Value(f"{quantity} of {joint}", float(before[column]), float(now[column]), unit),)
            return TrajectoryLimitError(text, stage="servo", subjects=(joint,), values=values, remedy=AGAIN)
    return None
