"""Start and goals of a search that OMPL accepts.

OMPL tests the goals itself. While it considers all of them invalid, it waits inside `solve` for a valid one, without
any call of the checks that end a search.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...trajectory.limits import Array
from .ompl_space import SearchSpace
from .planner import SearchProblem


class SearchEnds:
    """Start and goals of a problem as configurations (dof,) of OMPL states that are within bounds and free.

    Attributes:
        start: Start, valid or not, see `failure`.
        goals: Valid goals, possibly none after a search for further ones.
        may_grow: Whether there may be further goals.
        dropped: Number of goals that are not valid.
    """

    def __init__(self, problem: SearchProblem, space: SearchSpace) -> None:
        self._problem = problem
        self._space = space
        self.may_grow = problem.more_goals is not None
        self.dropped = 0
        start = self._valid(problem.start)
        self.start = problem.start if start is None else start
        self._start_is_valid = start is not None
        self.goals = self._valid_goals(problem.goals)
        if self._start_is_valid and not self.goals:
            self.more()

    def more(self) -> list[Array]:
        """Return further valid goals, which are added to `goals`; none if there are no further ones."""
        added: list[Array] = []
        while self.may_grow and not added:
            given = self._problem.more_goals() if self._problem.more_goals is not None else ()
            self.may_grow = len(given) > 0
            added = self._valid_goals(given)
        self.goals.extend(added)
        return added

    @property
    def failure(self) -> str:
        """Reason why no search is possible; "" if there is a valid start and a valid goal."""
        if not self._start_is_valid:
            return "the start of the search is outside of its bounds or in collision"
        if not self.goals:
            return f"all {self.dropped} goal configurations of the search are outside of its bounds or in collision"
        return ""

    def _valid_goals(self, goals: Sequence[Array]) -> list[Array]:
        found = [q for q in map(self._valid, goals) if q is not None]
        self.dropped += len(goals) - len(found)
        return found

    def _valid(self, q: Array) -> Array | None:
        searched = self._space.searched(q)
        return searched if searched is not None and self._problem.checks.state_free(searched) else None
