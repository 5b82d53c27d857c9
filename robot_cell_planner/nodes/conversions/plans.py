"""Conversions of goals, planning requests, plans and failures."""

from __future__ import annotations

import math

from robot_cell_planner import msg

from ...collision.report import CollisionReport
from ...errors import InvalidRequestError, RobotCellError
from ...kinematics.targets import FrameTarget
from ...planning.problem.objective import Objective
from ...planning.problem.plan import GoalFailure, Plan, PlanFailure
from ...planning.problem.planner_info import PlannerInfo
from ...planning.problem.request import GoalRegion, Goals, MotionRequest, PartGoal, PlanningOptions, SimultaneousGoal
from ...trajectory.timing import TimingOptions
from .basic import (
    configuration_from_message,
    configuration_to_message,
    error_to_message,
    path_from_message,
    path_to_message,
    position_from_message,
    timeout_from_message,
)
from .collisions import clearance_to_message, pair_to_message
from .constraints import constraints_from_message
from .inverse import failed_to_message
from .targets import target_from_message
from .timing import timing_from_message
from .trajectories import trajectories_from_messages, trajectory_to_message

OBJECTIVES = {
    msg.PlanningOptions.JOINT_LENGTH: Objective.JOINT_LENGTH,
    msg.PlanningOptions.CARTESIAN_LENGTH: Objective.CARTESIAN_LENGTH,
    msg.PlanningOptions.CLEARANCE: Objective.CLEARANCE,
}


def goals_from_message(message: msg.GoalSpec, field: str) -> Goals:
    """Convert the goals of a motion."""
    return Goals(
        joint_goals=tuple(
            configuration_from_message(entry, f"{field}.joint_goals[{index}]")
            for index, entry in enumerate(message.joint_goals)
        ),
        named_states=tuple(message.named_states),
        targets=tuple(
            target_from_message(entry, f"{field}.targets[{index}]") for index, entry in enumerate(message.targets)
        ),
        regions=tuple(_region(entry, f"{field}.regions[{index}]") for index, entry in enumerate(message.regions)),
        simultaneous=tuple(
            _simultaneous(entry, f"{field}.simultaneous_goals[{index}]")
            for index, entry in enumerate(message.simultaneous_goals)
        ),
    )


def _simultaneous(message: msg.SimultaneousGoal, field: str) -> SimultaneousGoal:
    parts: dict[str, PartGoal] = {}
    for index, part in enumerate(message.parts):
        place = f"{field}.parts[{index}]"
        if part.group in parts:
            raise InvalidRequestError(f"{place}: group {part.group!r} has two goals", subjects=(place, part.group))
        parts[part.group] = _part_goal(part, place)
    return SimultaneousGoal(parts)


def _part_goal(message: msg.PartGoal, field: str) -> PartGoal:
    has_values = bool(message.configuration.joint_names or message.configuration.positions)
    kinds = has_values + bool(message.named_state) + len(message.target)
    if kinds != 1:
        text = f"{field} has {kinds} goals, expected one of configuration, named_state and target"
        raise InvalidRequestError(text, subjects=(field,))
    if message.target:
        return target_from_message(message.target[0], f"{field}.target[0]")
    if message.named_state:
        return str(message.named_state)
    return configuration_from_message(message.configuration, f"{field}.configuration")


def _region(message: msg.GoalRegion, field: str) -> GoalRegion:
    center = target_from_message(message.center, f"{field}.center")
    if not isinstance(center, FrameTarget):
        raise InvalidRequestError(f"{field}.center is not a POSE target", subjects=(field,))
    extents = (position_from_message(message.position_extent), position_from_message(message.rotation_extent))
    try:
        return GoalRegion(center, *extents)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{field}: {error.message}", subjects=(field,)) from error


def suggestions_from_message(message: msg.JointPath, field: str, limit: int) -> tuple[dict[str, float], ...]:
    """Convert waypoint hints."""
    names, rows = path_from_message(message, field, limit)
    return tuple(dict(zip(names, row, strict=True)) for row in rows.tolist())


def planning_options_from_message(
    message: msg.PlanningOptions, field: str, default: PlanningOptions
) -> PlanningOptions:
    """Convert planning options; zero or empty fields are taken from `default`.

    Raises:
        InvalidRequestError: A value outside its range.
    """
    if message.objective not in OBJECTIVES:
        text = f"unknown {field}.objective {message.objective}, expected a constant of PlanningOptions (0 to 2)"
        raise InvalidRequestError(text, subjects=(f"{field}.objective",))
    resolution = message.resolution or default.resolution
    return PlanningOptions(
        planner=message.planner or default.planner,
        planner_parameters={entry.key: entry.value for entry in message.planner_parameters},
        seed=message.seed,
        state_limit=message.state_limit or default.state_limit,
        time_limit=timeout_from_message(message.time_limit, "options.time_limit") or default.time_limit,
        objective=OBJECTIVES[message.objective],
        improvement_states=message.improvement_states,
        simplify=message.simplify,
        tighten=message.tighten,
        max_start_correction=message.max_start_correction,
        extra_margin=message.extra_margin,
        search_step=max(default.search_step, resolution) if math.isfinite(resolution) else default.search_step,
        resolution=resolution,
        engine=default.engine,
        certify=message.certify,
        start_limit_tolerance=default.start_limit_tolerance,
    )


def motion_request_from_message(
    message: msg.MotionRequest, options: PlanningOptions, timing: TimingOptions, limit: int
) -> MotionRequest:
    """Convert a request in joint space, without its start state."""
    return MotionRequest(
        goals=goals_from_message(message.goal, "goal"),
        group=message.group,
        joints=tuple(message.joints),
        options=planning_options_from_message(message.options, "options", options),
        timing=timing_from_message(message.timing, "timing", timing),
        constraints=constraints_from_message(message.constraints, "constraints"),
        waypoint_suggestions=suggestions_from_message(message.waypoint_suggestions, "waypoint_suggestions", limit),
        moving=trajectories_from_messages(message.moving, "moving"),
    )


def plan_to_message(plan: Plan, used: msg.StateUsed) -> msg.MotionPlan:
    """Return the message of a plan, with the state that it was planned for."""
    message = msg.MotionPlan(
        path=path_to_message(plan.variables, plan.path),
        goal=plan.goal,
        record=record_to_message(plan, used),
        start_correction_waypoints=plan.start_correction_waypoints,
        moving=[trajectory_to_message(trajectory) for trajectory in plan.moving],
    )
    if plan.trajectory is not None:
        message.trajectory = trajectory_to_message(plan.trajectory)
    return message


def record_to_message(plan: Plan, used: msg.StateUsed) -> msg.PlanRecord:
    """Return the record of a plan."""
    record = msg.PlanRecord(
        state=used,
        seed=plan.seed,
        planner=plan.planner,
        engine=plan.engine,
        version=plan.version,
        times=[msg.StageTime(stage=entry.stage, seconds=entry.seconds) for entry in plan.times],
        states_checked=plan.states_checked,
        motions_checked=plan.motions_checked,
        path_length=plan.path_length,
        tool_path_length=plan.tool_path_length,
        warnings=list(plan.warnings),
    )
    record.certificate = certificate_to_message(plan)
    if plan.clearance is None:
        record.clearance.distance = math.inf
    else:
        record.clearance = clearance_to_message(plan.clearance.closest)
        record.clearance.place = plan.clearance.place
        values = dict(zip(plan.variables, plan.clearance.configuration, strict=True))
        record.clearance.configuration = configuration_to_message(values)
    return record


def certificate_to_message(plan: Plan) -> msg.MotionCertificate:
    """Return the certificate of a path, and the steps at which the rest was checked."""
    unproven = math.isnan(plan.certified_fraction)
    verdict = msg.MotionCertificate.FREE if plan.certified_fraction >= 1.0 else msg.MotionCertificate.UNDECIDED
    return msg.MotionCertificate(
        verdict=msg.MotionCertificate.NONE if unproven else verdict,
        method="exact" if plan.certified_fraction >= 1.0 else "samples",
        certified_fraction=0.0 if unproven else plan.certified_fraction,
        resolution=plan.resolution,
        undecided_from=-1.0,
        states_checked=plan.states_checked,
    )


def certified_fraction_from_message(certificate: msg.MotionCertificate) -> float:
    """Return the certified fraction of a certificate; NaN without one."""
    return math.nan if certificate.verdict == msg.MotionCertificate.NONE else float(certificate.certified_fraction)


def failure_to_message(error: RobotCellError) -> msg.PlanFailure:
    """Return the failure in `partial` of a planning error; empty without one."""
    return plan_failure_to_message(error.partial if isinstance(error.partial, PlanFailure) else PlanFailure())


def plan_failure_to_message(failure: PlanFailure) -> msg.PlanFailure:
    """Return the message of a planning failure."""
    message = msg.PlanFailure(
        start_pairs=[pair_to_message(pair) for pair in failure.start_pairs],
        start_tree_size=failure.start_tree_size,
        goal_tree_size=failure.goal_tree_size,
        nearest_approach=failure.nearest_approach,
        blocked_motions=failure.blocked_motions,
    )
    if failure.blocking_pair is not None:
        message.blocking_pair = pair_to_message(failure.blocking_pair)
    for found in failure.goals:
        message.goals.append(_goal_failure(found))
    return message


def _goal_failure(found: GoalFailure) -> msg.GoalFailure:
    message = msg.GoalFailure(goal=found.goal, error=error_to_message(found.error))
    if isinstance(found.error.partial, CollisionReport):
        message.pairs = [pair_to_message(pair) for pair in found.error.partial.pairs]
    else:
        message.ik = failed_to_message(found.error).failure
    return message


def planner_to_message(planner: PlannerInfo) -> msg.PlannerInfo:
    """Return the message of a planner and its parameters."""
    parameters = [
        msg.PlannerParameter(
            name=parameter.name,
            type=parameter.type,
            default_value=str(parameter.default).lower(),
            range=parameter.range,
            description=parameter.description,
        )
        for parameter in planner.parameters
    ]
    return msg.PlannerInfo(
        name=planner.name,
        library=planner.library,
        description=planner.description,
        improves=planner.improves,
        constraints=planner.constraints,
        restriction=planner.restriction,
        parameters=parameters,
    )
