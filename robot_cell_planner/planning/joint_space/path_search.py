"""Search of a path for one request: direct motions, waypoint hints, then the planner; simplification of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...collision.report import CollisionPair
from ...errors import InternalError, NotConnectedError, Value
from ...errors.remedies import BARRIER, OUTSIDE_BOUNDS
from ...model.units import ANY_JOINT
from ...trajectory.limits import Array
from ..path.simplification import drop_waypoints, shortcut, simplify, tighten, without_repeats
from ..problem.blocked_motions import BlockedMotion
from ..problem.context import PlanningContext
from ..problem.local_planner import LocalPlanner, StraightLocalPlanner
from ..problem.objective import Objective
from ..problem.plan import PlanFailure
from ..problem.planner_info import PlannerInfo, Settings
from ..problem.request import UNTIL_LIMIT, PlanningOptions
from ..problem.subspace import Subspace
from ..search.certified_rrt_connect import certified_shortened, certified_tightened
from ..search.planner import Budget, Planner, SearchProblem, SearchResult
from .barriers import BOXES, BOXES_AT_END, Barrier, barrier_at, barrier_between
from .goals import GoalSet
from .optimization import optimize
from .waypoint_hints import direct_path, searched_path, usable_hints

# States of a search before barriers are looked for at the collision of the last direct motion.
STATES_BEFORE_BARRIERS = 1_000
# States of a search before barriers are looked for along the straight motions to all goals.
STATES_BEFORE_ALL_BARRIERS = 100_000
# Max number of nearest goals for direct motions before a search.
MAX_DIRECT_MOTIONS = 8
# Max difference between an end of a planner's path and the start or goal that it was given [rad or m].
SAME_END = 1e-6
# Max number of tightening sweeps; few are needed after shortcuts.
MAX_SWEEPS = 2


@dataclass(frozen=True, eq=False)
class PathSearch:
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
        barrier_at_collision = partial(self._refuse_barrier_at, context.checks.blocked.last, goals)
        with (
            context.checks.calling_after(STATES_BEFORE_BARRIERS, barrier_at_collision),
            context.checks.calling_after(STATES_BEFORE_ALL_BARRIERS, partial(self._refuse_barriers, goals, BOXES)),
        ):
            result = self.search(start, rows, options.search_step, options.seed, goals)
        if result.path is None:
            self._refuse_barriers(goals, BOXES_AT_END, result)
            raise _not_connected(context, result, options)
        return result

    def _refuse_barrier_at(self, motion: BlockedMotion | None, goals: GoalSet) -> None:
        """Refuse the request if a barrier to its only goal is found at the collision of a motion.

        Raises:
            NotConnectedError: There is no path; the error names the barrier.
        """
        if motion is None or len(goals.found) > 1 or not self._barriers_decide(goals):
            return
        context = self.context
        start, goal = context.space.start, goals.found[0].q
        found = barrier_at(context.checks.checker, start, goal, motion.configuration)
        if found is not None:
            raise _behind_barrier(context, found, SearchResult(None))

    def _refuse_barriers(self, goals: GoalSet, boxes: int, result: SearchResult | None = None) -> None:
        """Refuse the request if barriers are found between the start and each goal.

        Args:
            boxes: As of `barrier_between`.
            result: Of the search, if it has ended.

        Raises:
            NotConnectedError: There is no path; the error names the barrier of the last goal.
        """
        if not self._barriers_decide(goals):
            return
        context, found = self.context, None
        for goal in goals.found:
            found = barrier_between(context.checks.checker, context.space.start, goal.q, boxes)
            if found is None:
                return
        if found is not None:
            raise _behind_barrier(context, found, result or SearchResult(None))

    def _barriers_decide(self, goals: GoalSet) -> bool:
        """Return whether no path exists if there are barriers to all goals found, which are few: none is missing, and
        the start is not corrected."""
        is_few = len(goals.found) <= MAX_DIRECT_MOTIONS
        return is_few and goals.is_exhaustive and self.context.start_correction is None

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
        """Search from a configuration to any of others, whose values are the exact ends of the path.

        Planners search in the subspace and within its bounds, between the configurations nearest to start and goals.
        """
        if budget.exhausted:
            return SearchResult(None)
        subspace = self.context.subspace
        searched_start, searched_goals = subspace.nearest(start), _on_subspace(subspace, goals)
        if searched_start is None or not searched_goals:
            what = "the start" if searched_start is None else "every goal configuration"
            return SearchResult(None, invalid_ends=f"{what} of the search is outside of its bounds")
        problem = SearchProblem(
            subspace=subspace,
            checks=self.context.checks,
            local_planner=self.context.local_planner(step),
            start=searched_start,
            goals=searched_goals,
            step=step,
            seed=seed,
            parameters=self.parameters,
            shorten=self.options.simplify and self.options.tighten,
            more_goals=_more_goals(subspace, growing) if growing is not None and growing.may_grow else None,
        )
        result = self.planner.solve(problem, budget)
        if result.path is None:
            return result
        found = list(goals) if growing is None else [goal.q for goal in growing.found]
        planner = result.planner or self.planner.info.name
        path = _with_exact_ends(result.path, subspace, start, found, planner)
        return replace(result, path=without_repeats(path), planner=planner)


def _on_subspace(subspace: Subspace, configurations: Sequence[Array]) -> list[Array]:
    """Return the configurations (dof,) of a subspace nearest to others, without those beyond its bounds."""
    return [q for q in map(subspace.nearest, configurations) if q is not None]


def _more_goals(subspace: Subspace, goals: GoalSet) -> Callable[[], list[Array]]:
    """Return a function that returns further goals on a subspace until there are no more."""

    def more() -> list[Array]:
        while True:
            given = goals.more()
            found = _on_subspace(subspace, given)
            if found or not given:
                return found

    return more


def _with_exact_ends(path: Array, subspace: Subspace, start: Array, goals: Sequence[Array], planner: str) -> Array:
    """Return a path (n, dof) of a planner with the exact values of the start and of the goal (dof,) that it reaches.

    Raises:
        InternalError: The path does not begin at the start, or does not end at a goal.
    """
    ends = [(goal, searched) for goal in goals if (searched := subspace.nearest(goal)) is not None]
    searched_start = subspace.nearest(start)
    assert searched_start is not None
    goal, searched_goal = min(ends, key=lambda end: float(np.abs(end[1] - path[-1]).max()))
    for what, expected, found in (
        ("begin at the start", searched_start, path[0]),
        ("end at a goal", searched_goal, path[-1]),
    ):
        distance = float(np.abs(expected - found).max())
        if distance > SAME_END:
            values = (Value("distance", distance, SAME_END, ANY_JOINT),)
            text = f"the path of planner {planner} does not {what}"
            raise InternalError(text, stage="search", subjects=(planner,), values=values)
    inner = path[1:-1]
    # Goals that satisfy combinations of joints within a large tolerance are reached by a motion of their own.
    if float(np.abs(goal - searched_goal).max()) > SAME_END:
        inner = path[1:]
    if float(np.abs(start - searched_start).max()) > SAME_END:
        inner = np.vstack((path[:1], inner))
    return np.vstack((start, inner, goal))


def _optimizes(options: PlanningOptions, planner: PlannerInfo) -> bool:
    """Whether the planner itself optimizes the objective."""
    return planner.improves and options.objective is Objective.JOINT_LENGTH


def _improvement(options: PlanningOptions, context: PlanningContext) -> int:
    if options.improvement_states == UNTIL_LIMIT:
        return context.checks.states_left
    return options.improvement_states


def optimized(context: PlanningContext, found: SearchResult, options: PlanningOptions, planner: PlannerInfo) -> Array:
    """Return the path simplified, tightened and optimized as requested."""
    assert found.path is not None
    local_planner, monitor, path = context.local_planner(options.search_step), context.monitor, found.path
    cost = context.cost(options.objective)
    monitor.best_cost = cost.of(path)
    if (options.simplify or options.tighten) and len(path) > 2:
        with monitor.stage("simplify"):
            if not found.tightened:
                path = _shorter(context, found, path, local_planner, options)
            monitor.best_cost = cost.of(path)
    if options.improvement_states and not _optimizes(options, planner):
        with monitor.stage("optimize"):
            path = optimize(path, local_planner, cost, _improvement(options, context), options.seed)
    return path


def _shorter(
    context: PlanningContext, found: SearchResult, path: Array, local_planner: LocalPlanner, options: PlanningOptions
) -> Array:
    """Return a path that was found, simplified and tightened as requested."""
    # If spheres prove the path free, they also prove shorter paths, in a hundredth of the time.
    proven = context.checks.certified(path)
    if proven and options.simplify and options.tighten and isinstance(local_planner, StraightLocalPlanner):
        if not found.shortened:
            path = certified_shortened(path, context.checks, context.subspace, options.seed)
        return certified_tightened(path, context.checks, context.subspace)
    with context.checks.with_spheres_only(context.checks.state_limit if proven else 0):
        return _simplified(path, local_planner, options, found.shortened)


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


def _behind_barrier(context: PlanningContext, barrier: Barrier, result: SearchResult) -> NotConnectedError:
    checks, pair = context.checks, barrier.pair
    failure = _failure(context, result, pair, checks.blocked.count)
    values = (Value(barrier.variable, barrier.value),)
    names = (pair.first, pair.second, barrier.variable)
    text = f"no path exists: {barrier}"
    return NotConnectedError(text, stage="search", subjects=names, values=values, partial=failure, remedy=BARRIER)


def _not_connected(context: PlanningContext, result: SearchResult, options: PlanningOptions) -> NotConnectedError:
    checks = context.checks
    blocking = checks.blocked.most_frequent_pair(checks.checker)
    values = [
        Value("states checked", checks.states, options.state_limit),
        Value("start tree", result.start_tree_size),
        Value("goal tree", result.goal_tree_size),
        Value("nearest approach", result.nearest_approach, unit=context.space.unit),
    ]
    text = "start and goal were not connected within the limit on states checked"
    if result.invalid_ends:
        text = f"no path could be searched: {result.invalid_ends}"
    if blocking is not None:
        text += f"; {blocking[0].first} and {blocking[0].second} blocked most motions"
    failure = _failure(context, result, *(blocking or (None, 0)))
    names = (blocking[0].first, blocking[0].second) if blocking else ()
    remedy = OUTSIDE_BOUNDS if result.invalid_ends else ""
    return NotConnectedError(text, stage="search", subjects=names, values=tuple(values), partial=failure, remedy=remedy)


def _failure(
    context: PlanningContext, result: SearchResult, pair: CollisionPair | None, blocked_motions: int
) -> PlanFailure:
    """Return what a search without a path found. pair: objects that blocked most motions, or that no path can pass."""
    return PlanFailure(
        start_tree_size=result.start_tree_size,
        goal_tree_size=result.goal_tree_size,
        nearest_approach=result.nearest_approach,
        blocking_pair=pair,
        blocked_motions=blocked_motions,
        states_checked=context.checks.states,
        motions_checked=context.checks.motions,
        times=context.monitor.times,
    )
