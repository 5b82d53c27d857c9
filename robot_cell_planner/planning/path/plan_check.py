"""Checking a plan against the cell alone, whatever made it: all that it claims must hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...collision.checker import CollisionChecker
from ...errors import PathInvalidError, RobotCellError, StateError, TrajectoryStartError, Value
from ...model.cell import RobotCell
from ...model.start_limits import clamped_start
from ...model.state import RobotCellState
from ...trajectory.limits import Array, MotionLimits
from ...trajectory.trajectory import Trajectory
from ...trajectory.validation import CollisionSearch, validate
from ..problem.plan import Plan
from ..problem.request import PlanningOptions
from .processing import check_joint_path

LENGTH_TOLERANCE = 1e-9
# A claimed clearance was measured at states 0.05 rad or m apart, and is measured again at finer ones.
CLEARANCE_TOLERANCE = 0.01  # [m]
END_TOLERANCE = 1e-9  # [rad or m]


@dataclass(frozen=True, eq=False)
class PlanVerdict:
    """What does not hold of a plan, and what the check itself found: its record, whose `proven` is of certificates that
    were made anew."""

    violations: tuple[RobotCellError, ...]
    record: Plan

    @property
    def holds(self) -> bool:
        return not self.violations


def verify_plan(
    cell: RobotCell,
    state: RobotCellState,
    plan: Plan,
    options: PlanningOptions | None = None,
    *,
    cancelled: Callable[[], bool] | None = None,
) -> PlanVerdict:
    """Hold a plan against a cell and the state that it is to start from.

    That state's digest must be the plan's, and the path must begin there, keep position limits and collide nowhere; it
    must be as long, as clear and as proven as is said. A trajectory must keep limits, begin and end where the path
    does, and collide nowhere.

    Raises:
        UnknownNameError, InvalidRequestError: the plan does not fit the cell at all.
        CancelledError, TimedOutError: ended from outside.
    """
    options = options or PlanningOptions()
    # By the engine's own verdicts, so that an error in the proofs that planning rests on would come to light.
    found = check_joint_path(
        cell, state, plan.variables, plan.path, (), options, find_all=True, certificates=False, cancelled=cancelled
    )
    faults = list(found.faults)
    if plan.escape_waypoints:
        faults = [fault for fault in faults if not _before(fault, plan.escape_waypoints)]
    violations = [
        *_origin_violations(cell, state, plan, options.start_limit_tolerance),
        *faults,
        *_claim_violations(plan, found.record),
    ]
    if plan.trajectory is not None:
        violations.extend(_trajectory_violations(cell, state, plan, plan.trajectory, options))
    return PlanVerdict(tuple(violations), found.record)


def _before(fault: RobotCellError, place: int) -> bool:
    """Whether a fault lies on the way out of a collision that the plan began in."""
    return any(value.name == "place" and value.value < place for value in fault.values)


def _origin_violations(cell: RobotCell, state: RobotCellState, plan: Plan, tolerance: float) -> list[RobotCellError]:
    violations: list[RobotCellError] = []
    for what, claimed, real in (
        ("cell", plan.cell_digest, cell.digest()),
        ("start state", plan.start_state_digest, state.digest()),
    ):
        if claimed != real:
            text = f"the plan was made for a {what} of digest {claimed or 'unknown'}, this one has {real}"
            violations.append(StateError(text, stage="verify plan", subjects=(what,)))
    given = [state.configuration[name] for name in plan.variables]
    start, _ = clamped_start([cell.variables[name] for name in plan.variables], given, tolerance)
    away = float(np.abs(plan.path[0] - np.array(start)).max())
    if away > END_TOLERANCE:
        values = (Value("distance", away, END_TOLERANCE),)
        violations.append(PathInvalidError("the path begins away from the state", stage="verify plan", values=values))
    return violations


def _claim_violations(plan: Plan, record: Plan) -> list[RobotCellError]:
    violations: list[RobotCellError] = []
    if abs(plan.path_length - record.path_length) > LENGTH_TOLERANCE * max(1.0, record.path_length):
        values = (Value("path length", plan.path_length, record.path_length),)
        text = "the path has another length than is said"
        violations.append(PathInvalidError(text, stage="verify plan", values=values))
    if plan.clearance is not None and record.clearance is not None:
        claimed, real = plan.clearance.closest.distance, record.clearance.closest.distance
        if claimed > real + CLEARANCE_TOLERANCE:
            values = (Value("clearance", claimed, real, "m"),)
            text = "the path comes closer to something than is said"
            violations.append(PathInvalidError(text, stage="verify plan", values=values))
    # Where nothing can be proven (not a number), every claim is too much.
    if not (math.isnan(plan.proven) or plan.proven <= record.proven + LENGTH_TOLERANCE):
        values = (Value("proven", plan.proven, record.proven),)
        text = "less of the path is proven free than is said"
        violations.append(PathInvalidError(text, stage="verify plan", values=values))
    return violations


def _trajectory_violations(
    cell: RobotCell, state: RobotCellState, plan: Plan, trajectory: Trajectory, options: PlanningOptions
) -> list[RobotCellError]:
    if trajectory.variables != plan.variables:
        text = f"the trajectory moves {list(trajectory.variables)}, the path {list(plan.variables)}"
        return [PathInvalidError(text, stage="verify plan")]
    violations: list[RobotCellError] = []
    for what, index in (("begins", 0), ("ends", -1)):
        away = float(np.abs(trajectory.positions[index] - plan.path[index]).max())
        if away > END_TOLERANCE:
            values = (Value("distance", away, END_TOLERANCE),)
            violations.append(TrajectoryStartError(f"the trajectory {what} away from the path", values=values))
    checker = CollisionChecker(cell, state, plan.variables, engine=options.engine)

    def pair_of(q: Array) -> tuple[str, str]:
        pair = checker.first_pair(q)
        return ("", "") if pair is None else (pair.first, pair.second)

    limits = MotionLimits.of([cell.variables[name] for name in plan.variables])
    search = CollisionSearch(checker.in_collision_batch, pair_of, options.resolution)
    report = validate(trajectory, limits, collisions=None if plan.escape_waypoints else search)
    try:
        report.check()
    except RobotCellError as error:
        violations.append(error)
    return violations
