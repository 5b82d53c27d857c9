"""Verification of a plan against the cell, independent of its planner."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...collision.certification.certifier import certifier_of
from ...collision.checker import CollisionChecker
from ...errors import (
    PathInvalidError,
    RobotCellError,
    StateError,
    TrajectoryInCollisionError,
    TrajectoryStartError,
    Value,
)
from ...model.cell import RobotCell
from ...model.start_limits import clamped_start
from ...model.state import RobotCellState
from ...trajectory.limits import MotionLimits
from ...trajectory.trajectory import Trajectory
from ...trajectory.validation import CollisionSearch, validate
from ..problem.collision_checks import pair_names
from ..problem.plan import Plan, path_length
from ..problem.request import PlanningOptions
from ..space_time.joint_motion import JointMotion
from ..space_time.moving_robots import MovingRobots
from .processing import check_joint_path

LENGTH_TOLERANCE = 1e-9
# Plans measure their clearance at steps of 0.05 rad or m; the verification uses a smaller step.
CLEARANCE_TOLERANCE = 0.01  # [m]
END_TOLERANCE = 1e-9  # [rad or m]


@dataclass(frozen=True, eq=False)
class PlanVerdict:
    """Result of a plan verification.

    Attributes:
        violations: Properties that do not hold.
        record: Measured properties, with `certified_fraction` from new certificates.
    """

    violations: tuple[RobotCellError, ...]
    record: Plan

    @property
    def valid(self) -> bool:
        return not self.violations


def verify_plan(
    cell: RobotCell,
    state: RobotCellState,
    plan: Plan,
    options: PlanningOptions | None = None,
    *,
    cancelled: Callable[[], bool] | None = None,
) -> PlanVerdict:
    """Verify a plan against a cell and the state that it starts from.

    The digests of cell and state have to match. The path has to start at the state, keep position limits and be free;
    its length, clearance and proven fraction have to be as in the plan. A trajectory has to keep limits, begin and end
    with the path, and be free.

    Raises:
        UnknownNameError, InvalidRequestError: The plan does not match the cell.
        CancelledError, TimedOutError: The request was cancelled, or its time limit has passed.
    """
    options = options or PlanningOptions()
    if plan.moving:
        return _verify_among_moving(cell, state, plan, options)
    # The collision engine alone decides, so that errors in certificates are detected.
    found = check_joint_path(
        cell, state, plan.variables, plan.path, (), options, find_all=True, certificates=False, cancelled=cancelled
    )
    violations = list(found.violations)
    if plan.start_correction_waypoints:
        violations = [violation for violation in violations if not _before(violation, plan.start_correction_waypoints)]
    violations = [
        *_origin_violations(cell, state, plan, options.start_limit_tolerance),
        *violations,
        *_claim_violations(plan, found.record),
    ]
    if plan.trajectory is not None:
        violations.extend(_trajectory_violations(cell, state, plan, plan.trajectory, options))
    return PlanVerdict(tuple(violations), found.record)


def _verify_among_moving(cell: RobotCell, state: RobotCellState, plan: Plan, options: PlanningOptions) -> PlanVerdict:
    """Verify a plan together with the trajectories of the moving robots, which have to begin at the state."""
    moving = MovingRobots(cell, state, plan.moving, plan.variables)
    record = replace(plan, path_length=path_length(plan.path), states_checked=0, motions_checked=0)
    violations = _origin_violations(cell, state, plan, options.start_limit_tolerance)
    if plan.trajectory is None:
        violations.append(PathInvalidError("a plan among moving robots has no trajectory", stage="verify plan"))
        return PlanVerdict(tuple(violations), record)
    checker = CollisionChecker(cell, state, (*plan.variables, *moving.variables), engine=options.engine)
    motion = JointMotion(checker, plan.trajectory, moving.trajectories)
    proof = motion.proof(certifier_of(checker) if checker.engine == "coal" else None)
    record = replace(record, certified_fraction=proof.fraction, clearance=motion.clearance(plan.path))
    violations += _claim_violations(plan, record)
    # The collision engine alone decides, as for other plans.
    violations += _limit_violations(cell, plan, plan.trajectory)
    try:
        record = replace(record, states_checked=motion.check_states(options.resolution))
    except TrajectoryInCollisionError as error:
        violations.append(error)
    return PlanVerdict(tuple(violations), record)


def _limit_violations(cell: RobotCell, plan: Plan, trajectory: Trajectory) -> list[RobotCellError]:
    """Return violations of limits, and of the ends of the path, by a trajectory."""
    violations = _end_violations(plan, trajectory)
    try:
        validate(trajectory, MotionLimits.of([cell.variables[name] for name in plan.variables])).check()
    except RobotCellError as error:
        violations.append(error)
    return violations


def _before(violation: RobotCellError, parameter: int) -> bool:
    """Return whether a violation is before a path parameter, i.e. within the start correction."""
    return any(value.name == "place" and value.value < parameter for value in violation.values)


def _origin_violations(cell: RobotCell, state: RobotCellState, plan: Plan, tolerance: float) -> list[RobotCellError]:
    violations: list[RobotCellError] = []
    for what, claimed, actual in (
        ("cell", plan.cell_digest, cell.digest()),
        ("start state", plan.start_state_digest, state.digest()),
    ):
        if claimed != actual:
            text = f"the plan is for a {what} with digest {claimed or 'unknown'}, this one has {actual}"
            violations.append(StateError(text, stage="verify plan", subjects=(what,)))
    given = [state.configuration[name] for name in plan.variables]
    start, _ = clamped_start([cell.variables[name] for name in plan.variables], given, tolerance)
    distance = float(np.abs(plan.path[0] - np.array(start)).max())
    if distance > END_TOLERANCE:
        values = (Value("distance", distance, END_TOLERANCE),)
        violations.append(PathInvalidError("the path does not begin at the state", stage="verify plan", values=values))
    return violations


def _claim_violations(plan: Plan, record: Plan) -> list[RobotCellError]:
    violations: list[RobotCellError] = []
    if abs(plan.path_length - record.path_length) > LENGTH_TOLERANCE * max(1.0, record.path_length):
        values = (Value("path length", plan.path_length, record.path_length),)
        text = "the length of the path differs from the plan"
        violations.append(PathInvalidError(text, stage="verify plan", values=values))
    if plan.clearance is not None and record.clearance is not None:
        claimed, actual = plan.clearance.closest.distance, record.clearance.closest.distance
        if claimed > actual + CLEARANCE_TOLERANCE:
            values = (Value("clearance", claimed, actual, "m"),)
            text = "the clearance of the path is smaller than in the plan"
            violations.append(PathInvalidError(text, stage="verify plan", values=values))
    # If nothing can be proven (NaN), every claim is a violation.
    if not (
        math.isnan(plan.certified_fraction) or plan.certified_fraction <= record.certified_fraction + LENGTH_TOLERANCE
    ):
        values = (Value("certified_fraction", plan.certified_fraction, record.certified_fraction),)
        text = "a smaller fraction of the path is proven free than in the plan"
        violations.append(PathInvalidError(text, stage="verify plan", values=values))
    return violations


def _trajectory_violations(
    cell: RobotCell, state: RobotCellState, plan: Plan, trajectory: Trajectory, options: PlanningOptions
) -> list[RobotCellError]:
    if trajectory.variables != plan.variables:
        text = f"the trajectory moves {list(trajectory.variables)}, the path {list(plan.variables)}"
        return [PathInvalidError(text, stage="verify plan")]
    violations = _end_violations(plan, trajectory)
    checker = CollisionChecker(cell, state, plan.variables, engine=options.engine)

    limits = MotionLimits.of([cell.variables[name] for name in plan.variables])
    search = CollisionSearch(checker.in_collision_batch, partial(pair_names, checker), options.resolution)
    report = validate(trajectory, limits, collisions=None if plan.start_correction_waypoints else search)
    try:
        report.check()
    except RobotCellError as error:
        violations.append(error)
    return violations


def _end_violations(plan: Plan, trajectory: Trajectory) -> list[RobotCellError]:
    violations: list[RobotCellError] = []
    for what, index in (("begin", 0), ("end", -1)):
        distance = float(np.abs(trajectory.positions[index] - plan.path[index]).max())
        if distance > END_TOLERANCE:
            values = (Value("distance", distance, END_TOLERANCE),)
            violations.append(TrajectoryStartError(f"the trajectory does not {what} with the path", values=values))
    return violations
