"""Conversions of Cartesian requests and results."""

from __future__ import annotations

from typing import Any

from robot_cell_planner import action, msg

from ...errors import InvalidRequestError, RobotCellError
from ...kinematics.targets import FrameTarget, PointAxisTarget
from ...planning.cartesian.path.options import DEFAULT_STATE_LIMIT, CartesianOptions, CartesianStrategy
from ...planning.cartesian.path.waypoints import FrameWaypoints, PointAxisWaypoints, Segment, Waypoints, common_fields
from ...planning.problem.plan import CartesianReport, Plan
from ...planning.problem.request import PlanningOptions
from ...planning.workers.tasks import CartesianRequest
from ...trajectory.timing import TimingOptions
from .basic import (
    configuration_to_message,
    path_to_message,
    pose_to_message,
    position_from_message,
    timeout_from_message,
)
from .collisions import pair_to_message
from .inverse import ik_failure_to_message
from .plans import plan_to_message
from .targets import target_from_message
from .timing import timing_from_message

NAMED_ALIKE = (
    "max_step_distance",
    "max_step_angle",
    "min_step_distance",
    "min_step_angle",
    "max_jump_prismatic",
    "max_jump_revolute",
    "max_deviation",
    "max_deviation_angle",
    "check_collision",
    "sample_start_configuration",
    "verbose",
    "seed",
)

STRATEGIES = {
    msg.CartesianOptions.GRAPH: CartesianStrategy.GRAPH,
    msg.CartesianOptions.GREEDY: CartesianStrategy.GREEDY,
}


def cartesian_request_from_message(
    message: action.PlanCartesian.Goal, options: PlanningOptions, timing: TimingOptions
) -> CartesianRequest:
    """Convert the goal of a plan_cartesian action, without its start state. options: the node's defaults.

    Raises:
        InvalidRequestError: There is no waypoint, waypoints differ in type, or numbers are out of range.
        NotSupportedError: The timing method is not supported.
    """
    return CartesianRequest(
        waypoints=_waypoints(message.waypoints, "waypoints"),
        options=_options(message.options, options),
        group=message.group,
        joints=tuple(message.joints),
        timing=timing_from_message(message.timing, "timing", timing),
        relative_paths=_relative_paths(message.relative_paths),
    )


def _relative_paths(messages: list[msg.RelativePath]) -> dict[str, Waypoints]:
    found: dict[str, Waypoints] = {}
    for index, message in enumerate(messages):
        field = f"relative_paths[{index}]"
        waypoints = _waypoints(message.waypoints, f"{field}.waypoints")
        if message.group in found:
            raise InvalidRequestError(f"{field}: {message.group} has two relative paths", subjects=(field,))
        found[message.group] = waypoints
    return found


def _waypoints(messages: list[msg.CartesianWaypoint], name: str) -> Waypoints:
    if not messages:
        raise InvalidRequestError(f"{name} is empty", subjects=(name,))
    targets: list[FrameTarget | PointAxisTarget] = []
    first_fields: dict[str, Any] = {}
    for index, message in enumerate(messages):
        field = f"{name}[{index}]"
        target = target_from_message(message.target, f"{field}.target")
        fields = common_fields(target)
        if targets and (type(target) is not type(targets[0]) or fields != first_fields):
            text = f"{field} has another type, mode, frame, unit or tolerance than the first"
            raise InvalidRequestError(text, subjects=(field,))
        targets.append(target)
        first_fields = first_fields or fields
    common: dict[str, Any] = {
        **first_fields,
        "segments": tuple(_segment(message, f"{name}[{index}]") for index, message in enumerate(messages)),
    }
    poses = tuple(target.pose for target in targets if isinstance(target, FrameTarget))
    if poses:
        return FrameWaypoints(poses=poses, **common)
    axes = tuple((target.point, target.axis) for target in targets if isinstance(target, PointAxisTarget))
    return PointAxisWaypoints(points_and_axes=axes, **common)


def _segment(message: msg.CartesianWaypoint, field: str) -> Segment:
    if message.motion not in (msg.CartesianWaypoint.LINE, msg.CartesianWaypoint.ARC):
        raise InvalidRequestError(f"{field}: unknown motion {message.motion}", subjects=(f"{field}.motion",))
    via = position_from_message(message.via) if message.motion == msg.CartesianWaypoint.ARC else None
    try:
        return Segment(via=via, blend_radius=message.blend_radius, speed=message.speed)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{field}: {error.message}", subjects=(field,), values=error.values) from error


def _options(message: msg.CartesianOptions, default: PlanningOptions) -> CartesianOptions:
    if message.strategy not in STRATEGIES:
        text = f"unknown options.strategy {message.strategy}, expected a constant of CartesianOptions (0 or 1)"
        raise InvalidRequestError(text, subjects=("options.strategy",))
    return CartesianOptions(
        **{name: getattr(message, name) for name in NAMED_ALIKE},
        strategy=STRATEGIES[message.strategy],
        # The message has no third value: false selects the default of the waypoint type.
        skip_preplanning_collision_check=message.skip_preplanning_collision_check or None,
        search_step=default.search_step,
        resolution=default.resolution,
        engine=default.engine,
        start_limit_tolerance=default.start_limit_tolerance,
        state_limit=message.state_limit or DEFAULT_STATE_LIMIT,
        time_limit=timeout_from_message(message.time_limit, "options.time_limit") or default.time_limit,
    )


def fill_cartesian_result(result: action.PlanCartesian.Result, plan: Plan, used: msg.StateUsed) -> None:
    """Fill the result of a plan_cartesian action for a plan, or for the part that was reached.

    The start is a separate field and is not repeated as the first point of the path.
    """
    result.plan = plan_to_message(plan, used)
    result.plan.path = path_to_message(plan.variables, plan.path[1:])
    start = dict(zip(plan.variables, plan.path[0].tolist(), strict=True))
    result.start_configuration = configuration_to_message(start)
    if plan.cartesian is not None:
        result.report = _report(plan.cartesian)


def fill_cartesian_failure(result: action.PlanCartesian.Result, error: RobotCellError, used: msg.StateUsed) -> None:
    """Fill the result with the part of a motion that was reached before an error."""
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
        min_manipulability=report.min_manipulability,
        failed_waypoint=report.failed_waypoint,
        pairs=[pair_to_message(pair) for pair in report.pairs],
        log=list(report.log),
    )
    if report.ik_failure is not None:
        message.ik = ik_failure_to_message(report.ik_failure)
    if report.failed_frame is not None:
        message.failed_frame = pose_to_message(report.failed_frame)
    return message
