"""Search for a path by OMPL, with the collision checks of this package, in a way that repeats.

OMPL's random generators take their seeds from one sequence for the whole process. Setting its seed right before all of
a search is built restarts that sequence, so equal requests get equal paths whatever ran before; a lock keeps searches
of other threads out meanwhile. Searches end by a condition of OMPL's own that our checks set off at a counted state:
with a condition that calls Python some planners never end.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from ompl import base as ob
from ompl import geometric as og
from ompl import util as ou
from scipy.spatial import cKDTree

from ...errors import InvalidRequestError
from ...trajectory.limits import Array
from ..problem.collision_checks import CountedChecks
from ..problem.planner_info import PlannerInfo
from .ompl_space import SearchSpace
from .planner import ROUND, Budget, SearchProblem, SearchResult
from .roadmap import components, shortest_way
from .sampling_regions import rooms

_LOCK = threading.Lock()
# OMPL takes seeds of 32 bits but zero.
_SEEDS = 2**32 - 1
# States that a roadmap is grown by before it is searched.
GROWTH = 1_000

# States for which a search lets balls alone decide at most.
BALL_STATES = 30_000

ou.setLogLevel(ou.LOG_NONE)


class Drive(str, Enum):
    """How a planner of OMPL is driven so that it ends where it shall and repeats.

    TREE: it ends at its first path, and goes on with the same trees if it is called again. ANYTIME: it goes on
    improving until it is told to end. BATCH: it ends by itself with the samples that it was given. ROADMAP: a graph
    that is grown by counted states and searched by us.
    """

    TREE = "tree"
    ANYTIME = "anytime"
    BATCH = "batch"
    ROADMAP = "roadmap"


class _End:
    """When a search ends: at a number of states, or so many after its first path."""

    def __init__(self, checks: CountedChecks, budget: Budget) -> None:
        self._checks: CountedChecks | None = checks
        self._improvement = budget.improvement
        self._limit = checks.states + budget.states
        self._at = self._limit
        self._found = False
        self.best_cost: Callable[[], float] | None = None
        self.condition = ob.plannerNonTerminatingCondition()

    def after(self, states: int | None = None) -> Any:
        """A condition that ends the search after so many states from now on; None: where the budget is used."""
        assert self._checks is not None
        self._at = self._limit if states is None else min(self._limit, self._checks.states + states)
        self.condition = ob.plannerNonTerminatingCondition()
        return self.condition

    @property
    def checks(self) -> CountedChecks | None:
        """The checks, or None: the search is to end, and nothing counts as free any more."""
        checks = self._checks
        if checks is None:
            return None
        if self.best_cost is not None:
            self._look(checks, self.best_cost())
        if checks.states >= self._at:
            self.condition.terminate()
            return None
        return checks

    def _look(self, checks: CountedChecks, cost: float) -> None:
        if not math.isfinite(cost):
            return
        checks.watch.best_cost = cost
        if not self._found:
            self._found = True
            self._limit = self._at = min(self._limit, checks.states + self._improvement)

    def release(self) -> None:
        """Let go of what is large: OMPL's objects go when they like."""
        self._checks = None
        self.best_cost = None


class _States(ob.StateValidityChecker):  # type: ignore[misc]
    def __init__(self, space: SearchSpace, end: _End) -> None:
        super().__init__(space.information)
        self.coordinates = space.coordinates
        self.end = end

    def isValid(self, state: Any) -> bool:
        checks = self.end.checks
        if checks is None:
            return False
        by_balls = checks.by_balls  # which look at the ends of motions, too
        if by_balls and self.coordinates.subspace.whole:
            return True
        q = self.coordinates.configuration(state)
        return self.coordinates.within_limits(q) and (by_balls or checks.state_free(q))


class _Motions(ob.MotionValidator):  # type: ignore[misc]
    def __init__(self, space: SearchSpace, step: float, end: _End) -> None:
        super().__init__(space.information)
        # Not the space: OMPL holds this for it, and no collection of garbage looks into OMPL.
        self.coordinates = space.coordinates
        self.step = step
        self.end = end

    def checkMotion(self, first: Any, second: Any) -> bool:
        checks = self.end.checks
        if checks is None:
            return False
        start, goal = self.coordinates.configuration(first), self.coordinates.configuration(second)
        return self.coordinates.within_limits(goal) and checks.motion_free(start, goal, self.step)


@dataclass(frozen=True)
class OmplPlanner:
    """A planner of OMPL; `info.name` is the name of its class there, the setters of parameters are its methods."""

    info: PlannerInfo
    drive: Drive = Drive.TREE

    def solve(self, problem: SearchProblem, budget: Budget) -> SearchResult:
        """See `Planner`.

        Raises:
            CancelledError, TimedOutError: see `ProgressMonitor`.
            InvalidRequestError: OMPL refuses the parameters.
        """
        checks = problem.checks
        with _LOCK:
            ou.RNG.setSeed(1 + problem.seed % (_SEEDS - 1))
            before = checks.states
            end = _End(checks, budget)
            space = SearchSpace(problem.subspace)
            states, motions = _States(space, end), _Motions(space, problem.step, end)
            space.information.setStateValidityChecker(states)
            space.information.setMotionValidator(motions)
            space.information.setup()
            try:
                with checks.balls_alone(self._states_of_balls(problem, before + budget.states)):
                    result = _Search(problem, budget, before + budget.states, self, space, end).run()
            finally:
                end.release()
        return replace(result, states=checks.states - before)

    def _states_of_balls(self, problem: SearchProblem, limit: int) -> int:
        """States for which balls alone are to decide about motions, which is fast, before exact checks do where balls
        cannot tell. The trees of most planners go on growing then; what others once found blocked would stay so."""
        checks, ends = problem.checks, (problem.start, *problem.goals[:1])
        if self.drive is not Drive.TREE or not all(checks.proven(np.stack((q, q))) for q in ends):
            return 0
        return min(BALL_STATES, (limit - checks.states) // 4)


class _Search:
    """One search, from the first to the last call of OMPL's planner."""

    def __init__(
        self,
        problem: SearchProblem,
        budget: Budget,
        limit: int,
        planner: OmplPlanner,
        space: SearchSpace,
        end: _End,
    ) -> None:
        """limit: the states that the checks have counted when the budget is used."""
        self.problem = problem
        self.checks = problem.checks
        self.improvement = budget.improvement
        self.limit = limit
        self.planner = planner
        self.info = planner.info
        self.space = space
        self.end = end
        self.definition = ob.ProblemDefinition(space.information)
        self.definition.addStartState(space.state(problem.start))
        self.objective = ob.PathLengthOptimizationObjective(space.information)
        self.definition.setOptimizationObjective(self.objective)

    def run(self) -> SearchResult:
        if self.planner.drive is Drive.ROADMAP:
            return self._grow_roadmap()
        goals = ob.GoalStates(self.space.information)
        for goal in self.problem.goals:
            goals.addState(self.space.state(goal))
        self.definition.setGoal(goals)
        return self._in_batches(goals) if self.planner.drive is Drive.BATCH else self._in_rounds(goals)

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

    def _in_rounds(self, goals: Any) -> SearchResult:
        """Call the planner again and again, which goes on with its trees; in between it gets further goals, and draws
        its samples from another room, unless it is one that needs them spread evenly."""
        solver = self._solver()
        roomy, number = self.planner.drive is Drive.TREE, 0
        if self.planner.drive is Drive.ANYTIME:
            self.end.best_cost = lambda: _number(solver.bestCost())
        more = self.problem.more_goals
        ends = [self.problem.start, *self.problem.goals]
        while self.checks.states < self.limit:
            before = self.checks.states
            if roomy:
                boxes = rooms(self.problem.subspace, np.array(ends))
                self.space.bound(*boxes[number % len(boxes)])
                number += 1
            solver.solve(self.end.after(ROUND if roomy or more is not None else None))
            if self.definition.hasExactSolution():
                return self._found(solver)
            added = list(more()) if more is not None else []
            ends += added
            for goal in added:
                goals.addState(self.space.state(goal))
            if not added:
                more = None
            if self.checks.states == before and not added:
                break
        return self._missed(solver)

    def _in_batches(self, goals: Any) -> SearchResult:
        """Give the planner twice the samples each time that it ends without a path."""
        samples = self.problem.parameters["setNumSamples"]
        while True:
            solver = self._solver(setNumSamples=samples)
            solver.solve(self.end.after())
            if self.definition.hasExactSolution():
                return self._found(solver)
            if self.checks.states >= self.limit:
                return self._missed(solver)
            for goal in self.problem.more_goals() if self.problem.more_goals is not None else ():
                goals.addState(self.space.state(goal))
            samples *= 2
            solver.clear()

    def _grow_roadmap(self) -> SearchResult:
        """Grow a roadmap from start and goals, and look for the shortest way in it, until there is one and it has been
        improved as asked for.

        All goals but the first are start states for OMPL: those it connects right away, in this thread.
        """
        for goal in self.problem.goals[1:]:
            self.definition.addStartState(self.space.state(goal))
        self.definition.setGoalState(self.space.state(self.problem.goals[0]))
        solver = self._solver()
        self.end.after()
        solver.solve(ob.plannerAlwaysTerminatingCondition())
        best: Array | None = None
        last = self.limit
        while True:
            way = self._way(solver)
            if way is not None:
                if best is None:
                    last = min(last, self.checks.states + self.improvement)
                best = way
            if self.checks.states >= last:
                break
            before = self.checks.states
            solver.growRoadmapPtc(self.end.after(min(GROWTH, last - before)))
            if self.checks.states == before:
                break
        if best is None:
            return self._missed(solver)
        solver.clear()
        return SearchResult(best)

    def _way(self, solver: Any) -> Array | None:
        vertices, edges, start = self._graph(solver)
        goals = [int(np.abs(vertices - goal).max(axis=1).argmin()) for goal in self.problem.goals]
        way = shortest_way(vertices, edges, start, goals)
        return None if way is None else vertices[way]

    def _found(self, solver: Any) -> SearchResult:
        path = self.space.path(self.definition.getSolutionPath())
        solver.clear()
        return SearchResult(path)

    def _missed(self, solver: Any) -> SearchResult:
        """Sizes and distance of the trees: what hangs together with the start, and the rest."""
        vertices, edges, start = self._graph(solver)
        solver.clear()
        reached = components(len(vertices), edges, start)
        mine, others = vertices[reached], vertices[~reached]
        nearest = float("nan")
        if len(mine) and len(others):
            nearest = float(np.min(cKDTree(others).query(mine)[0]))
        return SearchResult(None, start_tree_size=len(mine), goal_tree_size=len(others), nearest_approach=nearest)

    def _graph(self, solver: Any) -> tuple[Array, list[tuple[int, int]], int]:
        """Configurations (n, dof) of what a planner grew, the motions between them, and the index of the start."""
        data = ob.PlannerData(self.space.information)
        solver.getPlannerData(data)
        count = data.numVertices()
        rows = [self.space.coordinates.configuration(data.getVertex(index).getState()) for index in range(count)]
        vertices = np.array(rows).reshape(count, len(self.problem.start))
        edges = [(index, int(other)) for index in range(count) for other in data.getEdges(index)]
        start = int(np.abs(vertices - self.problem.start).max(axis=1).argmin()) if count else 0
        return vertices, edges, start


def _number(cost: Any) -> float:
    return float(cost.value() if hasattr(cost, "value") else cost)
