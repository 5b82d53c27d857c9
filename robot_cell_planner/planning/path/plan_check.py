"""Verification of a plan against the cell, independent of its planner."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from ...collision.certification.certifier import certifiable, certifier_of
from ...collision.checker import CollisionChecker
from ...collision.pairs.allowed_pairs import CollisionOptions
from ...errors import (
    PathInvalidError,
    RobotCellError,
    StateError,
    TrajectoryInCollisionError,
    TrajectoryLimitError,
    TrajectoryStartError,
    Value,
)
from ...model.arguments import public
from ...model.cell import RobotCell
from ...model.start_limits import clamped_start
from ...model.state import RobotCellState
from ...trajectory.curve_limits import POSITION_TOLERANCE
from ...trajectory.limits import Array, MotionLimits
from ...trajectory.trajectory import Trajectory
from ...trajectory.validation import CollisionSearch, dense_times, validate
from ..problem.collision_checks import BATCH_SIZE, pair_names
from ..problem.context import StartCorrection
from ..problem.objective import points_between
from ..problem.plan import Plan, path_length
from ..problem.progress import ProgressMonitor
from ..problem.request import MAX_START_CORRECTION, PlanningOptions
from ..space_time.joint_motion import JointMotion
from ..space_time.moving_robots import MovingRobots
from .processing import PathCheckResult, check_joint_path

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


@public
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
    with the path, and be free. In a start correction, pairs that collide at the start may collide, up to the end of the
    correction, and joints may be beyond limits.

    Raises:
        UnknownNameError, InvalidRequestError: The plan does not match the cell.
        CancelledError, TimedOutError: The request was cancelled, or its time limit has passed.
    """
    options = options or PlanningOptions()
    monitor = ProgressMonitor(options.time_limit, None, cancelled)
    with monitor.stage("verify plan"):
        verification = _Verification(cell, state, plan, options, monitor)
        return verification.among_moving() if plan.moving else verification.alone()


@dataclass(frozen=True, eq=False)
class _Verification:
    """Verification of one plan."""

    cell: RobotCell
    state: RobotCellState
    plan: Plan
    options: PlanningOptions
    monitor: ProgressMonitor

    def alone(self) -> PlanVerdict:
        """Verify a plan without moving robots."""
        plan = self.plan
        correction, violations = self._start_correction()
        found = self._path_check(plan.path, find_all=correction is None)
        if correction is None:
            violations += found.violations
        else:
            # Places of violations remain those of the path: the correction is replaced by a rest at its end.
            after = self._path_check(np.vstack((plan.path[1], plan.path[1:])), find_all=True)
            violations += [*self._correction_violations(correction), *after.violations]
        violations = [
            *_origin_violations(self.cell, self.state, plan, self.options.start_limit_tolerance),
            *violations,
            *_claim_violations(plan, found.record),
        ]
        if plan.trajectory is not None:
            violations += self._trajectory_violations(plan.trajectory, correction)
        return PlanVerdict(tuple(violations), found.record)

    def among_moving(self) -> PlanVerdict:
        """Verify a plan together with the trajectories of the moving robots, which have to begin at the state."""
        cell, state, plan, options = self.cell, self.state, self.plan, self.options
        moving = MovingRobots(cell, state, plan.moving, plan.variables)
        record = replace(plan, path_length=path_length(plan.path), states_checked=0, motions_checked=0)
        violations = _origin_violations(cell, state, plan, options.start_limit_tolerance)
        if plan.start_correction_waypoints:
            violations.append(_wrong_correction("a plan among moving robots has a start correction", plan))
        if plan.trajectory is None:
            violations.append(PathInvalidError("a plan among moving robots has no trajectory", stage="verify plan"))
            return PlanVerdict(tuple(violations), record)
        checker = self._checker((*plan.variables, *moving.variables))
        motion = JointMotion(checker, plan.trajectory, moving.trajectories, on_step=self.monitor.check)
        proof = motion.proof(certifier_of(checker) if certifiable(checker) else None)
        record = replace(record, certified_fraction=proof.fraction, clearance=motion.clearance(plan.path))
        violations += _claim_violations(plan, record)
        # The collision engine alone decides, as for other plans.
        violations += _end_violations(plan, plan.trajectory, self._limits)
        violations += _validation_violations(plan.trajectory, self._limits, None)
        try:
            record = replace(record, states_checked=motion.check_states(options.resolution))
        except TrajectoryInCollisionError as error:
            violations.append(error)
        return PlanVerdict(tuple(violations), record)

    def _checker(self, variables: tuple[str, ...]) -> CollisionChecker:
        margins = CollisionOptions(extra_margin=self.options.extra_margin)
        return CollisionChecker(self.cell, self.state, variables, engine=self.options.engine, options=margins)

    @cached_property
    def _own_checker(self) -> CollisionChecker:
        """Checker of the planned joints."""
        return self._checker(self.plan.variables)

    @property
    def _limits(self) -> MotionLimits:
        return MotionLimits.of([self.cell.variables[name] for name in self.plan.variables])

    def _path_check(self, path: Array, *, find_all: bool) -> PathCheckResult:
        """Check and measure a path (n, dof). The collision engine alone decides, so that errors in certificates are
        detected.
        """

        def cancelled() -> bool:
            self.monitor.check()
            return False

        options = replace(self.options, time_limit=0.0)  # the monitor has the time limit of the whole verification
        return check_joint_path(
            self.cell,
            self.state,
            self.plan.variables,
            path,
            (),
            options,
            find_all=find_all,
            certificates=False,
            cancelled=cancelled,
        )

    def _start_correction(self) -> tuple[StartCorrection | None, list[RobotCellError]]:
        """Return the start correction of the plan, if any, and the violation of a malformed one."""
        plan, count = self.plan, self.plan.start_correction_waypoints
        if not count:
            return None, []
        if count != 1 or len(plan.path) < 2:
            text = f"a start correction has {count} waypoints of a path of {len(plan.path)}, expected 1 of at least 2"
            return None, [_wrong_correction(text, plan)]
        moved = float(np.abs(plan.path[1] - plan.path[0]).max())
        if not 0.0 < moved <= MAX_START_CORRECTION:
            text = (
                f"the start correction moves a joint by {moved:g}, expected at most {MAX_START_CORRECTION:g} and not 0"
            )
            return None, [_wrong_correction(text, plan)]
        pairs = _pairs(self._own_checker, plan.path[0])
        return StartCorrection(plan.path[0], plan.path[1], pairs), []

    def _correction_violations(self, correction: StartCorrection) -> list[RobotCellError]:
        """Return the first collision on the correction of a pair that does not collide at its start."""
        points = points_between(correction.start, correction.end, self.options.resolution)
        for index in np.flatnonzero(self._in_collision(points)).tolist():
            others = sorted(_pairs(self._own_checker, points[index]) - correction.pairs)
            if others:
                place = index / (len(points) - 1)
                text = f"{others[0][0]} and {others[0][1]} collide at {place:.3f} of the path, in the start correction"
                values = (Value("place", place),)
                return [PathInvalidError(text, stage="verify plan", subjects=others[0], values=values)]
        return []

    def _in_collision(self, configurations: Array) -> NDArray[np.bool_]:
        """Return for each of configurations (n, dof) whether it collides: (n,)."""
        found = np.zeros(len(configurations), dtype=bool)
        for first in range(0, len(configurations), BATCH_SIZE):
            self.monitor.check(first)
            part = slice(first, first + BATCH_SIZE)
            found[part] = self._own_checker.in_collision_batch(configurations[part])
        return found

    def _trajectory_violations(
        self, trajectory: Trajectory, correction: StartCorrection | None
    ) -> list[RobotCellError]:
        plan, checker, limits = self.plan, self._own_checker, self._limits
        if trajectory.variables != plan.variables:
            text = f"the trajectory moves {list(trajectory.variables)}, the path {list(plan.variables)}"
            return [PathInvalidError(text, stage="verify plan")]
        violations = _end_violations(plan, trajectory, self._limits)
        names = partial(pair_names, checker)
        if correction is None:
            search = CollisionSearch(self._in_collision, names, self.options.resolution)
            return violations + _validation_violations(trajectory, limits, search)

        def blocked(configurations: Array) -> NDArray[np.bool_]:
            found = self._in_collision(configurations)
            for index in np.flatnonzero(found[: correction.states_on(configurations)]).tolist():
                found[index] = not _pairs(checker, configurations[index]) <= correction.pairs
            return found

        widened = correction.widened(limits)
        search = CollisionSearch(blocked, names, self.options.resolution)
        violations += _validation_violations(trajectory, widened, search)
        states = trajectory.at(dense_times(trajectory, self.options.resolution))
        return violations + _beyond_limits(limits, states[correction.states_on(states) :])


def _pairs(checker: CollisionChecker, q: Array) -> frozenset[tuple[str, str]]:
    """Return the names of the pairs that collide at q (dof,)."""
    return frozenset((pair.first, pair.second) for pair in checker.report(q).pairs)


def _wrong_correction(text: str, plan: Plan) -> PathInvalidError:
    values = (Value("start correction waypoints", plan.start_correction_waypoints, 1),)
    return PathInvalidError(text, stage="verify plan", values=values)


def _validation_violations(
    trajectory: Trajectory, limits: MotionLimits, search: CollisionSearch | None
) -> list[RobotCellError]:
    """Return the violations of limits, or else the first collision, of a trajectory."""
    report = validate(trajectory, limits, collisions=search)
    try:
        report.check()
    except RobotCellError as error:
        return [error]
    return []


def _beyond_limits(limits: MotionLimits, states: Array) -> list[RobotCellError]:
    """Return the largest excess of position limits of states (n, dof) after a start correction."""
    excess = np.maximum(limits.lower - states, states - limits.upper)
    if not excess.size or float(excess.max()) <= POSITION_TOLERANCE:
        return []
    column = int(excess.max(axis=0).argmax())
    name = limits.variables[column]
    values = (Value(f"excess of {name}", float(excess[:, column].max()), POSITION_TOLERANCE, limits.unit(column)),)
    text = f"the trajectory is beyond a position limit of {name} after the start correction"
    return [TrajectoryLimitError(text, stage="verify plan", subjects=(name,), values=values)]


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
    units = [cell.variables[name].unit for name in plan.variables]
    if values := _distance(plan.variables, units, plan.path[0] - np.array(start)):
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


def _distance(variables: Sequence[str], units: Sequence[str], difference: Array) -> tuple[Value, ...]:
    """Return the largest distance of a joint between two configurations (dof,) that should be equal; () if they are."""
    distances = np.abs(difference)
    worst = int(distances.argmax())
    if not distances[worst] > END_TOLERANCE:
        return ()
    return (Value(f"distance of {variables[worst]}", float(distances[worst]), END_TOLERANCE, units[worst]),)


def _end_violations(plan: Plan, trajectory: Trajectory, limits: MotionLimits) -> list[RobotCellError]:
    violations: list[RobotCellError] = []
    for what, index in (("begin", 0), ("end", -1)):
        difference = trajectory.positions[index] - plan.path[index]
        if values := _distance(plan.variables, limits.units, difference):
            violations.append(TrajectoryStartError(f"the trajectory does not {what} with the path", values=values))
    return violations
