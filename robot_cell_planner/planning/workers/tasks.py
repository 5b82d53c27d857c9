"""Tasks of worker processes: planning, timing and validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from frozendict import frozendict

from ...collision.checker import CollisionChecker
from ...model.mechanism import Variable
from ...model.start_limits import START_LIMIT_TOLERANCE, limits_around_start
from ...model.unknown_joints import unknown_joint
from ...scene.scene import Scene
from ...trajectory.limits import Array, MotionLimits
from ...trajectory.trajectory import Trajectory
from ...trajectory.validation import CollisionSearch, TrajectoryReport, validate
from ..cartesian.planner import CartesianRequest as CartesianRequest
from ..cartesian.planner import cartesian_plan
from ..joint_space.planner import plan_with_monitor
from ..path.initial_contact import departure_from_contact
from ..path.look_ahead import LookAheadRequest
from ..path.look_ahead import look_ahead as check_remaining_motion
from ..path.plan_check import PlanVerdict
from ..path.plan_check import verify_plan as verify_plan_in_cell
from ..path.processing import PathCheckResult, PathRequest, check_joint_path, measure_joint_path
from ..path.processing import process_path as process_path_in_cell
from ..path.timing import PathTiming, TimedPath
from ..path.timing import time_joint_path as time_path_in_cell
from ..problem.collision_checks import pair_names
from ..problem.constraints import PathConstraint
from ..problem.plan import Plan
from ..problem.request import MotionRequest, PlanningOptions
from ..problem.steps import MultistepRequest
from ..sequence import plans_of_steps
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
    """Trajectory to validate.

    Attributes:
        start: Joint values that it has to start at, within `start_tolerance` [rad or m]; empty for no check.
        start_limit_tolerance: Allowed excess of the start over position limits, with a warning, if `start` is given
            [rad or m].
        step: Max step between checked states [rad or m].
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
    """Path (n, dof) to check against limits, constraints and the cell.

    Attributes:
        measure: Compute only lengths and clearance.
    """

    variables: tuple[str, ...]
    path: Array
    constraints: tuple[PathConstraint, ...] = ()
    options: PlanningOptions = field(default_factory=PlanningOptions)
    find_all: bool = False
    measure: bool = False


@dataclass(frozen=True, eq=False)
class PlanCheck:
    """Plan to verify; the scene is its start."""

    plan: Plan
    options: PlanningOptions = field(default_factory=PlanningOptions)


def certifies(request: Any) -> bool:
    """Return whether the motions of a request are to be certified."""
    return bool(getattr(getattr(request, "options", request), "certify", False))


def without_certificates(request: Any) -> Any:
    """Return a request that checks states only, and needs no sphere models."""
    if not certifies(request):
        return request
    if hasattr(request, "options"):
        return replace(request, options=replace(request.options, certify=False))
    return replace(request, certify=False)


def with_warning(result: Any, warning: str) -> Any:
    """Return a plan, or plans, with a warning; other results are returned unchanged."""
    if isinstance(result, tuple):
        return tuple(with_warning(each, warning) for each in result)
    return replace(result, warnings=(*result.warnings, warning)) if isinstance(result, Plan) else result


def plan_motion(scene: Scene, request: MotionRequest, control: TaskControl) -> Plan:
    """Task for `joint_space.planner.plan_motion`."""
    return plan_with_monitor(scene.cell, scene.state, request, control.monitor(request.options.time_limit))


def plan_cartesian(scene: Scene, request: CartesianRequest, control: TaskControl) -> Plan:
    """Task for `cartesian.planner.plan_cartesian`."""
    return cartesian_plan(scene.cell, scene.state, request, control.monitor(request.options.time_limit))


def plan_multistep(scene: Scene, request: MultistepRequest, control: TaskControl) -> tuple[Plan, ...]:
    """Task for `sequence.plan_multistep`."""
    return plans_of_steps(scene.cell, scene.state, request, control.monitor(request.options.time_limit))


def process_path(scene: Scene, request: PathRequest, control: TaskControl) -> Plan:
    """Task for `path.processing.process_path`."""
    return process_path_in_cell(
        scene.cell, scene.state, request, on_progress=control.progress, cancelled=control.cancelled
    )


def check_path(scene: Scene, request: PathCheck, control: TaskControl) -> PathCheckResult:
    """Task for `path.processing.check_joint_path` or `measure_joint_path`."""
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
    """Task for `path.plan_check.verify_plan`."""
    return verify_plan_in_cell(scene.cell, scene.state, request.plan, request.options, cancelled=control.cancelled)


def time_joint_path(scene: Scene, request: PathTiming, control: TaskControl) -> TimedPath:
    """Task for `path.timing.time_joint_path`."""
    return time_path_in_cell(scene.cell, scene.state, request, cancelled=control.cancelled)


def look_ahead(scene: Scene, request: LookAheadRequest, control: TaskControl) -> TrajectoryReport:
    """Task for `path.look_ahead.look_ahead`.

    Raises:
        UnknownNameError: The cell does not have a joint.
    """
    _check_joints(scene, request.trajectory.variables)
    return check_remaining_motion(scene, request)


def validate_trajectory(scene: Scene, request: ValidationRequest, control: TaskControl) -> TrajectoryReport:
    """Task for `validated`."""
    return validated(scene, request)


def validated(scene: Scene, request: ValidationRequest) -> TrajectoryReport:
    """Validate a trajectory against the limits of the cell's joints and against collisions.

    A contact at the first state is a collision unless the motion leaves it, see `initial_contact.depart`; the report
    then has a warning.

    Raises:
        UnknownNameError: The cell does not have a joint.
    """
    variables = request.trajectory.variables
    _check_joints(scene, variables)
    definitions, bounds, warnings = limits_at_start(scene, request)
    limits = MotionLimits.of(definitions).around(bounds)
    checker = CollisionChecker(scene.cell, scene.state, variables, engine=request.engine)

    search = CollisionSearch(checker.in_collision_batch, partial(pair_names, checker), request.step)
    departure = departure_from_contact(checker, request.trajectory, request.step)
    if departure is not None and departure.pair is None:
        search = replace(search, begin=departure.time)
        warnings += (departure.describe(),)
    report = validate(
        request.trajectory,
        limits,
        start=request.start or None,
        start_tolerance=request.start_tolerance,
        collisions=search,
        find_all=request.find_all,
    )
    checked = report.states_checked + (departure.states if departure is not None else 0)
    return replace(report, warnings=warnings + report.warnings, states_checked=checked)


def limits_at_start(
    scene: Scene, request: ValidationRequest
) -> tuple[list[Variable], list[tuple[float, float]], tuple[str, ...]]:
    """Return the joints of a trajectory, their position limits [rad or m], widened to its start, and a warning for each
    widened limit.
    """
    variables = request.trajectory.variables
    definitions = [scene.cell.variables[name] for name in variables]
    first = dict(zip(variables, request.trajectory.positions[0].tolist(), strict=True)) if request.start else {}
    return definitions, *limits_around_start(definitions, first, request.start_limit_tolerance)


def _check_joints(scene: Scene, names: tuple[str, ...]) -> None:
    for name in names:
        if name not in scene.cell.variables:
            raise unknown_joint(scene.cell, name, scene.cell.variables)
