"""The planner "Native": certified RRT-Connect as a planner of the registry."""

from __future__ import annotations

from dataclasses import replace

from ...errors import NotSupportedError
from ..problem.collision_checks import CountedChecks
from ..problem.local_planner import ProjectedLocalPlanner
from ..problem.planner_info import PlannerInfo
from ..problem.planner_parameters import LONGEST
from .certified_rrt_connect import CertifiedRrtConnect, CertifiedSearchOptions
from .planner import Budget, SearchProblem, SearchResult

NATIVE = "Native"


class CertifiedPlanner:
    """Searches on motions that are proven free. NotSupportedError where there is nothing to prove them with."""

    info = PlannerInfo(
        NATIVE,
        "robot_cell_planner",
        "RRTConnect and shortcuts, compiled as a whole, on motions that are proven free: the robot as balls, exact "
        "distances near start and goals. Fastest; keeps about 15 mm from things on the way. Needs engine coal.",
        parameters=(LONGEST,),
    )

    def solve(self, problem: SearchProblem, budget: Budget) -> SearchResult:
        """See `Planner`; all of the path is proven free."""
        checks = problem.checks
        reason = _why_not(problem)
        if reason or checks.certifier is None:
            raise NotSupportedError(reason, stage="search", subjects=(checks.checker.engine,))
        search = CertifiedRrtConnect(checks.certifier, problem.subspace)
        before = checks.states
        options = CertifiedSearchOptions(
            longest=problem.parameters["longest"],
            seed=problem.seed % 2**62,
            state_limit=max(budget.states, 1),
            shorten=problem.shorten,
        )

        def check(states: int) -> None:
            checks.states = before + states
            checks.watch.check(checks.states)

        result = search.solve(problem.start, problem.goals, options, check, problem.more_goals)
        checks.states = before + search.states
        return _complete(result, checks, search.states, problem.shorten)


def _complete(result: SearchResult, checks: CountedChecks, states: int, shorten: bool) -> SearchResult:
    """The result with what the registry's planners add to it."""
    if result.path is not None:
        return replace(result, states=states, shortened=shorten)
    remark = f"planner {NATIVE} found no path that balls prove, with {checks.states} states checked"
    return replace(result, states=states, remark=remark)


def _why_not(problem: SearchProblem) -> str:
    """Why the planner cannot serve a problem; "" if it can."""
    checks = problem.checks
    if isinstance(problem.local_planner, ProjectedLocalPlanner):
        return f"planner {NATIVE} takes no constraints on frames"
    if checks.checker.engine != "coal":
        return f"planner {NATIVE} proves motions by distances, which need engine coal"
    if not checks.certify:
        return f"planner {NATIVE} proves motions, which was not asked for"
    if checks.certifier is None:
        return f"planner {NATIVE} needs balls around all that moves, and there is a shape that they cannot cover"
    return ""
