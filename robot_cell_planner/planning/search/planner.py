"""Planner protocol: a planner solves a search problem within a budget. `registry.py` lists the planners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ...trajectory.limits import Array
from ..problem.collision_checks import CountedChecks
from ..problem.local_planner import LocalPlanner
from ..problem.planner_info import PlannerInfo, Settings
from ..problem.subspace import Subspace

# States between requests for further goals during a search.
STATES_PER_ROUND = 4_000


@dataclass(frozen=True)
class Budget:
    """Max number of states of a search. Time limit and cancellation belong to the progress monitor.

    Attributes:
        states: Total number.
        improvement: Part of it after the first path, for planners that optimize.
    """

    states: int
    improvement: int = 0

    @property
    def exhausted(self) -> bool:
        return self.states <= 0

    def part(self, fraction: float, max_states: int | None = None) -> Budget:
        """Return a fraction of the states, at most `max_states` and at least one."""
        states = max(int(fraction * self.states), 1)
        return replace(self, states=states if max_states is None else min(states, max_states))

    def without(self, states: int) -> Budget:
        """Return the remaining budget after a number of states."""
        return replace(self, states=self.states - states)


@dataclass(frozen=True)
class SearchResult:
    """Result of a search.

    Attributes:
        path: Path (n, dof); None if none was found.
        states: Number of states checked.
        start_tree_size, goal_tree_size: Number of configurations in the trees.
        nearest_approach: Min distance between configurations of the two trees; NaN if there is only one.
        shortened: The path needs no further simplification and shortcuts.
        tightened: Nor does it need to be pulled tight.
        warning: Without a path, why there is none; with a path, why planners that were tried before found none; ""
            for nothing.
        invalid_ends: Why nothing was searched, if the start or all goals are invalid for the planner; "" otherwise.
        planner: Name of the planner that found the path; "" for the one that was called.
    """

    path: Array | None
    states: int = 0
    start_tree_size: int = 0
    goal_tree_size: int = 0
    nearest_approach: float = float("nan")
    shortened: bool = False
    tightened: bool = False
    warning: str = ""
    invalid_ends: str = ""
    planner: str = ""


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """Problem: find a free path from a free start (dof,) to one of the goals (dof,), in their order of preference.

    Attributes:
        subspace: Subspace of all configurations of the path.
        checks: Collision checks, which count states.
        local_planner: Motions between two configurations, checked every `step` [rad or m], on the frame
            constraints, if any.
        seed: Seed of all random numbers.
        parameters: Planner parameters by `PlannerParameter.setter`.
        shorten: Shorten the path and pull it tight, if the planner can.
        more_goals: Called regularly while there is no path; returns further goals.
    """

    subspace: Subspace
    checks: CountedChecks
    local_planner: LocalPlanner
    start: Array
    goals: Sequence[Array]
    step: float
    seed: int
    parameters: Settings
    shorten: bool = False
    more_goals: Callable[[], Sequence[Array]] | None = None


class Planner(Protocol):
    """Planner of the registry. It is stateless: problem and budget determine the path."""

    @property
    def info(self) -> PlannerInfo:
        """Name, description and parameters for requests and `planning/list_planners`."""

    def solve(self, problem: SearchProblem, budget: Budget) -> SearchResult:
        """Search until a path is found or the states of the budget are checked.

        Raises:
            NotSupportedError: The planner does not support this problem.
            CancelledError, TimedOutError: See `ProgressMonitor`.
        """
