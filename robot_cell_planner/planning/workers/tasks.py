"""What worker processes run: planning, timing and validation, as tasks of `workers.WorkerPool`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from frozendict import frozendict

from ...collision.checker import CollisionChecker
from ...errors import UnknownNameError
from ...model.mechanism import Variable
from ...model.name_suggestions import unknown_name
from ...model.start_limits import START_LIMIT_TOLERANCE, limits_around_start
from ...scene.scene import Scene
from ...trajectory.limits import Array, MotionLimits
from ...trajectory.trajectory import Trajectory
from ...trajectory.validation import CollisionSearch, TrajectoryReport, validate
from ..cartesian.planner import CartesianRequest as CartesianRequest
from ..cartesian.planner import plan_cartesian as plan_along_lines
from ..joint_space.planner import plan_motion as plan_in_joint_space
from ..path.look_ahead import LookAheadRequest
from ..path.look_ahead import look_ahead as look_along_the_rest
from ..path.plan_check import PlanVerdict
from ..path.plan_check import verify_plan as hold_against_cell
from ..path.processing import PathCheckResult, PathRequest, check_joint_path, measure_joint_path
from ..path.processing import process_path as work_on_path
from ..path.timing import PathTiming, TimedPath
from ..path.timing import time_joint_path as time_path_in_cell
from ..problem.constraints import PathConstraint
from ..problem.plan import Plan
from ..problem.request import MotionRequest, PlanningOptions
from ..sequence import MultistepRequest
from ..sequence import plan_multistep as plan_steps
from .process import TaskControl

PLAN_MOTION = f"{__name__}:plan_motion"
PLAN_CARTESIAN = f"{__name__}:plan_cartesian"
PLAN_MULTISTEP = f"{__name__}:plan_multistep"
PROCESS_PATH = f"{__name__}:process_path"
CHECK_PATH = f"{__name__}:check_path"
VERIFY_PLAN = f"{__name__}:verify_plan"
TIME_PATH = f"{__name__}:time_joint_path"
VALIDATE = f"{__name__}:validate_trajectory"
LOOK_AHEAD = f"{__name__}:look_ahead"


@dataclass(frozen=True)
class ValidationRequest:
    """What to hold a trajectory against. start: joint values that it must begin at within `start_tolerance` [rad or m];
    empty: not checked. start_limit_tolerance [rad or m]: how far it may begin beyond a position limit, with a warning,
    where a start is given. step [rad or m]: widest step between states checked. extra_margin [m]: to keep in addition.
    """

    trajectory: Trajectory
    start: Mapping[str, float] = frozendict()
    start_tolerance: float = 1e-3
    start_limit_tolerance: float = START_LIMIT_TOLERANCE
    step: float = 0.01
    engine: str = "coal"
    find_all: bool = False


@dataclass(frozen=True, eq=False)
class PathCheck:
    """A path (n, dof) to hold against limits, constraints and the cell. measure: only lengths and clearance."""

    variables: tuple[str, ...]
    path: Array
    constraints: tuple[PathConstraint, ...] = ()
    options: PlanningOptions = field(default_factory=PlanningOptions)
    find_all: bool = False
    measure: bool = False


@dataclass(frozen=True, eq=False)
class PlanCheck:
    """A plan to verify; the scene is the one that it starts from."""

    plan: Plan
    options: PlanningOptions = field(default_factory=PlanningOptions)


def plan_motion(scene: Scene, request: MotionRequest, control: TaskControl) -> Plan:
    """`joint_space.plan_motion` in a worker."""
    return plan_in_joint_space(
        scene.cell, scene.state, request, on_progress=control.progress, cancelled=control.cancelled
    )


def plan_cartesian(scene: Scene, request: CartesianRequest, control: TaskControl) -> Plan:
    """`cartesian.plan_cartesian` in a worker."""
    return plan_along_lines(scene.cell, scene.state, request, on_progress=control.progress, cancelled=control.cancelled)


def plan_multistep(scene: Scene, request: MultistepRequest, control: TaskControl) -> tuple[Plan, ...]:
    """`multistep.plan_multistep` in a worker."""
    return plan_steps(scene.cell, scene.state, request, on_progress=control.progress, cancelled=control.cancelled)


def process_path(scene: Scene, request: PathRequest, control: TaskControl) -> Plan:
    """`path_jobs.process_path` in a worker."""
    return work_on_path(scene.cell, scene.state, request, on_progress=control.progress, cancelled=control.cancelled)


def check_path(scene: Scene, request: PathCheck, control: TaskControl) -> PathCheckResult:
    """`path_jobs.check_joint_path` or `measure_joint_path` in a worker."""
    cell, state, variables, path, options = scene.cell, scene.state, request.variables, request.path, request.options
    if request.measure:
        record = measure_joint_path(cell, state, variables, path, options, cancelled=control.cancelled)
        return PathCheckResult((), (), record)
    return check_joint_path(
        cell,
        state,
        variables,
        path,
        request.constraints,
        options,
        find_all=request.find_all,
        cancelled=control.cancelled,
    )


def verify_plan(scene: Scene, request: PlanCheck, control: TaskControl) -> PlanVerdict:
    """`plan_check.verify_plan` in a worker."""
    return hold_against_cell(scene.cell, scene.state, request.plan, request.options, cancelled=control.cancelled)


def time_joint_path(scene: Scene, request: PathTiming, control: TaskControl) -> TimedPath:
    """`path_timing.time_joint_path` in a worker."""
    return time_path_in_cell(scene.cell, scene.state, request, cancelled=control.cancelled)


def look_ahead(scene: Scene, request: LookAheadRequest, control: TaskControl) -> TrajectoryReport:
    """`look_ahead.look_ahead` in a worker.

    Raises:
        UnknownNameError: a joint that the cell does not have.
    """
    _check_joints(scene, request.trajectory.variables)
    return look_along_the_rest(scene, request)


def validate_trajectory(scene: Scene, request: ValidationRequest, control: TaskControl) -> TrajectoryReport:
    """`validation.validate` against the limits of the cell's joints and against the cell.

    Raises:
        UnknownNameError: a joint that the cell does not have.
    """
    variables = request.trajectory.variables
    _check_joints(scene, variables)
    definitions, bounds, warnings = limits_at_start(scene, request)
    limits = MotionLimits.of(definitions).around(bounds)
    checker = CollisionChecker(scene.cell, scene.state, variables, engine=request.engine)

    def pair_of(configuration: Array) -> tuple[str, str]:
        pair = checker.first_pair(configuration)
        return ("", "") if pair is None else (pair.first, pair.second)

    search = CollisionSearch(checker.in_collision_batch, pair_of, request.step)
    report = validate(
        request.trajectory,
        limits,
        start=request.start or None,
        start_tolerance=request.start_tolerance,
        collisions=search,
        find_all=request.find_all,
    )
    return replace(report, warnings=warnings + report.warnings)


def limits_at_start(
    scene: Scene, request: ValidationRequest
) -> tuple[list[Variable], list[tuple[float, float]], tuple[str, ...]]:
    """The joints of a trajectory, the position limits [rad or m] that it has to keep in view of where it begins, and a
    warning for each that is wider than the cell's."""
    variables = request.trajectory.variables
    definitions = [scene.cell.variables[name] for name in variables]
    first = dict(zip(variables, request.trajectory.positions[0].tolist(), strict=True)) if request.start else {}
    return definitions, *limits_around_start(definitions, first, request.start_limit_tolerance)


def _check_joints(scene: Scene, names: tuple[str, ...]) -> None:
    for name in names:
        if name not in scene.cell.variables:
            raise UnknownNameError(unknown_name(f"joint {name!r}", name, scene.cell.variables), subjects=(name,))
