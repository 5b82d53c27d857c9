"""Search on constraints on frames: two trees that reach for each other in steps, each brought back onto the constraints
(Berenson, Srinivasa, Ferguson and Kuffner, "Manipulation Planning on Constraint Manifolds", 2009)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import cKDTree

from ...trajectory.limits import Array
from ..problem.local_planner import ProjectedLocalPlanner
from .planner import ROUND, Budget, SearchProblem, SearchResult

FIRST_ROOM = 1024
# Samples in a row without a step that ends a search: nothing near can move.
FRUITLESS_SAMPLES = 20_000


class _Tree:
    """Configurations that hang together, each with the index of the one that it was reached from; -1: a root."""

    def __init__(self, roots: Sequence[Array]) -> None:
        self._rows = np.empty((FIRST_ROOM, len(roots[0])))
        self._parents: list[int] = []
        for root in roots:
            self.add(root, -1)

    def __len__(self) -> int:
        return len(self._parents)

    @property
    def rows(self) -> Array:
        return self._rows[: len(self)]

    def add(self, q: Array, parent: int) -> int:
        if len(self) == len(self._rows):
            self._rows = np.concatenate((self._rows, np.empty_like(self._rows)))
        self._rows[len(self)] = q
        self._parents.append(parent)
        return len(self) - 1

    def nearest(self, q: Array) -> int:
        away = self.rows - q
        return int(np.einsum("ij,ij->i", away, away).argmin())

    def way_to(self, index: int) -> list[Array]:
        """From the root to a configuration."""
        way = []
        while index >= 0:
            way.append(self.rows[index].copy())
            index = self._parents[index]
        return way[::-1]


class ProjectedRrt:
    """One search on constraints on frames. local_planner: that of the problem, which projects."""

    def __init__(self, problem: SearchProblem, local_planner: ProjectedLocalPlanner, budget: Budget) -> None:
        self._problem = problem
        self._mover = local_planner
        self._checks = problem.checks
        self._first_state = problem.checks.states
        self._budget = budget
        self._random = np.random.Generator(np.random.PCG64(problem.seed))
        self._start = _Tree([problem.start])
        self._goal = _Tree(problem.goals)

    @property
    def _states(self) -> int:
        """Checked in this search."""
        return self._checks.states - self._first_state

    @property
    def _exhausted(self) -> bool:
        return self._states >= self._budget.states

    def run(self) -> SearchResult:
        """Grow both trees until they meet or the states of the budget are checked.

        Raises:
            CancelledError, TimedOutError: see `ProgressMonitor`.
        """
        checks, space, more_goals = self._checks, self._problem.subspace, self._problem.more_goals
        next_round = checks.states + ROUND
        growing, other = self._start, self._goal
        fruitless = 0
        while not self._exhausted and fruitless < FRUITLESS_SAMPLES:
            checks.watch.check(checks.states)
            aim = space.to_full(self._random.uniform(space.lower, space.upper))
            before = len(growing)
            reached, _ = self._grow(growing, aim)
            fruitless = fruitless + 1 if len(growing) == before else 0
            met, meets = self._grow(other, growing.rows[reached].copy())
            if meets:
                path = self._path(growing, reached, other, met)
                if path is not None:
                    return SearchResult(path, self._states)
            growing, other = other, growing
            if more_goals is not None and checks.states >= next_round:
                next_round = checks.states + ROUND
                for goal in more_goals():
                    self._goal.add(goal, -1)
        nearest = float(np.min(cKDTree(self._goal.rows).query(self._start.rows)[0]))
        return SearchResult(None, self._states, len(self._start), len(self._goal), nearest)

    def _grow(self, tree: _Tree, aim: Array) -> tuple[int, bool]:
        """Go from the nearest configuration of a tree towards another as far as it goes; the last one reached, and
        whether the aim is one step away from it."""
        here = tree.nearest(aim)
        mover, step = self._mover, self._mover.step
        while True:
            q = tree.rows[here]
            left = aim - q
            distance = float(np.linalg.norm(left))
            if distance <= step:
                free = float(mover.constraints.excess(np.stack((q, 0.5 * (q + aim)))).max()) <= 1.0
                return here, free and mover.checks.motion_free(q, aim, step)
            moved = mover.step_towards(q, aim)
            if moved is None or not mover.checks.motion_free(q, moved, step) or self._exhausted:
                return here, False
            here = tree.add(moved, here)

    def _path(self, growing: _Tree, reached: int, other: _Tree, met: int) -> Array | None:
        first, second = growing.way_to(reached), other.way_to(met)
        if growing is self._goal:
            first, second = second, first
        return self._mover.refined(np.array([*first, *second[::-1]]))
