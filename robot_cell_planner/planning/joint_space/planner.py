"""Planning of motions in joint space: from a request to a plan that was checked in the form in which it moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import ConstraintMismatchError, NotConnectedError, NotSupportedError, Value
from ...model.arguments import public
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...trajectory.limits import Array
from ..path.finish import Origin, bare_plan, finish_plan
from ..path.simplification import densify, drop_waypoints, shortcut, simplify, tighten, without_repeats
from ..path.timing import leaves_path, time_in_job
from ..problem.constraints import FrameConstraint
from ..problem.context import PlanningContext, check_start, start_job
from ..problem.local_planner import LocalPlanner, StraightLocalPlanner
from ..problem.objective import Objective
from ..problem.plan import Plan, PlanFailure
from ..problem.planner_info import PlannerInfo, Settings
from ..problem.progress import Progress, ProgressMonitor
from ..problem.request import UNTIL_LIMIT, MotionRequest, PlanningOptions
from ..search.certified_rrt_connect import natively_shortened, natively_tightened
from ..search.planner import Budget, Planner, SearchProblem, SearchResult
from ..search.registry import planner_named
from .goals import GoalSet, configuration
from .optimization import improve
from .repair import verified
from .start_recovery import escape_start
from .waypoint_hints import direct_way, searched_way, usable

# Direct motions to so many of the nearest goals are tried before a search.
DIRECT_TRIES = 8
# Rounds of pulling a path tight: it takes few, as corners were cut before.
SWEEPS = 2
CONSTRAINT_STEP = 0.001  # [rad or m]


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

    The path is free at steps of `options.resolution`, and between them but for what a warning says; the trajectory, if
    timing is asked for, is held against limits and the cell in its timed, sampled form. Equal requests from equal
    states give equal plans but for times.

    Raises:
        UnknownNameError: a group, joint, named state, planner or parameter that does not exist.
        NotSupportedError: the planner does not take the constraints.
        StartBeyondLimitsError, MPStartStateInCollisionError: the start.
        JointLimitError, GoalInCollisionError, MPNoIKSolutionError: no goal can be used.
        ConstraintMismatchError: start and goals disagree with the constraints.
        TargetModeMismatchError: the state cannot offer a target's mode.
        NotConnectedError: no path within the limit on states checked; `partial` is a `PlanFailure`.
        CancelledError, TimedOutError: ended from outside.
    """
    watch = ProgressMonitor(request.options.time_limit, on_progress, cancelled)
    return plan_watched(cell, state, request, watch)


def plan_watched(cell: RobotCell, state: RobotCellState, request: MotionRequest, watch: ProgressMonitor) -> Plan:
    """`plan_motion` under a watch that other motions may share."""
    options = request.options
    planner = planner_named(options.planner)
    info = planner.info
    parameters = info.settings(options.planner_parameters)
    if not info.constraints and any(isinstance(entry, FrameConstraint) for entry in request.constraints):
        text = f"planner {info.name} takes no constraints on frames; RRTConnect does"
        raise NotSupportedError(text, stage="request", subjects=(info.name,))
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
            constraints=request.constraints,
            slack=options.jiggle,
            certify=options.certify,
            start_limit_tolerance=options.start_limit_tolerance,
        )
        if options.jiggle:
            job = escape_start(job, options.jiggle, options.resolution, options.seed)
        else:
            check_start(job)
        suggestions = [
            configuration(job.space, values, f"waypoint suggestion {index}")
            for index, values in enumerate(request.waypoint_suggestions)
        ]
    with watch.stage("goals"):
        goals = GoalSet(job, request.goals, options.seed)
    finder = _Finder(job, options, planner, parameters)
    with watch.stage("search"):
        found = finder.first_path(goals, suggestions)
    path = _improved(job, found, options, info)
    with watch.stage("verify"):
        path = _held(job, verified(job, path, options, finder.around))
    return _finished(job, path, goals, request, found)


def _finished(job: PlanningContext, path: Array, goals: GoalSet, request: MotionRequest, found: SearchResult) -> Plan:
    options, timing = request.options, request.timing
    goal = goals.reached(path[-1])
    escaped = 0
    if job.escape is not None:
        path, escaped = np.vstack((job.escape.start, path)), 1
    with job.watch.stage("certify"):
        proven = job.checks.proven_fraction(path)
    origin = Origin(found.planner or options.planner, options.seed, options.resolution)
    plan = bare_plan(job, path, origin, goal=goal)
    remarks = (found.remark,) if found.remark else ()
    plan = replace(plan, proven=proven, escape_waypoints=escaped, warnings=(*plan.warnings, *remarks))
    if timing is None:
        return finish_plan(job, plan, None)
    step = options.resolution if leaves_path(timing) else float("inf")
    return finish_plan(job, plan, lambda: time_in_job(job, path, timing, options.resolution), validation_step=step)


@dataclass(frozen=True, eq=False)
class _Finder:
    """Finds paths for one request."""

    job: PlanningContext
    options: PlanningOptions
    planner: Planner
    parameters: Settings

    def first_path(self, goals: GoalSet, suggestions: Sequence[Array]) -> SearchResult:
        """A path to a goal: direct, over suggestions, or searched.

        Raises:
            NotConnectedError: there is none within the limit on states checked.
        """
        job, options = self.job, self.options
        mover = job.mover(options.search_step)
        start = job.space.start
        for goal in goals.found[:DIRECT_TRIES]:
            path = mover.connect(start, goal.q)
            if path is not None:
                return SearchResult(without_repeats(path))
        rows = [goal.q for goal in goals.found]
        stops = usable(job, suggestions, mover)
        if stops:
            path = direct_way(start, stops, rows[:DIRECT_TRIES], mover)
            if path is None:
                path = searched_way(start, stops, rows, mover, self._limited, options.state_limit)
            if path is not None:
                return SearchResult(path)
        result = self.search(start, rows, options.search_step, options.seed, goals)
        if result.path is None:
            raise _not_connected(job, result, options)
        return result

    def around(self, job: PlanningContext, start: Array, end: Array, step: float, seed: int) -> Array | None:
        """A path between two configurations for a job that asks for more than this one's."""
        return replace(self, job=job).search(start, [end], step, seed).path

    def _limited(self, start: Array, goals: Sequence[Array], states: int) -> Array | None:
        budget = Budget(min(states, self.job.checks.states_left))
        return self._searched(start, goals, self.options.search_step, self.options.seed, budget).path

    def search(
        self, start: Array, goals: Sequence[Array], step: float, seed: int, growing: GoalSet | None = None
    ) -> SearchResult:
        """Search with all states that are left; for a set of goals that may grow, improve the path if asked for."""
        improves = growing is not None and _improves(self.options, self.planner.info)
        improvement = _improvement(self.options, self.job) if improves else 0
        budget = Budget(self.job.checks.states_left, improvement)
        return self._searched(start, goals, step, seed, budget, growing)

    def _searched(
        self,
        start: Array,
        goals: Sequence[Array],
        step: float,
        seed: int,
        budget: Budget,
        growing: GoalSet | None = None,
    ) -> SearchResult:
        """Search from a configuration to any of others; their ends are met exactly."""
        if budget.exhausted:
            return SearchResult(None)
        problem = SearchProblem(
            subspace=self.job.subspace,
            checks=self.job.checks,
            local_planner=self.job.mover(step),
            start=start,
            goals=goals,
            step=step,
            seed=seed,
            parameters=self.parameters,
            shorten=self.options.simplify and self.options.tighten,
            more_goals=growing.more if growing is not None and growing.may_grow else None,
        )
        result = self.planner.solve(problem, budget)
        if result.path is None:
            return result
        path = result.path.copy()
        found = list(goals) if growing is None else [goal.q for goal in growing.found]
        path[0] = start
        path[-1] = min(found, key=lambda goal: float(np.abs(goal - path[-1]).max()))
        return replace(result, path=without_repeats(path), planner=result.planner or self.planner.info.name)


def _improves(options: PlanningOptions, planner: PlannerInfo) -> bool:
    """Whether the planner itself can go on improving towards the objective."""
    return planner.improves and options.objective is Objective.JOINT_LENGTH


def _improvement(options: PlanningOptions, job: PlanningContext) -> int:
    if options.improvement_states == UNTIL_LIMIT:
        return job.checks.states_left
    return options.improvement_states


def _improved(job: PlanningContext, found: SearchResult, options: PlanningOptions, planner: PlannerInfo) -> Array:
    """The path without what it does not need, tight, and as good as the states granted for that make it."""
    assert found.path is not None
    mover, watch, path = job.mover(options.search_step), job.watch, found.path
    cost = job.cost(options.objective)
    watch.best_cost = cost.of(path)
    if (options.simplify or options.tighten) and len(path) > 2:
        with watch.stage("simplify"):
            # Of a path that balls prove they prove shorter ways, too, which takes a hundredth of the time.
            proven = job.checks.proven(path)
            if proven and options.simplify and options.tighten and isinstance(mover, StraightLocalPlanner):
                if not found.shortened:
                    path = natively_shortened(path, job.checks, job.subspace, options.seed)
                path = natively_tightened(path, job.checks, job.subspace)
            else:
                with job.checks.balls_alone(job.checks.state_limit if proven else 0):
                    path = _simplified(path, mover, options, found.shortened)
            watch.best_cost = cost.of(path)
    if options.improvement_states and not _improves(options, planner):
        with watch.stage("improve"):
            path = improve(path, mover, cost, _improvement(options, job), options.seed)
    return path


def _simplified(path: Array, mover: LocalPlanner, options: PlanningOptions, shortened: bool) -> Array:
    """The path as simple and tight as asked for. shortened: corners were cut already."""
    straight = isinstance(mover, StraightLocalPlanner)
    if options.simplify and not shortened:
        path = simplify(path, mover)
    if options.tighten and not shortened:
        path = shortcut(path, mover, options.seed)
    if options.simplify and straight:
        path = drop_waypoints(path, mover)
    if options.tighten and straight:
        path = tighten(path, mover, SWEEPS)
    return path


def _not_connected(job: PlanningContext, result: SearchResult, options: PlanningOptions) -> NotConnectedError:
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


def _held(job: PlanningContext, path: Array) -> Array:
    """The path, held against the constraints on frames every 0.001 rad or m."""
    if not job.frames:
        return path
    worst = float(job.frames.excess(densify(path, CONSTRAINT_STEP)[0]).max())
    if worst > 1.0:
        values = (Value("deviation in tolerances", worst, 1.0),)
        text = "the path leaves the constraints on frames between its waypoints"
        raise ConstraintMismatchError(text, stage="verify", values=values)
    return path
