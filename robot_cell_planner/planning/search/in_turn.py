"""A planner that tries others in turn, each with a part of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...errors import NotSupportedError
from ..problem.planner_info import PlannerInfo
from .planner import Budget, Planner, SearchProblem, SearchResult


@dataclass(frozen=True)
class Turn:
    """A planner that is tried with a fraction of the states that are left, at most `max_states`; None: no maximum."""

    planner: Planner
    fraction: float = 1.0
    max_states: int | None = None


@dataclass(frozen=True)
class InTurn:
    """Tries planners, with their default parameters, until one finds a path or the budget is used. Those that do not
    support a problem are passed over. The remark of the result says why the one before did not find the path."""

    info: PlannerInfo
    turns: Sequence[Turn]

    def solve(self, problem: SearchProblem, budget: Budget) -> SearchResult:
        """See `Planner`.

        Raises:
            NotSupportedError: none of the planners supports the problem.
        """
        left, remark = budget, ""
        result: SearchResult | None = None
        refusal: NotSupportedError | None = None
        for turn in self.turns:
            info = turn.planner.info
            own = replace(problem, parameters=info.settings({}))
            try:
                found = turn.planner.solve(own, left.part(turn.fraction, turn.max_states))
            except NotSupportedError as error:
                refusal, remark = error, error.message
                continue
            left = left.without(found.states)
            states = budget.states - left.states
            result = replace(found, states=states, remark=remark, planner=found.planner or info.name)
            if found.path is not None or left.exhausted:
                return result
            remark = found.remark or f"planner {info.name} found no path with {found.states} states checked"
        if result is None:
            raise refusal or NotSupportedError(f"planner {self.info.name} has no planners to try", stage="search")
        return result
