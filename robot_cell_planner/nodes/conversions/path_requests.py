"""Conversions of requests about paths and plans: path tools, multi-step motions, and plans to verify."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from robot_cell_planner import action, msg, srv

from ...collision.report import Clearance
from ...errors import InvalidRequestError, RobotCellError
from ...planning.path.processing import PathCheckResult, PathRequest, PathTool
from ...planning.problem.plan import PathClearance, Plan
from ...planning.problem.request import PlanningOptions
from ...planning.problem.steps import MotionStep, MultistepFailure, MultistepRequest
from ...planning.workers.tasks import PathCheck
from ...trajectory.limits import Array
from ...trajectory.timing import TimingOptions
from .basic import configuration_from_message, error_to_message, path_from_message, path_to_message
from .changes import changes_from_message
from .collisions import path_collision_to_message
from .constraints import constraints_from_message
from .models import ModelReader
from .plans import (
    certified_fraction_from_message,
    goals_from_message,
    plan_failure_to_message,
    plan_to_message,
    planning_options_from_message,
    record_to_message,
    suggestions_from_message,
)
from .timing import timing_from_message
from .trajectories import trajectories_from_messages, trajectory_from_message

MAX_CHANGES = 1_000
DEFAULT_GAP = 1e-9  # [rad or m]


def _path(message: msg.JointPath, field: str, limit: int) -> tuple[tuple[str, ...], Array]:
    names, rows = path_from_message(message, field, limit)
    if not len(rows):
        raise InvalidRequestError(f"{field} has no waypoint", subjects=(field,))
    return names, rows


def path_request_from_message(
    message: srv.ProcessPath.Request, tool: PathTool, default: PlanningOptions, limit: int
) -> PathRequest:
    """Convert the request of a ProcessPath service. default: for omitted options; limit: maximum number of waypoints of
    all paths.

    Raises:
        InvalidRequestError: No path, paths of different joints, or malformed numbers.
        LimitExceededError: Too many waypoints.
    """
    if not message.paths:
        raise InvalidRequestError("paths is empty", subjects=("paths",))
    variables: tuple[str, ...] = ()
    paths = []
    for index, entry in enumerate(message.paths):
        names, rows = _path(entry, f"paths[{index}]", limit)
        if index and set(names) != set(variables):
            text = f"paths[{index}] has joints {', '.join(names)}, expected {', '.join(variables)} as in paths[0]"
            raise InvalidRequestError(text, subjects=(f"paths[{index}]",))
        variables = variables or names
        paths.append(rows[:, [names.index(name) for name in variables]])
    return PathRequest(
        tool,
        variables,
        tuple(paths),
        constraints_from_message(message.constraints, "constraints"),
        planning_options_from_message(message.options, "options", default),
        message.spacing,
        message.joint_tolerance or DEFAULT_GAP,
    )


def path_check_from_message(message: srv.CheckPath.Request, default: PlanningOptions, limit: int) -> PathCheck:
    """Convert the request of a CheckPath service.

    Raises:
        InvalidRequestError, LimitExceededError: A malformed path or constraint.
    """
    names, rows = _path(message.path, "path", limit)
    constraints = constraints_from_message(message.constraints, "constraints")
    return PathCheck(names, rows, constraints, _check_options(message, default), message.find_all)


def path_measurement_from_message(message: srv.MeasurePath.Request, default: PlanningOptions, limit: int) -> PathCheck:
    """Convert the request of a MeasurePath service.

    Raises:
        InvalidRequestError, LimitExceededError: A malformed path.
    """
    names, rows = _path(message.path, "path", limit)
    return PathCheck(names, rows, (), _check_options(message, default), measure=True)


def _check_options(
    message: srv.CheckPath.Request | srv.MeasurePath.Request, default: PlanningOptions
) -> PlanningOptions:
    return PlanningOptions(
        state_limit=default.state_limit,
        time_limit=default.time_limit,
        extra_margin=message.extra_margin,
        search_step=max(default.search_step, message.resolution),
        resolution=message.resolution or default.resolution,
        engine=default.engine,
        start_limit_tolerance=default.start_limit_tolerance,
    )


def fill_path_check(response: srv.CheckPath.Response, found: PathCheckResult, used: msg.StateUsed) -> None:
    """Fill the reply of a CheckPath service."""
    response.violations = [error_to_message(violation) for violation in found.violations]
    response.collisions = [path_collision_to_message(entry) for entry in found.collisions]
    response.record = record_to_message(found.record, used)


def multistep_request_from_message(
    message: action.PlanMultistep.Goal, models: ModelReader, options: PlanningOptions, timing: TimingOptions, limit: int
) -> MultistepRequest:
    """Convert the goal of a plan_multistep action, without its start state.

    Raises:
        InvalidRequestError, LimitExceededError: It is malformed or too large.
    """
    steps = []
    for index, step in enumerate(message.steps):
        field = f"steps[{index}]"
        steps.append(
            MotionStep(
                goals_from_message(step.goal, f"{field}.goal"),
                step.name,
                changes_from_message(step.changes, models, f"{field}.changes", MAX_CHANGES),
                step.group,
                tuple(step.joints),
                constraints_from_message(step.constraints, f"{field}.constraints"),
                suggestions_from_message(step.waypoint_suggestions, f"{field}.waypoint_suggestions", limit),
                step.paired_with,
                step.straight,
                step.concurrent,
            )
        )
    return MultistepRequest(
        tuple(steps),
        planning_options_from_message(message.options, "options", options),
        timing_from_message(message.timing, "timing", timing),
    )


def fill_multistep(result: action.PlanMultistep.Result, plans: tuple[Plan, ...], used: msg.StateUsed) -> None:
    """Fill the result of a plan_multistep action."""
    result.plans = [_step_plan(plan, used) for plan in plans]
    result.failed_step = -1


def fill_multistep_failure(result: action.PlanMultistep.Result, error: RobotCellError, used: msg.StateUsed) -> None:
    """Fill the result of a plan_multistep action with the step that failed, and the plans before it."""
    result.failed_step = -1
    if isinstance(error.partial, MultistepFailure):
        result.plans = [_step_plan(plan, used) for plan in error.partial.plans]
        result.failed_step = error.partial.failed_step
        result.failure = plan_failure_to_message(error.partial.failure)


def _step_plan(plan: Plan, used: msg.StateUsed) -> msg.MotionPlan:
    """Return the message of a plan. Its state is that at the start of the step: the scene's only for the first one."""
    state = msg.StateUsed(
        revision=used.revision,
        joint_stamp=used.joint_stamp,
        cell_digest=plan.cell_digest,
        state_digest=plan.start_state_digest,
    )
    return plan_to_message(plan, state)


def plan_from_message(message: msg.MotionPlan, field: str, limit: int) -> Plan:
    """Convert a plan message back to a plan, for its verification; without group, Cartesian report and stage times.

    Raises:
        InvalidRequestError, LimitExceededError: No path, or malformed numbers.
    """
    names, rows = _path(message.path, f"{field}.path", limit)
    record = message.record
    trajectory = None
    if message.trajectory.points:
        trajectory = trajectory_from_message(message.trajectory, f"{field}.trajectory", limit)
        if set(trajectory.variables) == set(names) and trajectory.variables != names:
            raise InvalidRequestError(f"{field}: joints of path and trajectory differ in order", subjects=(field,))
    return Plan(
        group="",
        variables=names,
        path=rows,
        planner=record.planner,
        engine=record.engine,
        seed=record.seed,
        version=record.version,
        cell_digest=record.state.cell_digest,
        start_state_digest=record.state.state_digest,
        states_checked=record.states_checked,
        motions_checked=record.motions_checked,
        path_length=record.path_length,
        tool_path_length=record.tool_path_length,
        resolution=record.certificate.resolution,
        goal=message.goal,
        start_correction_waypoints=message.start_correction_waypoints,
        clearance=_clearance(record.clearance, f"{field}.record.clearance", names),
        trajectory=trajectory,
        moving=trajectories_from_messages(message.moving, f"{field}.moving"),
        certified_fraction=certified_fraction_from_message(record.certificate),
        warnings=tuple(record.warnings),
        revision=record.state.revision,
    )


def _clearance(message: msg.Clearance, field: str, names: tuple[str, ...]) -> PathClearance | None:
    if not math.isfinite(message.distance):
        return None
    values: Mapping[str, float] = configuration_from_message(message.configuration, f"{field}.configuration")
    configuration = tuple(float(values.get(name, np.nan)) for name in names)
    closest = Clearance(message.distance, message.margin, message.name_a, message.name_b)
    return PathClearance(message.place, configuration, closest)


def path_result(response: srv.ProcessPath.Response, plan: Plan, used: msg.StateUsed) -> None:
    """Fill the reply of a ProcessPath service."""
    response.path = path_to_message(plan.variables, plan.path)
    response.record = record_to_message(plan, used)
