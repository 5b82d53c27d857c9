"""RRTConnect: the OMPL planner, or a projecting one for frame constraints."""

from __future__ import annotations

from ..problem.local_planner import ProjectedLocalPlanner
from ..problem.planner_info import PlannerInfo
from ..problem.planner_parameters import CONNECT_RANGE
from .ompl_search import OmplPlanner
from .planner import Budget, SearchProblem, SearchResult
from .projected_rrt import ProjectedRrt


class RrtConnect(OmplPlanner):
    """Two trees that are connected to each other, by straight motions or projected steps."""

    def __init__(self) -> None:
        info = PlannerInfo(
            "RRTConnect",
            "ompl",
            "Two trees, from start and goals, that are connected to each other (Kuffner and LaValle, 2000). Fast; "
            "returns the first path. On frame constraints the trees grow in steps that are projected onto them.",
            parameters=(CONNECT_RANGE,),
            constraints=True,
        )
        super().__init__(info)

    def solve(self, problem: SearchProblem, budget: Budget) -> SearchResult:
        """See `Planner`."""
        if isinstance(problem.local_planner, ProjectedLocalPlanner):
            return ProjectedRrt(problem, problem.local_planner, budget).run()
        return super().solve(problem, budget)
