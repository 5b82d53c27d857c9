"""Cartesian planning: a frame of the group moves in straight lines through waypoints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..cell.cell import RobotCell
from ..cell.state import RobotCellState
from ..trajectory.timing import TimedMotion, TimingOptions, follow_samples
from .cartesian_options import CartesianOptions as CartesianOptions
from .finish import bare_plan, finish_plan
from .greedy import GreedyFollower
from .job import check_start, start_job
from .plan import Plan
from .request import check_joints
from .watch import Progress, Watch
from .waypoints import FrameWaypoints

NO_STATE_LIMIT = 2**62


@dataclass(frozen=True)
class CartesianRequest:
    """A motion in which a frame of the group moves in straight lines from where it is through all waypoints.

    group: planning group; "": the main group. joints: those of the group to move, the others are held; none: all.
    timing: how to time the motion, which rests at each waypoint; None: not at all.

    Raises:
        InvalidRequestError: a joint is listed twice.
    """

    waypoints: FrameWaypoints
    group: str = ""
    joints: tuple[str, ...] = ()
    options: CartesianOptions = field(default_factory=CartesianOptions)
    timing: TimingOptions | None = field(default_factory=TimingOptions)

    def __post_init__(self) -> None:
        check_joints(self.joints)


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
    watch = Watch(options.time_limit, on_progress, cancelled)
    with watch.stage("start"):
        job = start_job(
            cell,
            state,
            request.group,
            request.joints,
            engine=options.engine,
            extra_margin=options.extra_margin,
            state_limit=NO_STATE_LIMIT,
            watch=watch,
        )
        if options.check_collision:
            check_start(job)
        follower = GreedyFollower(job, request.waypoints, options)
    if options.check_collision and not options.skip_preplanning_collision_check:
        with watch.stage("waypoints"):
            follower.try_waypoints()
    with watch.stage("follow"):
        follower.follow()
    path = follower.path()

    def timed() -> TimedMotion:
        return follow_samples(
            path, job.space.limits, timing, parameters=follower.parameters(), stops=follower.stops()
        )

    plan = bare_plan(job, path, follower.origin, goal=len(request.waypoints.poses) - 1, cartesian=follower.report())
    return finish_plan(
        job,
        plan,
        None if timing is None else timed,
        check_collision=options.check_collision,
        validation_step=options.resolution,
    )
