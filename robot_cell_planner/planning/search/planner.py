"""What a planner is: it solves a search problem within a budget. Planners are listed in `registry.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ...trajectory.limits import Array
from ..problem.collision_checks import CountedChecks
from ..problem.local_planner import LocalPlanner
from ..problem.planner_info import PlannerInfo, Settings
from ..problem.subspace import Subspace

# States after which a search that may get more goals is asked to take them.
ROUND = 4_000


@dataclass(frozen=True)
class Budget:
    """States that a search may check; time limit and cancellation are the progress monitor's.

    states: all together. improvement: of them, after the first path, by planners that go on improving it.
    """

    states: int
    improvement: int = 0

    @property
    def exhausted(self) -> bool:
        return self.states <= 0

    def part(self, fraction: float, max_states: int | None = None) -> Budget:
        """A fraction of the states, at most `max_states`, at least one."""
        states = max(int(fraction * self.states), 1)
        return replace(self, states=states if max_states is None else min(states, max_states))

    def without(self, states: int) -> Budget:
        """What is left after so many states were checked."""
        return replace(self, states=self.states - states)


@dataclass(frozen=True)
class SearchResult:
    """The result of a search: the path (n, dof), or None; and the trees that were grown.

    states: checked, the used part of the budget. nearest_approach: smallest distance of two configurations, one from
    either tree; NaN if there is only one. shortened: the path needs no simplification and shortcuts any more. remark:
    without a path, why; with one, why planners that were tried before had none; "": nothing to say. planner: name of
    the one that found the path; "": the one that was called.
    """

    path: Array | None
    states: int = 0
    start_tree_size: int = 0
    goal_tree_size: int = 0
    nearest_approach: float = float("nan")
    shortened: bool = False
    remark: str = ""
    planner: str = ""


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """A problem for a planner: find a free path from the start (dof,), which is free, to one of the goals (dof,), in
    the order in which they are to be tried.

    subspace: in which all configurations of the path are. checks: collision checks, which count states. local_planner:
    motions between two configurations, checked every `step` [rad or m]; they keep constraints on frames, if there are
    any. seed: of everything random. parameters: of the planner, by `PlannerParameter.setter`. shorten: cut corners, if
    the planner can. more_goals: called now and then while there is no path; gives further goals.
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
    """A planner of the registry. It has no state: all that shapes a path is in the problem and the budget."""

    @property
    def info(self) -> PlannerInfo:
        """Name, description and parameters, as requests and `planning/list_planners` know them."""

    def solve(self, problem: SearchProblem, budget: Budget) -> SearchResult:
        """Search until a path is found or the states of the budget are checked.

        Raises:
            NotSupportedError: the planner cannot serve this problem.
            CancelledError, TimedOutError: see `ProgressMonitor`.
        """
