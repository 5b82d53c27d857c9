"""Joint-space planning: from a request to a plan that is verified as it will be executed."""

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
from ..path.timing import leaves_path, time_in_context
from ..problem.constraints import FrameConstraint
from ..problem.context import PlanningContext, check_start, create_context
from ..problem.local_planner import LocalPlanner, StraightLocalPlanner
from ..problem.objective import Objective
from ..problem.plan import Plan, PlanFailure
from ..problem.planner_info import PlannerInfo, Settings
from ..problem.progress import Progress, ProgressMonitor
from ..problem.request import UNTIL_LIMIT, MotionRequest, PlanningOptions
from ..search.certified_rrt_connect import certified_shortened, certified_tightened
from ..search.planner import Budget, Planner, SearchProblem, SearchResult
from ..search.registry import planner_named
from .goals import GoalSet, configuration
from .optimization import optimize
from .repair import verify_and_repair
from .start_recovery import correct_start
from .waypoint_hints import direct_path, searched_path, usable_hints

# Max number of nearest goals for direct motions before a search.
MAX_DIRECT_MOTIONS = 8
# Max number of tightening sweeps; few are needed after shortcuts.
MAX_SWEEPS = 2
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

    The path is free at steps of `options.resolution`, and between them except where a warning says otherwise. The
    trajectory, if timing is requested, is validated against limits and the cell in its timed, sampled form. Equal
    requests from equal states give equal plans, except for times.

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
            certify=options.certify,
        )
        if options.max_start_correction:
            context = correct_start(context, options.max_start_correction, options.resolution, options.seed)
        else:
            check_start(context)
        hints = [
            configuration(context.space, values, f"waypoint suggestion {index}")
            for index, values in enumerate(request.waypoint_suggestions)
        ]
    with monitor.stage("goals"):
        goals = GoalSet(context, request.goals, options.seed)
    search = _PathSearch(context, options, planner, parameters)
    with monitor.stage("search"):
        found = search.first_path(goals, hints)
    path = _optimized(context, found, options, info)
    with monitor.stage("verify"):
        path = _check_constraints(context, verify_and_repair(context, path, options, search.detour))
    return _finish(context, path, goals, request, found)


def _finish(context: PlanningContext, path: Array, goals: GoalSet, request: MotionRequest, found: SearchResult) -> Plan:
    options, timing = request.options, request.timing
    goal = goals.reached(path[-1])
    correction_waypoints = 0
    if context.start_correction is not None:
        path, correction_waypoints = np.vstack((context.start_correction.start, path)), 1
    with context.monitor.stage("certify"):
        proven = context.checks.certified_fraction(path)
    origin = Origin(found.planner or options.planner, options.seed, options.resolution)
    plan = bare_plan(context, path, origin, goal=goal)
    search_warnings = (found.warning,) if found.warning else ()
    plan = replace(
        plan,
        certified_fraction=proven,
        start_correction_waypoints=correction_waypoints,
        warnings=(*plan.warnings, *search_warnings),
    )
    if timing is None:
        return finish_plan(context, plan, None)
    step = options.resolution if leaves_path(timing) else float("inf")
    return finish_plan(
        context, plan, lambda: time_in_context(context, path, timing, options.resolution), validation_step=step
    )


@dataclass(frozen=True, eq=False)
class _PathSearch:
    """Search of paths for one request."""

    context: PlanningContext
    options: PlanningOptions
    planner: Planner
    parameters: Settings

    def first_path(self, goals: GoalSet, hints: Sequence[Array]) -> SearchResult:
        """Return a path to a goal: direct, via waypoint hints, or by search.

        Raises:
            NotConnectedError: There is none within the state limit.
        """
        context, options = self.context, self.options
        local_planner = context.local_planner(options.search_step)
        start = context.space.start
        context.checks.refine_near((start, *(goal.q for goal in goals.found[:MAX_DIRECT_MOTIONS])))
        for goal in goals.found[:MAX_DIRECT_MOTIONS]:
            path = local_planner.connect(start, goal.q)
            if path is not None:
                return SearchResult(without_repeats(path))
        rows = [goal.q for goal in goals.found]
        hints = usable_hints(context, hints, local_planner)
        if hints:
            path = direct_path(start, hints, rows[:MAX_DIRECT_MOTIONS], local_planner)
            if path is None:
                path = searched_path(start, hints, rows, local_planner, self._search_hint, options.state_limit)
            if path is not None:
                return SearchResult(path)
        result = self.search(start, rows, options.search_step, options.seed, goals)
        if result.path is None:
            raise _not_connected(context, result, options)
        return result

    def detour(self, context: PlanningContext, start: Array, end: Array, step: float, seed: int) -> Array | None:
        """Return a path between two configurations in a context with a larger margin."""
        return replace(self, context=context).search(start, [end], step, seed).path

    def _search_hint(self, start: Array, goals: Sequence[Array], states: int) -> Array | None:
        budget = Budget(min(states, self.context.checks.states_left))
        return self._search(start, goals, self.options.search_step, self.options.seed, budget).path

    def search(
        self, start: Array, goals: Sequence[Array], step: float, seed: int, growing: GoalSet | None = None
    ) -> SearchResult:
        """Search with all remaining states; for a growing set of goals, optimize the path as requested."""
        improves = growing is not None and _optimizes(self.options, self.planner.info)
        improvement = _improvement(self.options, self.context) if improves else 0
        budget = Budget(self.context.checks.states_left, improvement)
        return self._search(start, goals, step, seed, budget, growing)

    def _search(
        self,
        start: Array,
        goals: Sequence[Array],
        step: float,
        seed: int,
        budget: Budget,
        growing: GoalSet | None = None,
    ) -> SearchResult:
        """Search from a configuration to any of others, whose values are the exact ends of the path."""
        if budget.exhausted:
            return SearchResult(None)
        problem = SearchProblem(
            subspace=self.context.subspace,
            checks=self.context.checks,
            local_planner=self.context.local_planner(step),
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


def _optimizes(options: PlanningOptions, planner: PlannerInfo) -> bool:
    """Whether the planner itself optimizes the objective."""
    return planner.improves and options.objective is Objective.JOINT_LENGTH


def _improvement(options: PlanningOptions, context: PlanningContext) -> int:
    if options.improvement_states == UNTIL_LIMIT:
        return context.checks.states_left
    return options.improvement_states


def _optimized(context: PlanningContext, found: SearchResult, options: PlanningOptions, planner: PlannerInfo) -> Array:
    """Return the path simplified, tightened and optimized as requested."""
    assert found.path is not None
    local_planner, monitor, path = context.local_planner(options.search_step), context.monitor, found.path
    cost = context.cost(options.objective)
    monitor.best_cost = cost.of(path)
    if (options.simplify or options.tighten) and len(path) > 2:
        with monitor.stage("simplify"):
            # If spheres prove the path free, they also prove shorter paths, in a hundredth of the time.
            proven = context.checks.certified(path)
            if proven and options.simplify and options.tighten and isinstance(local_planner, StraightLocalPlanner):
                if not found.shortened:
                    path = certified_shortened(path, context.checks, context.subspace, options.seed)
                path = certified_tightened(path, context.checks, context.subspace)
            else:
                with context.checks.with_spheres_only(context.checks.state_limit if proven else 0):
                    path = _simplified(path, local_planner, options, found.shortened)
            monitor.best_cost = cost.of(path)
    if options.improvement_states and not _optimizes(options, planner):
        with monitor.stage("improve"):
            path = optimize(path, local_planner, cost, _improvement(options, context), options.seed)
    return path


def _simplified(path: Array, local_planner: LocalPlanner, options: PlanningOptions, shortened: bool) -> Array:
    """Return the path simplified and tightened as requested. shortened: corners were cut before."""
    straight = isinstance(local_planner, StraightLocalPlanner)
    if options.simplify and not shortened:
        path = simplify(path, local_planner)
    if options.tighten and not shortened:
        path = shortcut(path, local_planner, options.seed)
    if options.simplify and straight:
        path = drop_waypoints(path, local_planner)
    if options.tighten and straight:
        path = tighten(path, local_planner, MAX_SWEEPS)
    return path


def _not_connected(context: PlanningContext, result: SearchResult, options: PlanningOptions) -> NotConnectedError:
    checks = context.checks
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
        times=context.monitor.times,
    )
    names = (blocking[0].first, blocking[0].second) if blocking else ()
    return NotConnectedError(text, stage="search", subjects=names, values=tuple(values), partial=failure)


def _check_constraints(context: PlanningContext, path: Array) -> Array:
    """Check the path against the frame constraints every 0.001 rad or m, and return it."""
    if not context.frames:
        return path
    worst = float(context.frames.excess(densify(path, CONSTRAINT_STEP)[0]).max())
    if worst > 1.0:
        values = (Value("deviation in tolerances", worst, 1.0),)
        text = "the path leaves the constraints on frames between its waypoints"
        raise ConstraintMismatchError(text, stage="verify", values=values)
    return path
