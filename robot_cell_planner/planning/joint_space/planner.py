"""Joint-space planning: from a request to a plan that is verified as it will be executed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ...errors import ConstraintMismatchError, NotConnectedError, NotSupportedError, PlanningError, Value
from ...model.arguments import public
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...trajectory.limits import Array
from ..path.finish import Origin, bare_plan, finish_plan, with_proof
from ..path.simplification import densify
from ..path.timing import leaves_path, time_in_context
from ..problem.constraints import FrameConstraint
from ..problem.context import PlanningContext, check_start, create_context
from ..problem.frame_constraints import CONSTRAINT_STEP
from ..problem.plan import Plan, PlanFailure
from ..problem.progress import Progress, ProgressMonitor, WorkCount
from ..problem.request import Coordination, MotionRequest
from ..problem.timing_limits import timing_of_motion
from ..search.planner import SearchResult
from ..search.registry import planner_named
from .among_moving import plan_among_moving
from .coarse_spheres import naming_coarse_spheres
from .goals import GoalSet, suggested
from .path_search import PathSearch, optimized
from .prioritised import plan_prioritised
from .repair import verify_and_repair
from .start_recovery import correct_start


@public
def plan_motion(
    cell: RobotCell,
    state: RobotCellState,
    request: MotionRequest,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Plan:
    """Plan a motion from a state to one of the goals of a request.

    The path is free at steps of `options.resolution`, and between them except where a warning says otherwise. The
    trajectory, if timing is requested, is validated against limits and the cell in its timed, sampled form. Equal
    requests from equal states give equal plans, except for times.

    With `moving`, the motion is planned in space and time, see `among_moving.plan_among_moving`.

    Raises:
        UnknownNameError: A group, joint, named state, planner or parameter does not exist.
        NotSupportedError: The planner does not support the constraints.
        StartBeyondLimitsError, MPStartStateInCollisionError: The start is invalid.
        JointLimitError, GoalInCollisionError, MPNoIKSolutionError: No goal can be used.
        ConstraintMismatchError: Start and goals are inconsistent with the constraints.
        TargetModeMismatchError: The state does not support a target's mode.
        NotConnectedError: No path was found within the state limit; `partial` is a `PlanFailure`.
        CancelledError, TimedOutError: The request was cancelled, or its time limit has passed.
    """
    monitor = ProgressMonitor(request.options.time_limit, on_progress, cancelled)
    return plan_with_monitor(cell, state, request, monitor)


def plan_with_monitor(cell: RobotCell, state: RobotCellState, request: MotionRequest, monitor: ProgressMonitor) -> Plan:
    """`plan_motion` with a progress monitor that other motions may share."""
    timing = timing_of_motion(cell, request.timing, request.group, request.joints)
    if timing is not request.timing:
        request = replace(request, timing=timing)
    plan = _planned(cell, state, request, monitor)
    return replace(plan, warnings=(*plan.warnings, *warnings)) if (warnings := request.warnings) else plan


def _planned(cell: RobotCell, state: RobotCellState, request: MotionRequest, monitor: ProgressMonitor) -> Plan:
    """Plan a motion in the way that a request needs."""
    if request.options.coordination is not Coordination.COUPLED:
        return _coordinated(cell, state, request, monitor)
    if request.moving:
        return plan_among_moving(cell, state, request, monitor)
    options = request.options
    planner = planner_named(options.planner)
    info = planner.info
    parameters = info.settings(options.planner_parameters)
    if not info.constraints and any(isinstance(entry, FrameConstraint) for entry in request.constraints):
        text = f"planner {info.name} does not support constraints on frames; RRTConnect does"
        raise NotSupportedError(text, stage="request", subjects=(info.name,))
    with monitor.stage("start"):
        context = create_context(
            cell,
            state,
            request.group,
            request.joints,
            options,
            monitor,
            constraints=request.constraints,
            slack=options.max_start_correction,
            timing=request.timing,
        )
        if options.max_start_correction:
            context = correct_start(context, options.max_start_correction, options.resolution, options.seed)
        else:
            check_start(context)
        hints = suggested(context.cell, context.space, request.waypoint_suggestions)
    with monitor.stage("goals"):
        goals = GoalSet(context.including(hints), request.goals, options.seed)
    context = goals.context
    search = PathSearch(context, options, planner, parameters)
    naming = partial(naming_coarse_spheres, context, [goal.q for goal in goals.found], options.seed)
    with naming(), monitor.stage("search"):
        found = search.first_path(goals, hints)
    path = optimized(context, found, options, info)
    with naming(), monitor.stage("verify"):
        path = _check_constraints(context, verify_and_repair(context, path, options, search.detour))
    return _finish(context, path, goals, request, found)


def _coordinated(cell: RobotCell, state: RobotCellState, request: MotionRequest, monitor: ProgressMonitor) -> Plan:
    """Plan robot by robot; where that fails, or to compare, all together. The states of all motions count."""
    with monitor.counting() as work:
        prioritised = plan_prioritised(cell, state, request, monitor, plan_with_monitor, work)
        if prioritised is not None and request.options.coordination is Coordination.PRIORITISED:
            return _with_work(prioritised, work)
        work.release()
        try:
            plan = _coupled(cell, state, request, monitor, work)
        except PlanningError as error:
            if prioritised is None:
                raise _with_all_work(error, request, work) from error
            return _with_work(prioritised, work)
    if prioritised is None:
        text = "robot by robot no motion was found; all were planned together"
        return _with_work(replace(plan, warnings=(*plan.warnings, text)), work)
    return _with_work(plan if plan.duration < prioritised.duration else prioritised, work)


def _coupled(
    cell: RobotCell, state: RobotCellState, request: MotionRequest, monitor: ProgressMonitor, work: WorkCount
) -> Plan:
    """Plan all robots together, with the states that are left.

    Raises:
        NotConnectedError: No state is left, or as from `plan_motion`.
    """
    left = request.options.state_limit - work.states
    if left < 1:
        text = "state_limit was reached robot by robot, before all were planned together"
        values = (Value("states checked", work.states, request.options.state_limit),)
        failure = PlanFailure(states_checked=work.states, motions_checked=work.motions, times=monitor.times)
        raise NotConnectedError(text, stage="search", values=values, partial=failure)
    options = replace(request.options, coordination=Coordination.COUPLED, state_limit=left)
    return _planned(cell, state, replace(request, options=options), monitor)


def _with_work(plan: Plan, work: WorkCount) -> Plan:
    return replace(plan, states_checked=work.states, motions_checked=work.motions)


def _with_all_work(error: PlanningError, request: MotionRequest, work: WorkCount) -> PlanningError:
    """Return an error with the numbers of the whole request."""
    states = Value("states checked", work.states, request.options.state_limit)
    failure = error.partial
    if isinstance(failure, PlanFailure):
        failure = replace(failure, states_checked=work.states, motions_checked=work.motions)
    values = tuple(states if value.name == states.name else value for value in error.values)
    return error.changed(error.message, values=values, partial=failure)


def _finish(context: PlanningContext, path: Array, goals: GoalSet, request: MotionRequest, found: SearchResult) -> Plan:
    options, timing = request.options, request.timing
    goal = goals.reached(path[-1])
    correction, correction_waypoints = context.start_correction, 0
    if correction is not None:
        path, correction_waypoints = np.vstack((correction.start, path)), 1
    with context.monitor.stage("certify"):
        proven = context.checks.certified_fraction(path)
    origin = Origin(found.planner or options.planner, options.seed, options.resolution)
    warnings = context.objective_warnings(options.objective) + ((found.warning,) if found.warning else ())
    if correction is not None:
        warnings = (correction.warning, *warnings)
    plan = bare_plan(
        context,
        path,
        origin,
        goal=goal,
        start_correction_waypoints=correction_waypoints,
        warnings=warnings,
    )
    plan = with_proof(context, plan, proven)
    if timing is None:
        return finish_plan(context, plan, None)
    step = options.resolution if leaves_path(timing) else float("inf")
    return finish_plan(
        context,
        plan,
        lambda: time_in_context(context, path, timing, options.resolution),
        timing=timing,
        validation_step=step,
    )


def _check_constraints(context: PlanningContext, path: Array) -> Array:
    """Check the path against the frame constraints, and return it."""
    if not context.frames or context.frames.keeps(path):
        return path
    worst = float(context.frames.excess(densify(path, CONSTRAINT_STEP)[0]).max())
    values = (Value("deviation in tolerances", worst, 1.0),)
    text = "the path leaves the constraints on frames between its waypoints"
    raise ConstraintMismatchError(text, stage="verify", values=values)
