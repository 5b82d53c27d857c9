"""Planner that tries other planners in turn, each with a part of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...errors import NotSupportedError
from ..problem.local_planner import ProjectedLocalPlanner
from ..problem.planner_info import PlannerInfo
from .planner import Budget, Planner, SearchProblem, SearchResult


@dataclass(frozen=True)
class Attempt:
    """Planner with a fraction of the remaining states as its budget, at most `max_states`; None for no maximum."""

    planner: Planner
    fraction: float = 1.0
    max_states: int | None = None


@dataclass(frozen=True)
class FallbackPlanner:
    """Tries planners with default parameters until one finds a path or the budget is used.

    Planners that do not support a problem are skipped. The warning of the result gives the failure of the previous
    planner; there is none for constraints on frames, for which the next planners are intended.
    """

    info: PlannerInfo
    attempts: Sequence[Attempt]

    def solve(self, problem: SearchProblem, budget: Budget) -> SearchResult:
        """See `Planner`.

        Raises:
            NotSupportedError: No planner supports the problem.
        """
        remaining, warning = budget, ""
        result: SearchResult | None = None
        refusal: NotSupportedError | None = None
        for attempt in self.attempts:
            info = attempt.planner.info
            own_problem = replace(problem, parameters=info.settings({}))
            try:
                found = attempt.planner.solve(own_problem, remaining.part(attempt.fraction, attempt.max_states))
            except NotSupportedError as error:
                is_constrained = isinstance(problem.local_planner, ProjectedLocalPlanner)
                refusal, warning = error, "" if is_constrained else error.message
                continue
            remaining = remaining.without(found.states)
            states = budget.states - remaining.states
            result = replace(found, states=states, warning=warning, planner=found.planner or info.name)
            if found.path is not None or remaining.exhausted:
                return result
            warning = found.warning or f"planner {info.name} found no path with {found.states} states checked"
        if result is None:
            raise refusal or NotSupportedError(f"planner {self.info.name} has no planners to try", stage="search")
        return result
