"""What a search for a path is given, and what it comes to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...trajectory.limits import Array
from ..problem.subspace import Subspace

# States after which a search that may get more goals is asked to take them.
ROUND = 4_000


@dataclass(frozen=True)
class SearchResult:
    """What a search came to: the path (n, dof), or None; and the trees that it grew.

    nearest_approach: smallest distance of two configurations, one from either tree; NaN if there is only one. planner:
    that found the path; "": the one that was asked. remark: why another one was asked before to no avail; "": none was.
    """

    path: Array | None
    start_tree_size: int = 0
    goal_tree_size: int = 0
    nearest_approach: float = float("nan")
    planner: str = ""
    remark: str = ""


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """What to search.

    subspace: where. start (dof,), goals in the order in which they are to be tried. step: widest one between the states
    of a motion that are checked. improvement: states to check on improving after the first
    path, for planners that can. more_goals: called now and then while there is no path; gives further goals.
    """

    subspace: Subspace
    start: Array
    goals: Sequence[Array]
    step: float
    improvement: int = 0
    more_goals: Callable[[], Sequence[Array]] | None = None
