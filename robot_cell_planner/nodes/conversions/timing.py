"""Conversions of timing options and limits."""

from __future__ import annotations

import math
from collections.abc import Iterable

from frozendict import frozendict

from robot_cell_planner import msg, srv

from ...errors import InvalidRequestError
from ...model.cell import RobotCell
from ...model.mechanism import JointLimits
from ...planning.path.timing import PathTiming, TimedPath
from ...planning.problem.request import PlanningOptions
from ...trajectory.timing import TimingMethod, TimingOptions
from .basic import configuration_from_message, path_from_message
from .trajectories import trajectory_to_message
from .trajectory_reports import report_to_message

METHODS = {
    msg.TimingOptions.STOP_AT_WAYPOINTS: TimingMethod.STOP_AT_WAYPOINTS,
    msg.TimingOptions.SMOOTH: TimingMethod.SMOOTH,
    msg.TimingOptions.FOLLOW_SAMPLES: TimingMethod.FOLLOW_SAMPLES,
}
RANGE = ("lower", "upper")
RATES = ("velocity", "acceleration", "jerk", "effort")
UNITS = ("", "rad", "m")


def timing_from_message(message: msg.TimingOptions, field: str, default: TimingOptions) -> TimingOptions | None:
    """Convert timing options; None without timing.

    Raises:
        InvalidRequestError: A value is out of range, or the method is unknown.
    """
    if message.method == msg.TimingOptions.NONE:
        return None
    if message.method not in METHODS:
        text = f"unknown {field}.method {message.method}, expected a constant of TimingOptions (0 to {max(METHODS)})"
        raise InvalidRequestError(text, subjects=(f"{field}.method",))
    return TimingOptions(
        period=message.sample_period or default.period,
        velocity_scale=message.velocity_scale,
        acceleration_scale=message.acceleration_scale,
        jerk_scale=message.jerk_scale,
        method=METHODS[message.method],
        limits=joint_limits_from_message(message.limits, f"{field}.limits"),
        limit_units=frozendict({limit.joint: limit.unit for limit in message.limits if limit.unit}),
        tool_speed=message.tool_speed,
        limit_effort=message.limit_effort,
        blend_tolerance=message.blend_tolerance or default.blend_tolerance,
        start_velocity=configuration_from_message(message.start_velocity, f"{field}.start_velocity"),
        end_velocity=configuration_from_message(message.end_velocity, f"{field}.end_velocity"),
    )


def joint_limits_from_message(messages: Iterable[msg.JointLimits], field: str) -> frozendict[str, JointLimits]:
    """Limits of a request, by joint.

    Raises:
        InvalidRequestError: A joint twice, a number out of its range, or another unit than rad or m.
    """
    found: dict[str, JointLimits] = {}
    for message in messages:
        name = f"{field} of {message.joint}"
        if message.joint in found:
            raise InvalidRequestError(f"{field} lists joint {message.joint} twice", subjects=(field, message.joint))
        if message.unit not in UNITS:
            text = f"{name}: unit is {message.unit!r}, expected rad or m, that of the joint, or nothing"
            raise InvalidRequestError(text, subjects=(field, message.joint))
        numbers = {kind: getattr(message, kind) for kind in (*RANGE, *RATES)}
        bad = [kind for kind, value in numbers.items() if not math.isfinite(value)]
        if bad:
            raise InvalidRequestError(f"{name}: {bad[0]} is {numbers[bad[0]]}", subjects=(field, message.joint))
        given = {kind: numbers[kind] for kind in RATES if numbers[kind]}
        given.update({kind: numbers[kind] for kind in RANGE if message.has_position_limits})
        try:
            found[message.joint] = JointLimits(**given)
        except ValueError as error:
            raise InvalidRequestError(f"{name}: {error}", subjects=(field, message.joint)) from error
    return frozendict(found)


def path_timing_from_message(
    request: srv.TimeParameterize.Request, options: PlanningOptions, default: TimingOptions, limit: int
) -> PathTiming:
    """The request of a TimeParameterize service; timing NONE is taken as SMOOTH.

    Raises:
        InvalidRequestError, LimitExceededError: It is malformed.
    """
    names, rows = path_from_message(request.path, "path", limit)
    if not len(rows):
        raise InvalidRequestError("path has no waypoint", subjects=("path",))
    if request.options.method == msg.TimingOptions.NONE:
        request.options.method = msg.TimingOptions.SMOOTH
    timing = timing_from_message(request.options, "options", default)
    assert timing is not None
    return PathTiming(names, rows, timing, options, tuple(request.stops))


def fill_timed_path(response: srv.TimeParameterize.Response, found: TimedPath, cell: RobotCell) -> None:
    """Result of a TimeParameterize service."""
    response.trajectory = trajectory_to_message(found.trajectory)
    response.report = report_to_message(found.report, cell)
