"""The planner "RRTConnect": OMPL's, and on constraints on frames one that projects."""

from __future__ import annotations

from ..problem.local_planner import ProjectedLocalPlanner
from ..problem.planner_info import PlannerInfo
from ..problem.planner_parameters import WIDE_RANGE
from .ompl_search import OmplPlanner
from .planner import Budget, SearchProblem, SearchResult
from .projected_rrt import ProjectedRrt


class RrtConnect(OmplPlanner):
    """Two trees that reach for each other, in straight motions or in projected steps."""

    def __init__(self) -> None:
        info = PlannerInfo(
            "RRTConnect",
            "ompl",
            "Two trees, from start and goals, that reach for each other (Kuffner and LaValle, 2000). Fast; its path is "
            "the first one found. On constraints on frames the trees grow in steps that are projected onto them.",
            parameters=(WIDE_RANGE,),
            constraints=True,
        )
        super().__init__(info)

    def solve(self, problem: SearchProblem, budget: Budget) -> SearchResult:
        """See `Planner`."""
        if isinstance(problem.local_planner, ProjectedLocalPlanner):
            return ProjectedRrt(problem, problem.local_planner, budget).run()
        return super().solve(problem, budget)
