"""Cartesian planning: a frame of the group follows lines and arcs through waypoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec
from frozendict import frozendict

from ...errors import (
    InvalidRequestError,
    MPInterpolationInCollisionError,
    MPMaxJumpError,
    MPNoIKSolutionError,
    MPTargetInCollisionError,
    NotSupportedError,
    TrajectoryLimitError,
    Value,
)
from ...kinematics.forward import frame_matrix
from ...kinematics.ik.problem import ik_problem, within_limits
from ...kinematics.targets import doubts_of
from ...model.arguments import checked_fields, public
from ...model.cell import RobotCell
from ...model.joint_arrays import check_distinct
from ...model.state import RobotCellState
from ...trajectory.limits import Array
from ...trajectory.timing import TimedMotion, TimingOptions
from ..path.finish import bare_plan, finish_plan, with_proof
from ..problem.context import PlanningContext, check_start, create_context
from ..problem.doubts import timing_doubts
from ..problem.plan import Plan
from ..problem.progress import Progress, ProgressMonitor
from ..problem.request import STAGE
from ..problem.timing_limits import timing_of_motion
from .coordinated import CoordinatedTracker, coordinated_tracker
from .deviations import deviation_warnings
from .kept_speed import speed_warnings
from .ladder.search import LadderTracker
from .limit_arrivals import round_limit_arrivals
from .limit_reserves import CurveBeyondLimits, LimitReserves
from .path.cartesian_path import CartesianPath
from .path.options import CartesianOptions as CartesianOptions
from .path.options import CartesianStrategy as CartesianStrategy
from .path.waypoints import PointAxisWaypoints, Waypoints
from .timing import FramePath, steep_warnings, time_along, warnings_of
from .tracking.greedy import GreedyTracker
from .tracking.ik_tracker import IkTracker


@checked_fields
@dataclass(frozen=True)
class CartesianRequest:
    """Motion in which a frame of the group follows lines and arcs from its current pose through all waypoints.

    Attributes:
        group: Planning group; "" for the main group. The first robot of a composite group follows the path, and the
            tip links of the others keep their poses relative to its frame.
        joints: Joints of the group to move, the others are fixed; empty for all.
        relative_paths: Waypoints of other robots of a composite group, by planning group, relative to a frame that the
            first robot moves, such as its workpiece: as many as `waypoints`, each reached at the same time. None has a
            blend then.
        timing: Options of time parameterization, which rests at sharp corners; None for no timing. Its method and
            `blend_tolerance` do not apply, with a warning in the plan if they were set to others than the defaults.

    Raises:
        InvalidRequestError: A joint is listed twice, or a relative path has another number of waypoints.
    """

    waypoints: Waypoints
    group: str = ""
    joints: tuple[str, ...] = ()
    options: CartesianOptions = field(default_factory=CartesianOptions)
    timing: TimingOptions | None = field(default_factory=TimingOptions)
    relative_paths: Mapping[str, Waypoints] = field(default_factory=frozendict)

    def __post_init__(self) -> None:
        check_distinct(self.joints, STAGE)
        object.__setattr__(self, "relative_paths", frozendict(self.relative_paths))
        for group, waypoints in self.relative_paths.items():
            if len(waypoints) != len(self.waypoints):
                text = f"the relative path of {group} has {len(waypoints)} waypoints, expected {len(self.waypoints)}"
                values = (Value("waypoints", len(waypoints), len(self.waypoints)),)
                raise InvalidRequestError(text, stage=STAGE, subjects=(group,), values=values)


@public
def plan_cartesian(
    cell: RobotCell,
    state: RobotCellState,
    request: CartesianRequest,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Plan:
    """Plan a Cartesian motion from a state.

    The path of the plan includes the start; its `cartesian` report describes how the path was followed. Equal requests
    from equal states give equal plans, except for times.

    Raises:
        MPStartStateInCollisionError, StartBeyondLimitsError: The start is invalid.
        MPNoIKSolutionError, MPTargetInCollisionError, MPInterpolationInCollisionError, MPMaxJumpError: The path cannot
            be completed; `partial` is the plan up to there, without timing, whose report contains the completed
            fraction and the failed frame, pairs or waypoint.
        TargetModeMismatchError, UnknownNameError: The request does not match cell and state.
        NotSupportedError: The timing has a start or end velocity.
        TrajectoryLimitError: The curve through the points of the path is beyond a position limit, also where the path
            is planned with a reserve at this limit.
        CancelledError, TimedOutError: The request was cancelled, or its time limit has passed.
    """
    return cartesian_plan(cell, state, request, ProgressMonitor(request.options.time_limit, on_progress, cancelled))


def cartesian_plan(cell: RobotCell, state: RobotCellState, request: CartesianRequest, monitor: ProgressMonitor) -> Plan:
    """`plan_cartesian` with a progress monitor that other motions may share."""
    options, timing = request.options, timing_of_motion(cell, request.timing, request.group, request.joints)
    warnings = () if timing is None else warnings_of(timing, cell)
    warnings += options.warnings + timing_doubts(timing)
    warnings += doubts_of(waypoints.target(0) for waypoints in (request.waypoints, *request.relative_paths.values()))
    with monitor.stage("start"):
        context = create_context(cell, state, request.group, request.joints, options, monitor, timing=timing)
        if options.check_collision and not options.sample_start_configuration:
            check_start(context)
    reserves = LimitReserves()
    found: CurveBeyondLimits | None = None
    while True:
        try:
            return _planned(context, request, timing, warnings, reserves)
        except CurveBeyondLimits as beyond:
            found = found or beyond
            if not reserves.extend(beyond.error):
                raise found.error from None
        except (MPNoIKSolutionError, MPTargetInCollisionError, MPInterpolationInCollisionError, MPMaxJumpError):
            if found is None:
                raise
            raise found.error from None  # the path is not found farther from the limits


def _planned(
    context: PlanningContext,
    request: CartesianRequest,
    timing: TimingOptions | None,
    warnings: tuple[str, ...],
    reserves: LimitReserves,
) -> Plan:
    """Plan at a distance from position limits.

    Raises:
        CurveBeyondLimits: The curve through the points of the path is beyond position limits.
    """
    options, monitor = request.options, context.monitor
    with monitor.stage("start"):
        tracker = _tracker(context, request, reserves)
    if options.check_collision and not _skips_waypoint_check(request):
        with monitor.stage("waypoints"):
            tracker.check_waypoints()
    with monitor.stage("follow"):
        tracker.follow()
        if isinstance(tracker, IkTracker):
            round_limit_arrivals(tracker)
    path = tracker.path()
    if options.sample_start_configuration:
        context = replace(context, space=replace(context.space, start=path[0]))

    motions: list[TimedMotion] = []
    rested: list[tuple[int, ...]] = []  # the points at which each of them rests because of corners

    def timed(requested: TimingOptions) -> TimedMotion:
        motion, stops = _timed(context, path, requested, options.resolution, tracker)
        motions.append(motion)
        rested.append(stops)
        return motion

    plan = bare_plan(context, path, tracker.origin, goal=len(request.waypoints) - 1, cartesian=tracker.report())
    plan = replace(plan, warnings=plan.warnings + warnings)
    if options.check_collision:
        with monitor.stage("certify"):
            plan = with_proof(context, plan, context.checks.certified_fraction(path))
    plan = finish_plan(
        context,
        plan,
        None if timing is None else lambda: timed(timing),
        timing=timing or TimingOptions(),
        check_collision=options.check_collision,
        validation_step=options.resolution,
    )
    if motions and timing is not None:
        found = steep_warnings(path, _frame_path(tracker).parameters, context.limits)
        waypoints = plan.cartesian.waypoint_of_point if plan.cartesian is not None else ()
        limits = context.limits
        found += speed_warnings(motions[-1], _frame_path(tracker), timing, limits, waypoints, rested[-1])
        plan = replace(plan, warnings=plan.warnings + found)
    for motion in motions:
        if isinstance(tracker, CoordinatedTracker):
            tracker.check_motion(motion)
        else:
            found = deviation_warnings(tracker, motion.trajectory, motion.passing_times)
            plan = replace(plan, warnings=plan.warnings + found)
    return plan


def _timed(
    context: PlanningContext, path: Array, timing: TimingOptions, step: float, tracker: IkTracker | CoordinatedTracker
) -> tuple[TimedMotion, tuple[int, ...]]:
    """Return the motion through the points of a path, and the points at which it rests because of corners: at all
    waypoints, if several robots would otherwise leave their relative poses.

    Raises:
        CurveBeyondLimits: The curve through the points is beyond position limits.
    """
    along = partial(time_along, context, path, timing, step, frame_path=_frame_path(tracker))
    try:
        stops = tracker.stops()
        motion = along(stops=stops)
        if isinstance(tracker, CoordinatedTracker) and not tracker.keeps_relative_poses(motion):
            stops = tracker.all_waypoints()
            motion = along(stops=stops)
    except TrajectoryLimitError as error:
        raise CurveBeyondLimits(error) from error
    return motion, stops


def _tracker(
    context: PlanningContext, request: CartesianRequest, reserves: LimitReserves
) -> IkTracker | CoordinatedTracker:
    """Return the tracker of the Cartesian path, at its start."""
    cell, state, options = context.cell, context.state, request.options
    groups = cell.target_groups(context.space.group)
    if len(groups) == 1:
        if request.relative_paths:
            text = f"{context.space.group} is a group of one robot, and relative paths are those of others"
            raise NotSupportedError(text, stage=STAGE, subjects=tuple(request.relative_paths))
        return _tracker_of_chain(context, request.waypoints, options, reserves)
    if request.joints:
        text = f"{context.space.group} consists of several robots: all its joints move"
        raise NotSupportedError(text, stage=STAGE, subjects=request.joints)

    def leader_of(group: str, options: CartesianOptions) -> IkTracker:
        own = create_context(cell, state, group, (), options, context.monitor, timing=request.timing)
        return _tracker_of_chain(own, request.waypoints, options, reserves)

    return coordinated_tracker(context, groups, options, leader_of, request.relative_paths)


def _tracker_of_chain(
    context: PlanningContext, waypoints: Waypoints, options: CartesianOptions, reserves: LimitReserves
) -> IkTracker:
    space = context.space
    problem = ik_problem(context.cell, context.state, waypoints.target(0), space.group, space.variables)
    problem = within_limits(
        msgspec.structs.replace(problem, start=space.start.copy()), reserves.within(space.definitions, space.start)
    )
    reference = frame_matrix(context.cell, context.state, waypoints.reference_frame)
    check = partial(context.monitor.check, context.checks.states)
    cartesian_path = CartesianPath(problem.chain.forward(space.start.copy()), waypoints, reference, check)
    kind = LadderTracker if options.strategy is CartesianStrategy.GRAPH else GreedyTracker
    return kind(context, cartesian_path, problem, options)


def _frame_path(tracker: IkTracker | CoordinatedTracker) -> FramePath:
    """Return the path of the frame of the tracker, or of its leader, along the points of the joint path."""
    leader = tracker.leader if isinstance(tracker, CoordinatedTracker) else tracker
    free_axes = leader.cartesian_path.free_axes
    return FramePath(leader.parameters(), leader.speeds(), leader.in_place(), leader.problem.chain, free_axes)


def _skips_waypoint_check(request: CartesianRequest) -> bool:
    requested = request.options.skip_preplanning_collision_check
    return isinstance(request.waypoints, PointAxisWaypoints) if requested is None else requested
