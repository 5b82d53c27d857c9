"""Tools for paths in a cell: what goes in is checked, what comes out is valid, and says how it came about."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from ...collision.checker import CollisionChecker
from ...collision.pairs.allowed_pairs import CollisionOptions
from ...collision.paths import PathCollision, check_path
from ...errors import (
    ConstraintMismatchError,
    InvalidRequestError,
    JointLimitError,
    PathInvalidError,
    RobotCellError,
    Value,
)
from ...model.arguments import checked_fields
from ...model.cell import RobotCell
from ...model.start_limits import clamped_start
from ...model.state import RobotCellState
from ...model.value import MAX_JOINT_VALUE
from ...trajectory.limits import Array
from ..problem.collision_checks import CountedChecks
from ..problem.constraints import PathConstraint
from ..problem.context import PlanningContext, job_in
from ..problem.plan import Plan
from ..problem.progress import Progress, ProgressMonitor
from ..problem.request import STAGE, PlanningOptions
from ..problem.space import space_of, values_beyond
from ..problem.subspace import check_combinations
from .finish import Origin, bare_plan, path_clearance
from .simplification import concatenate, densify, drop_waypoints, reverse, shortcut, simplify, tighten
from .validity import PathVerifier

CONSTRAINT_STEP = 0.001  # [rad or m]
CLEARANCE_STEP = 0.01  # [rad or m]
MAX_WAYPOINTS = 100_000
# Clearance that is not worth more than this [m] when a path is pulled tight.
MOST_CLEARANCE = 0.1
MAX_FAULTS = 100


class PathTool(str, Enum):
    """What can be done with a path."""

    SIMPLIFY = "simplify"  # waypoints that are not needed are left out
    SHORTCUT = "shortcut"  # stretches are replaced by direct ones
    TIGHTEN = "tighten"  # waypoints are pulled in, as a rubber band would; the smallest clearance is kept
    DENSIFY = "densify"  # waypoints are added between those that are there
    REVERSE = "reverse"
    CONCATENATE = "concatenate"


@checked_fields
@dataclass(frozen=True, eq=False)
class PathRequest:
    """A path to work on.

    variables: names of the columns. paths (n, dof): one; for CONCATENATE those to join. constraints: what holds along
    the paths and shall hold along the result. options: seed, limits, steps and margins count. spacing [rad or m]: for
    DENSIFY, the farthest that a joint moves from one waypoint to the next. joint_tolerance [rad or m]: for CONCATENATE,
    the widest gap of a joint.

    Raises:
        InvalidRequestError: no path, more than one where one is meant, shapes that do not fit, numbers that are not
            finite, or more than 100,000 waypoints.
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
    """What is wrong with a path: limits, constraints and collisions, each with its place in waypoints; and what is
    known of it."""

    faults: tuple[RobotCellError, ...]
    collisions: tuple[PathCollision, ...]
    record: Plan


def process_path(
    cell: RobotCell,
    state: RobotCellState,
    request: PathRequest,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Plan:
    """Work on a path; the plan holds the path that came of it, without timing. Joints of the state are replaced by
    those of the path.

    Raises:
        PathInvalidError, JointLimitError, ConstraintMismatchError: what went in is not valid; `partial` is what
            `check_joint_path` found.
        UnknownNameError: a joint that the cell does not have, or that is not planned.
        CancelledError, TimedOutError: ended from outside.
    """
    options = request.options
    watch = ProgressMonitor(options.time_limit, on_progress, cancelled)
    if request.tool is PathTool.CONCATENATE:
        path = concatenate(request.paths, request.joint_tolerance)
    else:
        path = request.paths[0]
    job, path = path_job(cell, state, request.variables, path, request.constraints, options, watch)
    with watch.stage("check"):
        _refuse_invalid(job, path, options)
    with watch.stage(request.tool.value):
        result = _worked(job, path, request)
    with watch.stage("verify"):
        _refuse_invalid(job, result, options)
    return _recorded(job, result, options, request.tool.value)


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
    """Hold a path (n, dof) against position limits, constraints and the cell; and measure it.

    find_all: report all that is wrong (up to 100 of a kind), not only the first of each kind. certificates: False to
    ask the collision engine alone about collisions; the record's `proven` is of certificates all the same.

    Raises:
        InvalidRequestError: a malformed path.
        UnknownNameError: a joint that the cell does not have.
        CancelledError, TimedOutError: ended from outside.
    """
    options = options or PlanningOptions()
    path = checked_path(path, variables)
    watch = ProgressMonitor(options.time_limit, None, cancelled)
    job, path = path_job(cell, state, variables, path, constraints, options, watch)
    with watch.stage("check"):
        return _findings(job, path, options, find_all, certificates)


def measure_joint_path(
    cell: RobotCell,
    state: RobotCellState,
    variables: tuple[str, ...],
    path: Array,
    options: PlanningOptions | None = None,
    *,
    cancelled: Callable[[], bool] | None = None,
) -> Plan:
    """Lengths and smallest clearance of a path (n, dof), valid or not, of which nothing is proven; errors as of
    `check_joint_path`."""
    options = options or PlanningOptions()
    path = checked_path(path, variables)
    watch = ProgressMonitor(options.time_limit, None, cancelled)
    job, path = path_job(cell, state, variables, path, (), options, watch)
    with watch.stage("measure"):
        return _recorded(job, path, options, "measure", certify=False)


def checked_path(path: Array, variables: tuple[str, ...]) -> Array:
    """A path (n, dof) of numbers within MAX_JOINT_VALUE.

    Raises:
        InvalidRequestError: it is none, or has too many waypoints.
    """
    try:
        rows = np.array(path, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidRequestError(f"a path is no table of numbers: {error}", stage=STAGE) from error
    if rows.ndim != 2 or rows.shape[1] != len(variables) or not len(rows) or not len(variables):
        text = f"a path has shape {rows.shape}, expected (n, {len(variables)}) with at least one waypoint"
        raise InvalidRequestError(text, stage=STAGE)
    if len(rows) > MAX_WAYPOINTS:
        numbers = (Value("waypoints", len(rows), MAX_WAYPOINTS),)
        raise InvalidRequestError("a path has too many waypoints", stage=STAGE, values=numbers)
    bad = np.argwhere(~(np.abs(rows) <= MAX_JOINT_VALUE))
    if len(bad):
        row, column = (int(value) for value in bad[0])
        what = f"joint {variables[column]} of waypoint {row} is {rows[row, column]:g}"
        text = f"{what}, expected a number within {MAX_JOINT_VALUE:g}"
        raise InvalidRequestError(text, stage=STAGE, subjects=(variables[column],))
    return rows


def path_job(
    cell: RobotCell,
    state: RobotCellState,
    variables: tuple[str, ...],
    path: Array,
    constraints: tuple[PathConstraint, ...],
    options: PlanningOptions,
    watch: ProgressMonitor,
) -> tuple[PlanningContext, Array]:
    """The job of working on a path (n, dof), and the path, whose first waypoint is within limits if it is nearly."""
    if len(set(variables)) != len(variables):
        raise InvalidRequestError("a joint is listed twice", stage=STAGE, subjects=variables)
    group = _group_of(cell, variables)
    definitions = space_of(cell, variables, path[0], group).definitions
    first, warnings = clamped_start(definitions, path[0].tolist(), options.start_limit_tolerance)
    path = np.vstack((first, path[1:]))
    space = replace(space_of(cell, variables, path[0].copy(), group), start_warnings=warnings)
    start = state.with_configuration(dict(zip(variables, path[0].tolist(), strict=True)))
    cell.check_state(start)
    rules = CollisionOptions(extra_margin=options.extra_margin)
    checker = CollisionChecker(cell, start, variables, engine=options.engine, options=rules)
    checks = CountedChecks(checker, watch, options.state_limit, options.certify)
    return job_in(cell, start, space, checks, constraints), path


def _group_of(cell: RobotCell, variables: tuple[str, ...]) -> str:
    """The group whose joints a path moves: the main one if it has them all, else the first that has; "": none."""
    groups = [cell.group().name] if any(robot.groups for robot in cell.robots.values()) else []
    groups += [name for robot in cell.robots.values() for name in robot.groups]
    return next((name for name in groups if set(variables) <= set(cell.group(name).variables)), "")


def _worked(job: PlanningContext, path: Array, request: PathRequest) -> Array:
    options = request.options
    mover = job.mover(options.search_step)
    if request.tool is PathTool.SIMPLIFY:
        path = simplify(path, mover)
        return path if job.frames else drop_waypoints(path, mover)
    if request.tool is PathTool.SHORTCUT:
        return shortcut(path, mover, options.seed)
    if request.tool is PathTool.TIGHTEN:
        keeping = _keeping_clearance(job, path, options)
        return tighten(path, keeping.mover(options.search_step))
    if request.tool is PathTool.DENSIFY:
        return densify(path, request.spacing)[0] if len(path) > 1 else path
    return reverse(path) if request.tool is PathTool.REVERSE else path


def _keeping_clearance(job: PlanningContext, path: Array, options: PlanningOptions) -> PlanningContext:
    """The job with margins as wide as the smallest clearance along the path, up to 0.1 m."""
    found = path_clearance(job, path, CLEARANCE_STEP)
    if found is None:
        return job
    spare = min(found.closest.distance - found.closest.margin, MOST_CLEARANCE)
    rules = CollisionOptions(extra_margin=max(options.extra_margin, spare))
    plain = job.checks.checker
    checker = CollisionChecker(job.cell, job.state, plain.variables, engine=plain.engine, options=rules)
    return replace(job, checks=CountedChecks(checker, job.watch, job.checks.state_limit, job.checks.certify))


def _refuse_invalid(job: PlanningContext, path: Array, options: PlanningOptions) -> None:
    """Refuse a path that breaks limits or constraints or collides."""
    for index, q in enumerate(path):
        fault = _limit_fault(job, q, index)
        if fault is not None:
            raise fault
    broken = _constraint_faults(job, path, 1)
    if broken:
        raise broken[0]
    verifier = PathVerifier(job.checks, options.resolution)
    if not job.checks.state_free(path[0]):
        blocked: int | None = 0
    else:
        blocked = verifier.first_blocked(path)
    if blocked is not None:
        raise _collision_fault(_collisions_on(job, path, blocked, options, False)[0])


def _findings(
    job: PlanningContext, path: Array, options: PlanningOptions, find_all: bool, certificates: bool
) -> PathCheckResult:
    most = MAX_FAULTS if find_all else 1
    limits = [fault for index, q in enumerate(path) if (fault := _limit_fault(job, q, index)) is not None]
    faults = [*limits[:most], *_constraint_faults(job, path, most)]
    verifier = PathVerifier(job.checks, options.resolution, certificates=certificates)
    collisions: list[PathCollision] = []
    free = job.checks.state_free(path[0])
    if not free and len(path) == 1:
        collisions.extend(_collisions_on(job, path, 0, options, find_all))
    for index in range(len(path) - 1):
        free = free and verifier.is_free(path[index], path[index + 1])
        if not free:
            collisions.extend(_collisions_on(job, path, index, options, find_all))
            if not find_all or len(collisions) >= most:
                break
            free = job.checks.state_free(path[index + 1])
    collisions = collisions[:most]
    faults += [_collision_fault(found) for found in collisions]
    return PathCheckResult(tuple(faults), tuple(collisions), _recorded(job, path, options, "check"))


def _limit_fault(job: PlanningContext, q: Array, index: int) -> JointLimitError | None:
    beyond = values_beyond(job.space, q)
    if not beyond:
        return None
    names = tuple(value.name for value in beyond)
    text = f"waypoint {index} is beyond limits of joint {', '.join(names)}"
    return JointLimitError(text, stage="path", subjects=names, values=(*beyond, Value("place", index)))


def _constraint_faults(job: PlanningContext, path: Array, most: int) -> list[ConstraintMismatchError]:
    faults: list[ConstraintMismatchError] = []
    for index, q in enumerate(path):
        try:
            check_combinations(job.space, job.combinations, q, f"waypoint {index}")
        except ConstraintMismatchError as error:
            faults.append(error)
    if job.frames:
        points, places = densify(path, CONSTRAINT_STEP) if len(path) > 1 else (path, np.zeros(1))
        excess = job.frames.excess(points)
        for index in np.flatnonzero(excess > 1.0).tolist()[:most]:
            values = (Value("deviation in tolerances", float(excess[index]), 1.0), Value("place", float(places[index])))
            text = f"the path breaks the constraints on frames at {places[index]:.3f}"
            faults.append(ConstraintMismatchError(text, stage="path", values=values))
    return faults[:most]


def _collisions_on(
    job: PlanningContext, path: Array, index: int, options: PlanningOptions, find_all: bool
) -> list[PathCollision]:
    """Collisions on the motion that begins at a waypoint, their places counted along the whole path."""
    motion = path[index : index + 2]
    found = check_path(job.checks.checker, motion, find_all=find_all, resolution=options.resolution)
    job.checks.states += found.states_checked
    collisions = found.collisions or _certain_collision(job, motion, options.resolution)
    return [replace(entry, point=entry.point + index, place=entry.place + index) for entry in collisions]


def _certain_collision(job: PlanningContext, motion: Array, resolution: float) -> tuple[PathCollision, ...]:
    """The collision of a motion between the states of the resolution; none if there is none."""
    q = PathVerifier(job.checks, resolution).blocked_at(motion[0], motion[-1]) if len(motion) > 1 else None
    pair = None if q is None else job.checks.checker.first_pair(q)
    if q is None or pair is None:
        return ()
    way = motion[-1] - motion[0]
    return (PathCollision(1, float((q - motion[0]) @ way / (way @ way)), 0.0, pair),)


def _collision_fault(found: PathCollision) -> PathInvalidError:
    pair = found.pair
    values = (Value("place", found.place), Value("distance", pair.distance, pair.margin, "m"))
    text = f"{pair.first} and {pair.second} collide at {found.place:.3f} of the path"
    return PathInvalidError(text, stage="path", subjects=(pair.first, pair.second), values=values)


def _recorded(job: PlanningContext, path: Array, options: PlanningOptions, tool: str, *, certify: bool = True) -> Plan:
    plan = bare_plan(job, path, Origin(tool, options.seed, options.resolution))
    with job.watch.stage("clearance"):
        clearance = path_clearance(job, path, CLEARANCE_STEP)
    proven = math.nan
    if certify:
        with job.watch.stage("certify"):
            proven = job.checks.proven_fraction(path)
    return replace(
        plan,
        clearance=clearance,
        proven=proven,
        states_checked=job.checks.states,
        motions_checked=job.checks.motions,
        times=job.watch.times,
    )
