"""Conversions of Cartesian requests and of what came of them."""

from __future__ import annotations

from typing import Any

from robot_cell_planner import msg

from ...errors import InvalidRequestError, NotSupportedError, RobotCellError
from ...kinematics.targets import FrameTarget
from ...planning.cartesian_options import CartesianOptions
from ...planning.plan import CartesianReport, Plan
from ...planning.request import PlanningOptions
from ...planning.tasks import CartesianRequest
from ...planning.waypoints import FrameWaypoints
from ...trajectory.timing import TimingOptions
from .basic import configuration_to_message, duration_from_message, pose_to_message
from .collisions import pair_to_message
from .plans import plan_to_message, timing_from_message
from .targets import target_from_message

NAMED_ALIKE = (
    "max_step_distance",
    "max_step_angle",
    "min_step_distance",
    "min_step_angle",
    "max_jump_prismatic",
    "max_jump_revolute",
    "check_collision",
    "skip_preplanning_collision_check",
    "seed",
)


def cartesian_request_from_message(message: Any, options: PlanningOptions, timing: TimingOptions) -> CartesianRequest:
    """The goal of a plan_cartesian action, without its start state. options: the node's defaults.

    Raises:
        InvalidRequestError: no waypoint, or waypoints of several kinds.
        NotSupportedError: an option that is not offered.
    """
    return CartesianRequest(
        waypoints=_waypoints(message.waypoints),
        options=_options(message.options, options),
        group=message.group,
        joints=tuple(message.joints),
        timing=timing_from_message(message.timing, "timing", timing),
    )


def _waypoints(messages: list[msg.CartesianWaypoint]) -> FrameWaypoints:
    if not messages:
        raise InvalidRequestError("no waypoint is given", subjects=("waypoints",))
    targets: list[FrameTarget] = []
    for index, message in enumerate(messages):
        field = f"waypoints[{index}]"
        if message.motion != msg.CartesianWaypoint.LINE or message.blend_radius or message.speed:
            raise NotSupportedError(f"{field}: arcs, blends and speeds are not offered", subjects=(field,))
        target = target_from_message(message.target, f"{field}.target")
        if not isinstance(target, FrameTarget):
            raise NotSupportedError(f"{field}: point-axis waypoints are not offered", subjects=(field,))
        if targets and _kind(target) != _kind(targets[0]):
            raise InvalidRequestError(
                f"{field} has another mode, frame, unit or tolerance than the first", subjects=(field,)
            )
        targets.append(target)
    first = targets[0]
    return FrameWaypoints(
        poses=tuple(target.pose for target in targets),
        mode=first.mode,
        frame=first.frame,
        reference_frame=first.reference_frame,
        tolerance_position=first.tolerance_position,
        tolerance_angle=first.tolerance_angle,
        native_scale=first.native_scale,
    )


def _kind(target: FrameTarget) -> tuple[Any, ...]:
    tolerances = (target.tolerance_position, target.tolerance_angle)
    return (target.mode, target.frame, target.reference_frame, target.native_scale, *tolerances)


def _options(message: msg.CartesianOptions, default: PlanningOptions) -> CartesianOptions:
    if message.strategy != msg.CartesianOptions.GREEDY:
        raise NotSupportedError("options.strategy: only GREEDY is offered", subjects=("options.strategy",))
    for name in ("max_deviation", "max_deviation_angle", "sample_start_configuration", "verbose", "state_limit"):
        if getattr(message, name):
            raise NotSupportedError(f"options.{name} is not offered", subjects=(f"options.{name}",))
    return CartesianOptions(
        **{name: getattr(message, name) for name in NAMED_ALIKE},
        search_step=default.search_step,
        resolution=default.resolution,
        engine=default.engine,
        time_limit=duration_from_message(message.time_limit) or default.time_limit,
    )


def fill_cartesian_result(result: Any, plan: Plan, used: msg.StateUsed) -> None:
    """What a plan_cartesian action returns of a plan, or of the part that was reached."""
    result.plan = plan_to_message(plan, used)
    start = dict(zip(plan.variables, plan.path[0].tolist(), strict=True))
    result.start_configuration = configuration_to_message(start)
    if plan.cartesian is not None:
        result.report = _report(plan.cartesian)


def fill_cartesian_failure(result: Any, error: RobotCellError, used: msg.StateUsed) -> None:
    """The part of a motion that was reached before an error."""
    result.plan.record.state = used
    if isinstance(error.partial, Plan):
        fill_cartesian_result(result, error.partial, used)


def _report(report: CartesianReport) -> msg.CartesianReport:
    message = msg.CartesianReport(
        fraction=report.fraction,
        waypoint_of_point=list(report.waypoint_of_point),
        parameter_of_point=list(report.parameter_of_point),
        max_deviation=report.max_deviation,
        max_deviation_angle=report.max_deviation_angle,
        failed_waypoint=report.failed_waypoint,
        pairs=[pair_to_message(pair) for pair in report.pairs],
    )
    if report.failed_frame is not None:
        message.failed_frame = pose_to_message(report.failed_frame)
    return message
