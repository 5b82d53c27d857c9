"""Repeatable search with OMPL and the collision checks of this package.

The random generators of OMPL take their seeds from one sequence per process. Setting its seed immediately before a
search restarts that sequence, so that equal requests get equal paths; a lock excludes searches of other threads.
Searches end by a termination condition of OMPL that the checks trigger at a counted state, because some planners do not
terminate with a condition that calls Python.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from ompl import base as ob
from ompl import geometric as og
from ompl import util as ou

from ...errors import InvalidRequestError
from ...trajectory.limits import Array
from ..problem.collision_checks import CountedChecks
from ..problem.planner_info import PlannerInfo
from .ompl_ends import SearchEnds
from .ompl_space import SearchSpace
from .planner import STATES_PER_ROUND, Budget, SearchProblem, SearchResult
from .roadmap import component_of, shortest_path, smallest_distance
from .sampling_regions import sampling_regions

_LOCK = threading.Lock()
# OMPL accepts non-zero 32 bit seeds.
_SEEDS = 2**32 - 1
# States by which a roadmap grows before it is searched.
ROADMAP_STATES = 1_000

# Max difference of a vertex of a roadmap from the start or goal that it is [rad or m].
SAME_STATE = 1e-9

# Max number of states of a search with motions decided by spheres alone.
MAX_SPHERE_STATES = 30_000

ou.setLogLevel(ou.LOG_NONE)


class SearchMode(str, Enum):
    """Way in which an OMPL planner is called, so that it terminates and its results are repeatable.

    TREE: It ends at its first path, and continues with the same trees when it is called again. ANYTIME: It optimizes
    until it is terminated. BATCH: It ends after its samples. ROADMAP: A graph that grows by counted states and is
    searched here.
    """

    TREE = "tree"
    ANYTIME = "anytime"
    BATCH = "batch"
    ROADMAP = "roadmap"


class _Termination:
    """Termination of a search at a number of states, or at a number of states after its first path."""

    def __init__(self, checks: CountedChecks, budget: Budget) -> None:
        self._checks: CountedChecks | None = checks
        self._improvement = budget.improvement
        self._limit = checks.states + budget.states
        self._end_states = self._limit
        self._solution = False
        self.best_cost: Callable[[], float] | None = None
        self.condition = ob.plannerNonTerminatingCondition()

    def after(self, states: int | None = None) -> Any:
        """Return a condition that ends the search after this number of further states; None: with the budget."""
        assert self._checks is not None
        self._end_states = self._limit if states is None else min(self._limit, self._checks.states + states)
        self.condition = ob.plannerNonTerminatingCondition()
        return self.condition

    @property
    def checks(self) -> CountedChecks | None:
        """The checks; None if the search has to end and no further state counts as free."""
        checks = self._checks
        if checks is None:
            return None
        if self.best_cost is not None:
            self._check_improvement(checks, self.best_cost())
        if checks.states >= self._end_states:
            self.condition.terminate()
            return None
        return checks

    def _check_improvement(self, checks: CountedChecks, cost: float) -> None:
        if not math.isfinite(cost):
            return
        checks.monitor.best_cost = cost
        if not self._solution:
            self._solution = True
            self._limit = self._end_states = min(self._limit, checks.states + self._improvement)

    def release(self) -> None:
        """Release large objects, because OMPL keeps its objects alive for an unknown time."""
        self._checks = None
        self.best_cost = None


class _States(ob.StateValidityChecker):  # type: ignore[misc]
    def __init__(self, space: SearchSpace, termination: _Termination) -> None:
        super().__init__(space.information)
        self.coordinates = space.coordinates
        self.termination = termination

    def isValid(self, state: Any) -> bool:
        checks = self.termination.checks
        if checks is None:
            return False
        spheres_only = checks.spheres_only  # they also check the ends of motions
        if spheres_only and self.coordinates.subspace.whole:
            return True
        q = self.coordinates.configuration(state)
        return self.coordinates.within_limits(q) and (spheres_only or checks.state_free(q))


class _Motions(ob.MotionValidator):  # type: ignore[misc]
    def __init__(self, space: SearchSpace, step: float, termination: _Termination) -> None:
        super().__init__(space.information)
        # Not the space: OMPL keeps a reference to this object, and cycles through OMPL are not collected.
        self.coordinates = space.coordinates
        self.step = step
        self.termination = termination

    def checkMotion(self, first: Any, second: Any) -> bool:
        checks = self.termination.checks
        if checks is None:
            return False
        start, goal = self.coordinates.configuration(first), self.coordinates.configuration(second)
        return self.coordinates.within_limits(goal) and checks.motion_free(start, goal, self.step)


@dataclass(frozen=True)
class OmplPlanner:
    """Planner of OMPL. `info.name` is its OMPL class, the setters of its parameters are methods of that class."""

    info: PlannerInfo
    mode: SearchMode = SearchMode.TREE

    def solve(self, problem: SearchProblem, budget: Budget) -> SearchResult:
        """See `Planner`.

        Raises:
            CancelledError, TimedOutError: See `ProgressMonitor`.
            InvalidRequestError: OMPL rejects the parameters.
        """
        checks = problem.checks
        with _LOCK:
            ou.RNG.setSeed(1 + problem.seed % (_SEEDS - 1))
            before = checks.states
            termination = _Termination(checks, budget)
            space = SearchSpace(problem.subspace)
            states, motions = _States(space, termination), _Motions(space, problem.step, termination)
            space.information.setStateValidityChecker(states)
            space.information.setMotionValidator(motions)
            space.information.setup()
            try:
                ends = SearchEnds(problem, space)
                if ends.failure:
                    return SearchResult(None, checks.states - before, invalid_ends=ends.failure)
                with checks.with_spheres_only(self._sphere_states(checks, ends, before + budget.states)):
                    result = _Search(problem, ends, budget, before + budget.states, self, space, termination).run()
            finally:
                termination.release()
        return replace(result, states=checks.states - before)

    def _sphere_states(self, checks: CountedChecks, ends: SearchEnds, limit: int) -> int:
        """Return the number of states for which spheres alone decide motions, which is fast.

        Exact checks follow where spheres are undecided. Only the trees of most planners continue to grow then; others
        would never retry motions that were blocked.
        """
        endpoints = (ends.start, *ends.goals[:1])
        if self.mode is not SearchMode.TREE or not all(checks.certified(np.stack((q, q))) for q in endpoints):
            return 0
        return min(MAX_SPHERE_STATES, (limit - checks.states) // 4)


class _Search:
    """One search, from the first to the last call of the OMPL planner.

    Args:
        limit: Number of counted states at which the budget is used.
    """

    def __init__(
        self,
        problem: SearchProblem,
        ends: SearchEnds,
        budget: Budget,
        limit: int,
        planner: OmplPlanner,
        space: SearchSpace,
        termination: _Termination,
    ) -> None:
        self.problem = problem
        self.ends = ends
        self.checks = problem.checks
        self.improvement = budget.improvement
        self.limit = limit
        self.planner = planner
        self.info = planner.info
        self.space = space
        self.termination = termination
        self.definition = ob.ProblemDefinition(space.information)
        self.definition.addStartState(space.state(ends.start))
        self.objective = ob.PathLengthOptimizationObjective(space.information)
        self.definition.setOptimizationObjective(self.objective)

    def run(self) -> SearchResult:
        if self.planner.mode is SearchMode.ROADMAP:
            return self._grow_roadmap()
        goals = ob.GoalStates(self.space.information)
        for goal in self.ends.goals:
            goals.addState(self.space.state(goal))
        self.definition.setGoal(goals)
        return self._solve_in_batches(goals) if self.planner.mode is SearchMode.BATCH else self._solve_in_rounds(goals)

    def _solver(self, **changed: Any) -> Any:
        solver = getattr(og, self.info.name)(self.space.information)
        try:
            for setter, value in {**self.problem.parameters, **changed}.items():
                getattr(solver, setter)(value)
            solver.setProblemDefinition(self.definition)
            solver.setup()
        except RuntimeError as error:
            names = tuple(parameter.name for parameter in self.info.parameters)
            text = f"planner {self.info.name} refuses its parameters: {error}"
            raise InvalidRequestError(text, stage="search", subjects=names) from error
        return solver

    def _solve_in_rounds(self, goals: Any) -> SearchResult:
        """Call the planner repeatedly; it continues with its trees. Between calls it gets further goals, and samples
        from another region unless it requires uniform samples.
        """
        solver = self._solver()
        use_regions, number = self.planner.mode is SearchMode.TREE, 0
        if self.planner.mode is SearchMode.ANYTIME:
            self.termination.best_cost = lambda: _cost_value(solver.bestCost())
        while self.checks.states < self.limit:
            before = self.checks.states
            if use_regions:
                regions = sampling_regions(self.problem.subspace, np.array([self.ends.start, *self.ends.goals]))
                self.space.bound(*regions[number % len(regions)])
                number += 1
            solver.solve(self.termination.after(STATES_PER_ROUND if use_regions or self.ends.may_grow else None))
            if self.definition.hasExactSolution():
                return self._solution(solver)
            added = self.ends.more()
            for goal in added:
                goals.addState(self.space.state(goal))
            if self.checks.states == before and not added:
                break
        return self._failure_result(solver)

    def _solve_in_batches(self, goals: Any) -> SearchResult:
        """Call the planner repeatedly, with twice the samples each time that it ends without a path."""
        samples = self.problem.parameters["setNumSamples"]
        while True:
            solver = self._solver(setNumSamples=samples)
            solver.solve(self.termination.after())
            if self.definition.hasExactSolution():
                return self._solution(solver)
            if self.checks.states >= self.limit:
                return self._failure_result(solver)
            for goal in self.ends.more():
                goals.addState(self.space.state(goal))
            samples *= 2
            solver.clear()

    def _grow_roadmap(self) -> SearchResult:
        """Grow a roadmap from start and goals, and search its shortest path, until there is one and it was optimized as
        requested.

        All goals but the first are start states for OMPL, because it connects those immediately in this thread.
        """
        for goal in self.ends.goals[1:]:
            self.definition.addStartState(self.space.state(goal))
        self.definition.setGoalState(self.space.state(self.ends.goals[0]))
        solver = self._solver()
        self.termination.after()
        solver.solve(ob.plannerAlwaysTerminatingCondition())
        best: Array | None = None
        last = self.limit
        while True:
            path = self._shortest_path(solver)
            if path is not None:
                if best is None:
                    last = min(last, self.checks.states + self.improvement)
                best = path
            if self.checks.states >= last:
                break
            before = self.checks.states
            solver.growRoadmapPtc(self.termination.after(min(ROADMAP_STATES, last - before)))
            if self.checks.states == before:
                break
        if best is None:
            return self._failure_result(solver)
        solver.clear()
        return SearchResult(best)

    def _shortest_path(self, solver: Any) -> Array | None:
        vertices, edges, _ = self._graph(solver)
        start = _equal_vertices(vertices, [self.ends.start])
        goals = _equal_vertices(vertices, self.ends.goals)
        path = shortest_path(vertices, edges, start[0], goals) if start and goals else None
        return None if path is None else vertices[path]

    def _solution(self, solver: Any) -> SearchResult:
        path = self.space.path(self.definition.getSolutionPath())
        solver.clear()
        return SearchResult(path)

    def _failure_result(self, solver: Any) -> SearchResult:
        """Return sizes and distance of the trees: the component of the start, and all other vertices."""
        vertices, edges, start = self._graph(solver)
        solver.clear()
        reached = component_of(vertices, edges, start)
        mine, others = vertices[reached], vertices[~reached]
        nearest = float("nan")
        if len(mine) and len(others):
            nearest = smallest_distance(mine, others)
        return SearchResult(None, start_tree_size=len(mine), goal_tree_size=len(others), nearest_approach=nearest)

    def _graph(self, solver: Any) -> tuple[Array, list[tuple[int, int]], int]:
        """Return the configurations (n, dof) of the planner's graph, its edges, and the index of the start."""
        data = ob.PlannerData(self.space.information)
        solver.getPlannerData(data)
        count = data.numVertices()
        rows = [self.space.coordinates.configuration(data.getVertex(index).getState()) for index in range(count)]
        vertices = np.array(rows).reshape(count, len(self.ends.start))
        edges = [(index, int(other)) for index in range(count) for other in data.getEdges(index)]
        start = int(np.abs(vertices - self.ends.start).max(axis=1).argmin()) if count else 0
        return vertices, edges, start


def _equal_vertices(vertices: Array, configurations: Sequence[Array]) -> list[int]:
    """Return the indices of vertices (n, dof) that are equal to one of some configurations (dof,)."""
    away = [np.abs(vertices - q).max(axis=1) for q in configurations] if len(vertices) else []
    return [int(distances.argmin()) for distances in away if float(distances.min()) <= SAME_STATE]


def _cost_value(cost: Any) -> float:
    return float(cost.value() if hasattr(cost, "value") else cost)
