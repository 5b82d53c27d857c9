"""Planning of motions in joint space: from a request to a plan that was checked in the form in which it moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..cell.cell import RobotCell
from ..cell.state import RobotCellState
from ..errors import NotConnectedError, PathInvalidError, Value
from ..trajectory.limits import Array
from ..trajectory.timing import stop_at_waypoints
from .finish import Origin, bare_plan, finish_plan
from .goals import GoalConfiguration, goal_configurations
from .job import Job, check_start, start_job
from .ompl_search import SearchProblem, SearchResult, search
from .path_tools import drop_waypoints, shortcut, simplify, without_repeats
from .plan import Plan, PlanFailure, path_length
from .planners import planner_info
from .request import MotionRequest, PlanningOptions
from .verification import PathVerifier
from .watch import Progress, Watch

# Straight motions to so many of the nearest goals are tried before a search.
DIRECT_TRIES = 8
MAX_REPAIRS = 16


def plan_motion(
    cell: RobotCell,
    state: RobotCellState,
    request: MotionRequest,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Plan:
    """Plan a motion from a state to one of the goals of a request.

    The path is free at steps of `options.resolution`; the trajectory, if timing is asked for, is held against limits
    and the cell in its timed, sampled form. Equal requests from equal states give equal plans but for times.

    Raises:
        UnknownNameError: a group, joint, named state, planner or parameter that does not exist.
        StartBeyondLimitsError, MPStartStateInCollisionError: the start.
        JointLimitError, GoalInCollisionError, MPNoIKSolutionError: no goal can be used.
        TargetModeMismatchError: the state cannot offer a target's mode.
        NotConnectedError: no path within the limit on states checked; `partial` is a `PlanFailure`.
        CancelledError, TimedOutError: ended from outside.
    """
    options = request.options
    planner = planner_info(options.planner)
    parameters = planner.settings(options.planner_parameters)
    watch = Watch(options.time_limit, on_progress, cancelled)
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
        )
        check_start(job)
    with watch.stage("goals"):
        goals = goal_configurations(cell, state, job.space, request, job.checks)

    def find(problem: SearchProblem, seed: int) -> SearchResult:
        return search(problem, job.checks, planner, parameters, seed)

    with watch.stage("search"):
        path = _direct(job, goals, options)
        if path is None:
            path = _searched(job, goals, options, find)
    watch.best_cost = path_length(path)
    if options.simplify and len(path) > 2:
        with watch.stage("simplify"):
            path = simplify(path, job.checks, options.search_step)
            path = shortcut(path, job.checks, options.search_step, options.seed)
            path = drop_waypoints(path, job.checks, options.search_step)
            watch.best_cost = path_length(path)
    with watch.stage("verify"):
        path, proven = _verified(job, path, options, find)
    timing = request.timing
    origin = Origin(options.planner, options.seed, options.resolution)
    plan = replace(bare_plan(job, path, origin, goal=_goal_reached(goals, path)), proven=proven)
    return finish_plan(
        job, plan, None if timing is None else lambda: stop_at_waypoints(path, job.space.limits, timing)
    )


def _direct(job: Job, goals: Sequence[GoalConfiguration], options: PlanningOptions) -> Array | None:
    """A straight motion to one of the nearest goals, if one is free."""
    for goal in goals[:DIRECT_TRIES]:
        if job.checks.motion_free(job.space.start, goal.q, options.search_step):
            return without_repeats(np.vstack((job.space.start, goal.q)))
    return None


def _searched(
    job: Job,
    goals: Sequence[GoalConfiguration],
    options: PlanningOptions,
    find: Callable[[SearchProblem, int], SearchResult],
) -> Array:
    space = job.space
    problem = SearchProblem(space.lower, space.upper, space.start, [goal.q for goal in goals], options.search_step)
    result = find(problem, options.seed)
    if result.path is None:
        raise _not_connected(job, result, options)
    return result.path


def _not_connected(job: Job, result: SearchResult, options: PlanningOptions) -> NotConnectedError:
    checks = job.checks
    blocking = checks.most_blocking_pair()
    values = [
        Value("states checked", checks.states, options.state_limit),
        Value("start tree", result.start_tree_size),
        Value("goal tree", result.goal_tree_size),
        Value("nearest approach", result.nearest_approach),
    ]
    text = "start and goal were not connected within the limit on states checked"
    if blocking is not None:
        text += f"; {blocking[0].first} and {blocking[0].second} blocked most motions"
    failure = PlanFailure(
        start_tree_size=result.start_tree_size,
        goal_tree_size=result.goal_tree_size,
        nearest_approach=result.nearest_approach,
        blocking_pair=blocking[0] if blocking else None,
        blocked_motions=blocking[1] if blocking else 0,
        states_checked=checks.states,
        motions_checked=checks.motions,
        times=job.watch.times,
    )
    names = (blocking[0].first, blocking[0].second) if blocking else ()
    return NotConnectedError(text, stage="search", subjects=names, values=tuple(values), partial=failure)


def _verified(
    job: Job, path: Array, options: PlanningOptions, find: Callable[[SearchProblem, int], SearchResult]
) -> tuple[Array, float]:
    """The path, verified from end to end, and the share of it that is proven.

    Where a motion collides between the wider steps of the search, a way around is searched with fine ones.

    Raises:
        PathInvalidError: there is none within the limit on states checked.
    """
    space, checks = job.space, job.checks
    verifier = PathVerifier(checks, options.resolution)
    first = 0
    for repair in range(1, MAX_REPAIRS + 1):
        blocked = verifier.first_blocked(path, first)
        if blocked is None:
            return path, verifier.proven / verifier.length if verifier.length > 0.0 else 1.0
        problem = SearchProblem(space.lower, space.upper, path[blocked], [path[blocked + 1]], options.resolution)
        around = find(problem, options.seed + repair).path
        if around is None:
            break
        around = simplify(around, checks, options.resolution)
        around = shortcut(around, checks, options.resolution, options.seed + repair)
        path = np.vstack((path[:blocked], around, path[blocked + 2 :]))
        first = blocked
    values = (Value("states checked", checks.states, options.state_limit), Value("repairs", repair, MAX_REPAIRS))
    raise PathInvalidError("the path collides between the steps of the search", stage="verify", values=values)


def _goal_reached(goals: Sequence[GoalConfiguration], path: Array) -> int:
    """Number of the goal whose configuration the path ends at."""
    return min(goals, key=lambda goal: float(np.abs(goal.q - path[-1]).max())).goal
