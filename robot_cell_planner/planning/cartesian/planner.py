"""Cartesian planning: a frame of the group moves along lines and arcs through waypoints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec

from ...kinematics.forward import frame_matrix
from ...kinematics.ik.problem import ik_problem
from ...model.arguments import checked_fields, public
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...trajectory.timing import TimedMotion, TimingOptions
from ..path.finish import bare_plan, finish_plan
from ..problem.context import PlanningContext, check_start, start_job
from ..problem.plan import Plan
from ..problem.progress import Progress, ProgressMonitor
from ..problem.request import check_joints
from .ladder.search import LadderTracker
from .path.cartesian_path import CartesianPath
from .path.options import CartesianOptions as CartesianOptions
from .path.options import Strategy as Strategy
from .path.waypoints import PointAxisWaypoints, Waypoints
from .timing import time_along
from .tracking.greedy import GreedyTracker
from .tracking.ik_tracker import IkTracker


@checked_fields
@dataclass(frozen=True)
class CartesianRequest:
    """A motion in which a frame of the group moves along lines and arcs from where it is through all waypoints.

    group: planning group; "": the main group. joints: those of the group to move, the others are held; none: all.
    timing: how to time the motion, which rests at corners that are not rounded; None: not at all.

    Raises:
        InvalidRequestError: a joint is listed twice.
    """

    waypoints: Waypoints
    group: str = ""
    joints: tuple[str, ...] = ()
    options: CartesianOptions = field(default_factory=CartesianOptions)
    timing: TimingOptions | None = field(default_factory=TimingOptions)

    def __post_init__(self) -> None:
        check_joints(self.joints)


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

    The path of the plan begins with the start; its `cartesian` report says how the lines were followed. Equal requests
    from equal states give equal plans but for times.

    Raises:
        MPStartStateInCollisionError, StartBeyondLimitsError: the start.
        MPNoIKSolutionError, MPInterpolationInCollisionError, MPMaxJumpError: the way ends there; `partial` is the plan
        up
            to it, without timing, whose report has the fraction reached and the frame, pairs or waypoint to blame.
        TargetModeMismatchError, UnknownNameError: the request does not fit cell and state.
        CancelledError, TimedOutError: ended from outside.
    """
    options, timing = request.options, request.timing
    watch = ProgressMonitor(options.time_limit, on_progress, cancelled)
    with watch.stage("start"):
        job = start_job(
            cell,
            state,
            request.group,
            request.joints,
            engine=options.engine,
            extra_margin=options.extra_margin,
            state_limit=options.state_limit,
            watch=watch,
            start_limit_tolerance=options.start_limit_tolerance,
        )
        if options.check_collision and not options.sample_start_configuration:
            check_start(job)
        follower = _follower(job, request)
    if options.check_collision and not _skips_waypoints(request):
        with watch.stage("waypoints"):
            follower.try_waypoints()
    with watch.stage("follow"):
        follower.follow()
    path = follower.path()
    if options.sample_start_configuration:
        job = replace(job, space=replace(job.space, start=path[0]))

    def timed(asked: TimingOptions) -> TimedMotion:
        return time_along(
            job, path, asked, options.resolution,
            parameters=follower.parameters(), stops=follower.stops(), speeds=follower.speeds(),
        )  # fmt: skip

    plan = bare_plan(job, path, follower.origin, goal=len(request.waypoints) - 1, cartesian=follower.report())
    if options.check_collision:
        with watch.stage("certify"):
            plan = replace(plan, proven=job.checks.proven_fraction(path))
    return finish_plan(
        job,
        plan,
        None if timing is None else lambda: timed(timing),
        check_collision=options.check_collision,
        validation_step=options.resolution,
    )


def _follower(job: PlanningContext, request: CartesianRequest) -> IkTracker:
    """Who follows the route, at its start."""
    waypoints, space = request.waypoints, job.space
    problem = ik_problem(job.cell, job.state, waypoints.target(0), space.group, space.variables)
    problem = msgspec.structs.replace(problem, start=space.start.copy())
    reference = frame_matrix(job.cell, job.state, waypoints.reference_frame)
    route = CartesianPath(problem.chain.forward(space.start.copy()), waypoints, reference)
    kind = LadderTracker if request.options.strategy is Strategy.GRAPH else GreedyTracker
    return kind(job, route, problem, request.options)


def _skips_waypoints(request: CartesianRequest) -> bool:
    asked = request.options.skip_preplanning_collision_check
    return isinstance(request.waypoints, PointAxisWaypoints) if asked is None else asked
