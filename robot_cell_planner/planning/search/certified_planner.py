"""Certified RRT-Connect as a planner of the registry."""

from __future__ import annotations

from dataclasses import replace

from ...collision.certification.certifier import certifiable
from ...errors import NotSupportedError
from ..problem.collision_checks import CountedChecks
from ..problem.local_planner import ProjectedLocalPlanner
from ..problem.planner_info import PlannerInfo
from ..problem.planner_parameters import CERTIFIED_RANGE
from .certified_rrt_connect import CertifiedRrtConnect, CertifiedSearchOptions
from .planner import Budget, SearchProblem, SearchResult

CERTIFIED = "CertifiedRRTConnect"


class CertifiedPlanner:
    """Searches on motions that are proven free."""

    info = PlannerInfo(
        CERTIFIED,
        "robot_cell_planner",
        "RRTConnect with shortcuts, compiled, on motions that are proven free: sphere models along the path, exact "
        "distances near start and goals and, where a search stalls, on motions of one joint. Fastest; keeps about 8 mm "
        "from objects along other motions.",
        parameters=(CERTIFIED_RANGE,),
    )

    def solve(self, problem: SearchProblem, budget: Budget) -> SearchResult:
        """See `Planner`. The whole path is proven free.

        Raises:
            NotSupportedError: Motions cannot be certified.
        """
        checks = problem.checks
        reason = _unsupported_reason(problem)
        if reason or checks.certifier is None:
            raise NotSupportedError(reason, stage="search", subjects=(checks.checker.engine,))
        finer = checks.refine if not checks.refined else None
        search = CertifiedRrtConnect(checks.certifier, problem.subspace, finer)
        before = checks.states
        options = CertifiedSearchOptions(
            longest=problem.parameters["longest"],
            seed=problem.seed % 2**62,
            state_limit=max(budget.states, 1),
            shorten=problem.shorten,
            tighten=problem.shorten,
        )

        def check(states: int) -> None:
            checks.states = before + states
            checks.check()

        result = search.solve(problem.start, problem.goals, options, check, problem.more_goals)
        checks.states = before + search.states
        return _with_warning(result, checks, search.states)


def _with_warning(result: SearchResult, checks: CountedChecks, states: int) -> SearchResult:
    """Return the result with number of states, and with a warning if there is no path."""
    if result.path is not None:
        return replace(result, states=states)
    warning = f"planner {CERTIFIED} found no path that spheres prove free, with {checks.states} states checked"
    return replace(result, states=states, warning=warning)


def _unsupported_reason(problem: SearchProblem) -> str:
    """Return why the planner does not support a problem; "" if it does."""
    checks = problem.checks
    if isinstance(problem.local_planner, ProjectedLocalPlanner):
        return f"planner {CERTIFIED} does not support constraints on frames"
    if not certifiable(checks.checker):
        names = ", ".join(checks.checker.decomposed_by_engine)
        return f"planner {CERTIFIED} certifies motions, but engine {checks.checker.engine} decomposes {names}"
    if not checks.certify:
        return f"planner {CERTIFIED} certifies motions, but `certify` is false"
    if checks.certifier is None:
        return f"planner {CERTIFIED} requires sphere models, and a geometry has none"
    return ""
