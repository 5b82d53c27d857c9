"""Conversions of targets, planning requests, plans and what is known where there is none."""

from __future__ import annotations

import math

from robot_cell_planner import msg

from ...errors import NotSupportedError, RobotCellError
from ...planning.plan import Plan, PlanFailure
from ...planning.planners import PlannerInfo
from ...planning.request import Goals, MotionRequest, PlanningOptions
from ...trajectory.timing import TimingOptions
from .basic import (
    configuration_from_message,
    configuration_to_message,
    duration_from_message,
    error_to_message,
    path_from_message,
    path_to_message,
)
from .collisions import clearance_to_message, pair_to_message
from .targets import target_from_message
from .trajectories import trajectory_to_message


def goals_from_message(message: msg.GoalSpec, field: str) -> Goals:
    """Where a motion may end."""
    if message.regions:
        raise NotSupportedError(f"{field}.regions: goal regions are not planned for yet", subjects=(field,))
    return Goals(
        joint_goals=tuple(
            configuration_from_message(entry, f"{field}.joint_goals[{index}]")
            for index, entry in enumerate(message.joint_goals)
        ),
        named_states=tuple(message.named_states),
        targets=tuple(
            target_from_message(entry, f"{field}.targets[{index}]") for index, entry in enumerate(message.targets)
        ),
    )


def planning_options_from_message(
    message: msg.PlanningOptions, field: str, default: PlanningOptions
) -> PlanningOptions:
    """How a path is searched; what the message leaves at zero or empty is taken from `default`.

    Raises:
        InvalidRequestError: a value outside its range.
        NotSupportedError: an option that no planner here has.
    """
    for name, off in (("objective", 0), ("improvement_states", 0), ("jiggle", 0.0)):
        if getattr(message, name) != off:
            text = f"{field}.{name} is {getattr(message, name)}, which no planner here offers"
            raise NotSupportedError(text, subjects=(f"{field}.{name}",))
    return PlanningOptions(
        planner=message.planner or default.planner,
        planner_parameters={entry.key: entry.value for entry in message.planner_parameters},
        seed=message.seed,
        state_limit=message.state_limit or default.state_limit,
        time_limit=duration_from_message(message.time_limit) or default.time_limit,
        simplify=message.simplify,
        extra_margin=message.extra_margin,
        search_step=default.search_step,
        resolution=message.resolution or default.resolution,
        engine=default.engine,
    )


def timing_from_message(message: msg.TimingOptions, field: str, default: TimingOptions) -> TimingOptions | None:
    """How a path is timed; None: not at all.

    Raises:
        InvalidRequestError: a value outside its range, an unknown method.
        NotSupportedError: a way of timing that is not offered.
    """
    if message.method == msg.TimingOptions.NONE:
        return None
    if message.method not in (msg.TimingOptions.STOP_AT_WAYPOINTS, msg.TimingOptions.FOLLOW_SAMPLES):
        text = f"{field}.method {message.method} is not offered; STOP_AT_WAYPOINTS and FOLLOW_SAMPLES are"
        raise NotSupportedError(text, subjects=(f"{field}.method",))
    for name in ("limits", "limit_effort", "blend_tolerance"):
        if getattr(message, name):
            raise NotSupportedError(f"{field}.{name} is not offered", subjects=(f"{field}.{name}",))
    for name in ("start_velocity", "end_velocity"):
        if any(getattr(message, name).positions):
            raise NotSupportedError(f"{field}.{name}: motions begin and end at rest", subjects=(f"{field}.{name}",))
    return TimingOptions(
        period=message.sample_period or default.period,
        velocity_scale=message.velocity_scale,
        acceleration_scale=message.acceleration_scale,
        jerk_scale=message.jerk_scale,
        path_speed=message.tool_speed,
    )


def motion_request_from_message(
    message: msg.MotionRequest, options: PlanningOptions, timing: TimingOptions, most: int
) -> MotionRequest:
    """A request in joint space, without its start state."""
    if message.constraints:
        raise NotSupportedError("path constraints are not planned for yet", subjects=("constraints",))
    if path_from_message(message.waypoint_suggestions, "waypoint_suggestions", most)[0]:
        raise NotSupportedError(
            "waypoint suggestions are not used by any planner here", subjects=("waypoint_suggestions",)
        )
    return MotionRequest(
        goals=goals_from_message(message.goal, "goal"),
        group=message.group,
        joints=tuple(message.joints),
        options=planning_options_from_message(message.options, "options", options),
        timing=timing_from_message(message.timing, "timing", timing),
    )


def plan_to_message(plan: Plan, used: msg.StateUsed) -> msg.MotionPlan:
    """The plan, with the state that it was made for."""
    message = msg.MotionPlan(
        path=path_to_message(plan.variables, plan.path), goal=plan.goal, record=_record(plan, used)
    )
    if plan.trajectory is not None:
        message.trajectory = trajectory_to_message(plan.trajectory)
    return message


def _record(plan: Plan, used: msg.StateUsed) -> msg.PlanRecord:
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
    record.certificate = msg.MotionCertificate(
        verdict=msg.MotionCertificate.NONE, method="samples", resolution=plan.resolution, undecided_from=-1.0
    )
    if plan.clearance is None:
        record.clearance.distance = math.inf
    else:
        record.clearance = clearance_to_message(plan.clearance.closest)
        record.clearance.place = plan.clearance.place
        values = dict(zip(plan.variables, plan.clearance.configuration, strict=True))
        record.clearance.configuration = configuration_to_message(values)
    return record


def failure_to_message(error: RobotCellError) -> msg.PlanFailure:
    """What an error of planning carries in `partial`; empty if that is nothing."""
    failure = error.partial if isinstance(error.partial, PlanFailure) else PlanFailure()
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
        message.goals.append(msg.GoalFailure(goal=found.goal, error=error_to_message(found.error)))
    return message


def planner_to_message(planner: PlannerInfo) -> msg.PlannerInfo:
    """A planner and its parameters."""
    parameters = [
        msg.PlannerParameter(
            name=parameter.name,
            type="float",
            default_value=f"{parameter.default:g}",
            range=f"{parameter.low:g} .. {parameter.high:g}",
            description=parameter.description,
        )
        for parameter in planner.parameters
    ]
    return msg.PlannerInfo(
        name=planner.name,
        library=planner.library,
        description=planner.description,
        several_goals=True,
        parameters=parameters,
    )
