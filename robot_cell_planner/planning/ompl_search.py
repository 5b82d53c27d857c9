"""Search for a path by OMPL, with our collision checks behind it, in a way that repeats.

OMPL's random generators take their seeds from one sequence for the whole process. Setting its seed right before all of
a search is built restarts that sequence, so equal requests get equal paths whatever ran before; a lock keeps searches
of other threads out meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ompl import base as ob
from ompl import geometric as og
from ompl import util as ou

from ..trajectory.limits import Array
from .checks import CountedChecks
from .planners import PlannerInfo

_LOCK = threading.Lock()
# OMPL takes seeds of 32 bits but zero.
_SEEDS = 2**32 - 1

ou.setLogLevel(ou.LOG_NONE)


@dataclass(frozen=True)
class SearchResult:
    """What a search came to: the path (n, dof), or None; and the trees that it grew.

    nearest_approach: smallest distance of two configurations, one from either tree; NaN if there is only one.
    """

    path: Array | None
    start_tree_size: int = 0
    goal_tree_size: int = 0
    nearest_approach: float = float("nan")


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """What to search: bounds (dof,), the start (dof,), goals in the order in which they are to be tried, and the widest
    step between the states of a motion that are checked."""

    lower: Array
    upper: Array
    start: Array
    goals: Sequence[Array]
    step: float


class _States(ob.StateValidityChecker):  # type: ignore[misc]
    def __init__(self, information: Any, size: int, checks: CountedChecks) -> None:
        super().__init__(information)
        self.size = size
        self.checks: CountedChecks | None = checks

    def isValid(self, state: Any) -> bool:
        if self.checks is None or self.checks.exhausted:
            return False
        return self.checks.state_free(_values(state, self.size))


class _Motions(ob.MotionValidator):  # type: ignore[misc]
    def __init__(self, information: Any, problem: SearchProblem, checks: CountedChecks) -> None:
        super().__init__(information)
        self.size = len(problem.start)
        self.step = problem.step
        self.checks: CountedChecks | None = checks

    def checkMotion(self, first: Any, second: Any) -> bool:
        if self.checks is None or self.checks.exhausted:
            return False
        return self.checks.motion_free(_values(first, self.size), _values(second, self.size), self.step)


def search(
    problem: SearchProblem, checks: CountedChecks, planner: PlannerInfo, parameters: Mapping[str, float], seed: int
) -> SearchResult:
    """Look for a path until one is found or the limit on states checked is reached. Start and goals must be free.

    parameters: by the setter of OMPL's planner.

    Raises:
        CancelledError, TimedOutError: see `Watch`.
    """
    with _LOCK:
        ou.RNG.setSeed(1 + seed % (_SEEDS - 1))
        space = _space(problem)
        information = ob.SpaceInformation(space)
        states = _States(information, len(problem.start), checks)
        motions = _Motions(information, problem, checks)
        information.setStateValidityChecker(states)
        information.setMotionValidator(motions)
        information.setup()
        try:
            return _solve(problem, information, checks, planner, parameters)
        finally:
            # OMPL's objects and ours hold one another, which nobody collects; ours let go of what is large.
            states.checks = motions.checks = None


def _solve(
    problem: SearchProblem,
    information: Any,
    checks: CountedChecks,
    planner: PlannerInfo,
    parameters: Mapping[str, float],
) -> SearchResult:
    definition = ob.ProblemDefinition(information)
    definition.addStartState(_state(information, problem.start))
    goals = ob.GoalStates(information)
    for goal in problem.goals:
        goals.addState(_state(information, goal))
    definition.setGoal(goals)
    solver = getattr(og, planner.name)(information)
    for setter, value in parameters.items():
        getattr(solver, setter)(value)
    solver.setProblemDefinition(definition)
    solver.setup()
    solver.solve(ob.PlannerTerminationCondition(lambda: checks.exhausted))
    size = len(problem.start)
    if definition.hasExactSolution():
        path = np.array([_values(state, size) for state in definition.getSolutionPath().getStates()])
        solver.clear()
        return SearchResult(path)
    result = _failed(solver, information, size)
    solver.clear()
    return result


def _failed(solver: Any, information: Any, size: int) -> SearchResult:
    """Sizes and distance of the trees: what hangs together with a start vertex, and the rest."""
    data = ob.PlannerData(information)
    solver.getPlannerData(data)
    count = data.numVertices()
    vertices = np.array([_values(data.getVertex(i).getState(), size) for i in range(count)]).reshape(count, size)
    from_start = _reached(data, (data.getStartIndex(i) for i in range(data.numStartVertices())))
    rest = [index for index in range(count) if index not in from_start]
    nearest = float("nan")
    if from_start and rest:
        others = vertices[rest]
        nearest = min(float(np.linalg.norm(others - vertices[index], axis=1).min()) for index in sorted(from_start))
    return SearchResult(None, len(from_start), len(rest), nearest)


def _reached(data: Any, roots: Iterable[int]) -> set[int]:
    pending = list(roots)
    reached = set(pending)
    while pending:
        index = pending.pop()
        for neighbour in (*data.getEdges(index), *data.getIncomingEdges(index)):
            if neighbour not in reached:
                reached.add(neighbour)
                pending.append(neighbour)
    return reached


def _space(problem: SearchProblem) -> Any:
    size = len(problem.start)
    space = ob.RealVectorStateSpace(size)
    bounds = ob.RealVectorBounds(size)
    for index in range(size):
        bounds.setLow(index, float(problem.lower[index]))
        bounds.setHigh(index, float(problem.upper[index]))
    space.setBounds(bounds)
    return space


def _state(information: Any, values: Array) -> Any:
    state = information.getStateSpace().allocState()
    for index, value in enumerate(values.tolist()):
        state[index] = value
    return state


def _values(state: Any, size: int) -> Array:
    return np.array([state[index] for index in range(size)])
