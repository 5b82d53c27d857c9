"""Path processing in a cell: validated input, a tool, verified output."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from ...collision.paths import PathCollision, check_path
from ...errors import (
    ConstraintMismatchError,
    InvalidRequestError,
    JointLimitError,
    PathInvalidError,
    RobotCellError,
    Value,
)
from ...model.arguments import checked_fields, public
from ...model.cell import RobotCell
from ...model.joint_arrays import check_distinct, checked_configurations
from ...model.start_limits import clamped_start
from ...model.state import RobotCellState
from ...trajectory.limits import Array
from ..problem.collision_checks import CountedChecks
from ..problem.constraints import PathConstraint
from ..problem.context import PlanningContext, context_in_space
from ..problem.frame_constraints import CONSTRAINT_STEP
from ..problem.plan import Plan
from ..problem.progress import Progress, ProgressMonitor
from ..problem.request import STAGE, PlanningOptions
from ..problem.space import space_of, values_beyond
from ..problem.subspace import check_combinations
from .finish import Origin, bare_plan, path_clearance, with_proof
from .simplification import concatenate, densify, drop_waypoints, reverse, shortcut, simplify, tighten
from .validity import PathVerifier, VerifiedLocalPlanner

CLEARANCE_STEP = 0.01  # [rad or m]
MAX_WAYPOINTS = 100_000
# Max clearance [m] that tightening preserves.
MAX_CLEARANCE_MARGIN = 0.1
MAX_VIOLATIONS = 100


class PathTool(str, Enum):
    """Operation on a path."""

    SIMPLIFY = "simplify"  # remove unnecessary waypoints
    SHORTCUT = "shortcut"  # replace parts by direct motions
    TIGHTEN = "tighten"  # pull waypoints inwards, like an elastic band; keep the min clearance
    DENSIFY = "densify"  # add waypoints between the existing ones
    REVERSE = "reverse"
    CONCATENATE = "concatenate"


@checked_fields
@dataclass(frozen=True, eq=False)
class PathRequest:
    """Path to process.

    Attributes:
        variables: Names of the columns.
        paths: One path (n, dof); for CONCATENATE those to join.
        constraints: Constraints that hold along the paths, and have to hold along the result.
        options: Seed, limits, steps and margins are used.
        spacing: For DENSIFY, max motion of a joint between waypoints [rad or m].
        joint_tolerance: For CONCATENATE, max gap of a joint [rad or m].

    Raises:
        InvalidRequestError: No path, more than one where one is expected, shapes that do not match, numbers that
            are not finite, or more than 100,000 waypoints.
    """

    tool: PathTool
    variables: tuple[str, ...]
    paths: tuple[Array, ...]
    constraints: tuple[PathConstraint, ...] = ()
    options: PlanningOptions = field(default_factory=PlanningOptions)
    spacing: float = 0.0
    joint_tolerance: float = 1e-9

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", tuple(checked_path(path, self.variables) for path in self.paths))
        if self.tool is not PathTool.CONCATENATE and len(self.paths) != 1:
            raise InvalidRequestError(f"{len(self.paths)} paths are given, expected 1", stage=STAGE)
        if not 0.0 <= self.joint_tolerance <= 1.0:
            text = f"joint_tolerance is {self.joint_tolerance:g}, expected 0 to 1"
            raise InvalidRequestError(text, stage=STAGE)


@dataclass(frozen=True, eq=False)
class PathCheckResult:
    """Result of a path check.

    Attributes:
        violations: Violated limits, constraints and collisions, each with its path parameter in waypoints.
        record: Measured properties of the path.
    """

    violations: tuple[RobotCellError, ...]
    collisions: tuple[PathCollision, ...]
    record: Plan


@public
def process_path(
    cell: RobotCell,
    state: RobotCellState,
    request: PathRequest,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Plan:
    """Process a path; return a plan with the result, without timing. Joints of the state are set to the path's start.

    Raises:
        PathInvalidError, JointLimitError, ConstraintMismatchError: The given path is invalid.
        UnknownNameError: The cell does not have a joint, or a constraint uses another joint.
        CancelledError, TimedOutError: The request was cancelled, or its time limit has passed.
    """
    options = request.options
    monitor = ProgressMonitor(options.time_limit, on_progress, cancelled)
    if request.tool is PathTool.CONCATENATE:
        variables = space_of(cell, request.variables, np.zeros(len(request.variables))).definitions
        path = concatenate(request.paths, variables, request.joint_tolerance)
    else:
        path = request.paths[0]
    context, path = path_context(cell, state, request.variables, path, request.constraints, options, monitor)
    with monitor.stage("check"):
        _require_valid(context, path, options)
    with monitor.stage(request.tool.value):
        result = _apply_tool(context, path, request)
    with monitor.stage("verify"):
        _require_valid(context, result, options)
    return _record(context, result, options, request.tool.value)


@public
def check_joint_path(
    cell: RobotCell,
    state: RobotCellState,
    variables: tuple[str, ...],
    path: Array,
    constraints: tuple[PathConstraint, ...] = (),
    options: PlanningOptions | None = None,
    *,
    find_all: bool = False,
    certificates: bool = True,
    cancelled: Callable[[], bool] | None = None,
) -> PathCheckResult:
    """Check a path (n, dof) against position limits, constraints and the cell, and measure it.

    Args:
        find_all: Report all violations (at most 100 of each kind), not only the first of each kind.
        certificates: If False, only the collision engine decides about collisions; `certified_fraction` of the
            record is from certificates nevertheless.

    Raises:
        InvalidRequestError: The path is malformed.
        UnknownNameError: The cell does not have a joint.
        CancelledError, TimedOutError: The request was cancelled, or its time limit has passed.
    """
    options = options or PlanningOptions()
    path = checked_path(path, variables)
    monitor = ProgressMonitor(options.time_limit, None, cancelled)
    context, path = path_context(cell, state, variables, path, constraints, options, monitor)
    with monitor.stage("check"):
        return _check(context, path, options, find_all, certificates)


@public
def measure_joint_path(
    cell: RobotCell,
    state: RobotCellState,
    variables: tuple[str, ...],
    path: Array,
    options: PlanningOptions | None = None,
    *,
    cancelled: Callable[[], bool] | None = None,
) -> Plan:
    """Return lengths and min clearance of a path (n, dof), valid or not, without certificates. Errors as for
    `check_joint_path`.
    """
    options = options or PlanningOptions()
    path = checked_path(path, variables)
    monitor = ProgressMonitor(options.time_limit, None, cancelled)
    context, path = path_context(cell, state, variables, path, (), options, monitor)
    with monitor.stage("measure"):
        return _record(context, path, options, "measure", certify=False)


def checked_path(path: Array, variables: tuple[str, ...]) -> Array:
    """Return a path (n, dof) of numbers within +- MAX_JOINT_VALUE.

    Raises:
        InvalidRequestError: The path is malformed, or has too many waypoints.
    """
    rows = checked_configurations(path, variables, stage=STAGE, what="path", row="waypoint")
    if not rows.size:
        raise InvalidRequestError(f"the path has shape {rows.shape}, expected at least one waypoint", stage=STAGE)
    if len(rows) > MAX_WAYPOINTS:
        numbers = (Value("waypoints", len(rows), MAX_WAYPOINTS),)
        raise InvalidRequestError("a path has too many waypoints", stage=STAGE, values=numbers)
    return rows


def path_context(
    cell: RobotCell,
    state: RobotCellState,
    variables: tuple[str, ...],
    path: Array,
    constraints: tuple[PathConstraint, ...],
    options: PlanningOptions,
    monitor: ProgressMonitor,
) -> tuple[PlanningContext, Array]:
    """Return the context of a path (n, dof), and the path, whose first waypoint is moved to limits within the
    tolerance.
    """
    check_distinct(variables, STAGE)
    group = _group_of(cell, variables)
    definitions = space_of(cell, variables, path[0], group).definitions
    first, warnings = clamped_start(definitions, path[0].tolist(), options.start_limit_tolerance)
    path = np.vstack((first, path[1:]))
    space = replace(space_of(cell, variables, path[0].copy(), group), start_warnings=warnings).including(path)
    start = state.with_configuration(dict(zip(variables, path[0].tolist(), strict=True)))
    cell.check_state(start)
    return context_in_space(cell, start, space, options, monitor, constraints), path


def _group_of(cell: RobotCell, variables: tuple[str, ...]) -> str:
    """Return a group with all joints of a path: a main group if possible, else the first one of a robot or of the
    composite groups; "" for none."""
    robots = [robot for robot in cell.robots.values() if robot.groups]
    groups = [*(robot.main_group for robot in robots), *(name for robot in robots for name in robot.groups)]
    groups += cell.groups
    return next((name for name in groups if set(variables) <= set(cell.group(name).variables)), "")


def _apply_tool(context: PlanningContext, path: Array, request: PathRequest) -> Array:
    options = request.options
    verifier = PathVerifier(context.checks, options.resolution)
    local_planner = VerifiedLocalPlanner(context.local_planner(options.search_step), verifier)
    if request.tool is PathTool.SIMPLIFY:
        path = simplify(path, local_planner)
        return path if context.frames else drop_waypoints(path, local_planner)
    if request.tool is PathTool.SHORTCUT:
        return shortcut(path, local_planner, options.seed)
    if request.tool is PathTool.TIGHTEN:
        widened = _with_clearance_margin(context, path, options)
        verifier = PathVerifier(widened.checks, options.resolution)
        return tighten(path, VerifiedLocalPlanner(widened.local_planner(options.search_step), verifier))
    if request.tool is PathTool.DENSIFY:
        return densify(path, request.spacing)[0] if len(path) > 1 else path
    return reverse(path) if request.tool is PathTool.REVERSE else path


def _with_clearance_margin(context: PlanningContext, path: Array, options: PlanningOptions) -> PlanningContext:
    """Return the context with margins increased to the min clearance along the path, at most 0.1 m."""
    found = path_clearance(context, path, CLEARANCE_STEP)
    if found is None:
        return context
    # The margin of the pair includes the extra margin of the options.
    extra_margin = min(max(found.closest.distance - found.closest.margin, 0.0), MAX_CLEARANCE_MARGIN)
    checks = context.checks
    checker = checks.checker.with_extra_margin(options.extra_margin + extra_margin)
    return replace(context, checks=CountedChecks(checker, context.monitor, checks.state_limit, checks.certify))


def _require_valid(context: PlanningContext, path: Array, options: PlanningOptions) -> None:
    """Reject a path that violates limits or constraints or collides."""
    for index, q in enumerate(path):
        violation = _limit_violation(context, q, index)
        if violation is not None:
            raise violation
    violated = _constraint_violations(context, path, 1)
    if violated:
        raise violated[0]
    verifier = PathVerifier(context.checks, options.resolution)
    if not context.checks.state_free(path[0]):
        blocked: int | None = 0
    else:
        blocked = verifier.first_blocked(path)
    if blocked is not None:
        raise _collision_violation(_collisions_on(context, path, blocked, options, False)[0])


def _check(
    context: PlanningContext, path: Array, options: PlanningOptions, find_all: bool, certificates: bool
) -> PathCheckResult:
    maximum = MAX_VIOLATIONS if find_all else 1
    limits = [
        violation for index, q in enumerate(path) if (violation := _limit_violation(context, q, index)) is not None
    ]
    violations = [*limits[:maximum], *_constraint_violations(context, path, maximum)]
    with nullcontext() if certificates else context.checks.with_exact_states():
        collisions = _collisions(context, path, options, maximum, certificates)
    violations += [_collision_violation(found) for found in collisions]
    return PathCheckResult(tuple(violations), tuple(collisions), _record(context, path, options, "check"))


def _collisions(
    context: PlanningContext, path: Array, options: PlanningOptions, maximum: int, certificates: bool
) -> list[PathCollision]:
    """Return at most `maximum` collisions of a path; only the first of each motion if that is 1."""
    verifier = PathVerifier(context.checks, options.resolution, certificates=certificates)
    collisions: list[PathCollision] = []
    free = context.checks.state_free(path[0])
    if not free and len(path) == 1:
        collisions.extend(_collisions_on(context, path, 0, options, maximum > 1))
    for index in range(len(path) - 1):
        free = free and verifier.is_free(path[index], path[index + 1])
        if not free:
            collisions.extend(_collisions_on(context, path, index, options, maximum > 1))
            if maximum == 1 or len(collisions) >= maximum:
                break
            free = context.checks.state_free(path[index + 1])
    return collisions[:maximum]


def _limit_violation(context: PlanningContext, q: Array, index: int) -> JointLimitError | None:
    beyond = values_beyond(context.space, q)
    if not beyond:
        return None
    names = tuple(value.name for value in beyond)
    text = f"waypoint {index} is beyond limits of joint {', '.join(names)}"
    return JointLimitError(text, stage="path", subjects=names, values=(*beyond, Value("place", index)))


def _constraint_violations(context: PlanningContext, path: Array, maximum: int) -> list[ConstraintMismatchError]:
    violations: list[ConstraintMismatchError] = []
    for index, q in enumerate(path):
        try:
            check_combinations(context.space, context.combinations, q, f"waypoint {index}")
        except ConstraintMismatchError as error:
            violations.append(error)
    if context.frames and not context.frames.keeps(path):
        points, parameters = densify(path, CONSTRAINT_STEP) if len(path) > 1 else (path, np.zeros(1))
        excess = context.frames.excess(points)
        for index in np.flatnonzero(excess > 1.0).tolist()[:maximum]:
            values = (
                Value("deviation in tolerances", float(excess[index]), 1.0),
                Value("place", float(parameters[index])),
            )
            text = f"the path breaks the constraints on frames at {parameters[index]:.3f}"
            violations.append(ConstraintMismatchError(text, stage="path", values=values))
    return violations[:maximum]


def _collisions_on(
    context: PlanningContext, path: Array, index: int, options: PlanningOptions, find_all: bool
) -> list[PathCollision]:
    """Return collisions on the motion after waypoint `index`, with path parameters of the whole path."""
    motion = path[index : index + 2]
    found = check_path(context.checks.checker, motion, find_all=find_all, resolution=options.resolution)
    context.checks.states += found.states_checked
    collisions = found.collisions or _certain_collision(context, motion, options.resolution)
    return [replace(entry, point=entry.point + index, place=entry.place + index) for entry in collisions]


def _certain_collision(context: PlanningContext, motion: Array, resolution: float) -> tuple[PathCollision, ...]:
    """Return the collision of a motion between the states of the resolution, if any."""
    q = PathVerifier(context.checks, resolution).blocked_at(motion[0], motion[-1]) if len(motion) > 1 else None
    pair = None if q is None else context.checks.checker.first_pair(q)
    if q is None or pair is None:
        return ()
    difference = motion[-1] - motion[0]
    return (PathCollision(1, float((q - motion[0]) @ difference / (difference @ difference)), 0.0, pair),)


def _collision_violation(found: PathCollision) -> PathInvalidError:
    pair = found.pair
    values = (Value("place", found.place), Value("distance", pair.distance, pair.margin, "m"))
    text = f"{pair.first} and {pair.second} collide at {found.place:.3f} of the path"
    return PathInvalidError(text, stage="path", subjects=(pair.first, pair.second), values=values)


def _record(
    context: PlanningContext, path: Array, options: PlanningOptions, tool: str, *, certify: bool = True
) -> Plan:
    plan = bare_plan(context, path, Origin(tool, options.seed, options.resolution))
    with context.monitor.stage("clearance"):
        clearance = path_clearance(context, path, CLEARANCE_STEP)
    proven = math.nan
    if certify:
        with context.monitor.stage("certify"):
            proven = context.checks.certified_fraction(path)
    return replace(
        with_proof(context, plan, proven),
        clearance=clearance,
        states_checked=context.checks.states,
        motions_checked=context.checks.motions,
        times=context.monitor.times,
    )
