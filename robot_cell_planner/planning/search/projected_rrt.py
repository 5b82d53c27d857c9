"""RRT-Connect on frame constraints, with steps that are projected onto the constraints.

Berenson, Srinivasa, Ferguson and Kuffner, "Manipulation Planning on Constraint Manifolds", 2009.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ...trajectory.limits import Array
from ..problem.local_planner import ProjectedLocalPlanner
from .planner import STATES_PER_ROUND, Budget, SearchProblem, SearchResult
from .roadmap import smallest_distance

INITIAL_CAPACITY = 1024
# Number of consecutive samples without an extension that ends a search.
MAX_FAILED_SAMPLES = 20_000


class _Tree:
    """Configurations with the index of their parent; -1 for a root."""

    def __init__(self, roots: Sequence[Array]) -> None:
        self._rows = np.empty((INITIAL_CAPACITY, len(roots[0])))
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
        differences = self.rows - q
        return int(np.einsum("ij,ij->i", differences, differences).argmin())

    def path_to(self, index: int) -> list[Array]:
        """Return the configurations from the root to a node."""
        path = []
        while index >= 0:
            path.append(self.rows[index].copy())
            index = self._parents[index]
        return path[::-1]


class ProjectedRrt:
    """One search on frame constraints.

    Args:
        local_planner: The local planner of the problem, which projects.
    """

    def __init__(self, problem: SearchProblem, local_planner: ProjectedLocalPlanner, budget: Budget) -> None:
        self._problem = problem
        self._local_planner = local_planner
        self._checks = problem.checks
        self._first_state = problem.checks.states
        self._budget = budget
        self._random = np.random.Generator(np.random.PCG64(problem.seed))
        self._start = _Tree([problem.start])
        self._goal = _Tree(problem.goals)

    @property
    def _states(self) -> int:
        """Number of states checked in this search."""
        return self._checks.states - self._first_state

    @property
    def _exhausted(self) -> bool:
        return self._states >= self._budget.states

    def run(self) -> SearchResult:
        """Grow both trees until they meet or the states of the budget are checked.

        Raises:
            CancelledError, TimedOutError: See `ProgressMonitor`.
        """
        checks, space, more_goals = self._checks, self._problem.subspace, self._problem.more_goals
        next_round = checks.states + STATES_PER_ROUND
        growing, other = self._start, self._goal
        failed_samples = 0
        while not self._exhausted and failed_samples < MAX_FAILED_SAMPLES:
            checks.check()
            target = space.to_full(self._random.uniform(space.lower, space.upper))
            before = len(growing)
            reached, _ = self._grow(growing, target)
            failed_samples = failed_samples + 1 if len(growing) == before else 0
            node_of_other, connected = self._grow(other, growing.rows[reached].copy())
            if connected:
                return SearchResult(self._path(growing, reached, other, node_of_other), self._states)
            growing, other = other, growing
            if more_goals is not None and checks.states >= next_round:
                next_round = checks.states + STATES_PER_ROUND
                for goal in more_goals():
                    self._goal.add(goal, -1)
        nearest = smallest_distance(self._start.rows, self._goal.rows)
        return SearchResult(None, self._states, len(self._start), len(self._goal), nearest)

    def _grow(self, tree: _Tree, target: Array) -> tuple[int, bool]:
        """Extend a tree from its node nearest to a target as far as possible.

        Returns:
            The last node, and whether the target is connected to it by one free step.
        """
        node = tree.nearest(target)
        local_planner, step = self._local_planner, self._local_planner.step
        while True:
            q = tree.rows[node]
            if float(np.linalg.norm(target - q)) <= step:
                motion = local_planner.connect_by_step(q, target)
                return self._add(tree, node, motion[1:-1] if motion is not None else []), motion is not None
            moved = local_planner.step_towards(q, target)
            motion = None if moved is None else local_planner.connect_by_step(q, moved)
            if motion is None or self._exhausted:
                return node, False
            node = self._add(tree, node, motion[1:])

    @staticmethod
    def _add(tree: _Tree, node: int, configurations: Iterable[Array]) -> int:
        """Add configurations (dof,) that follow a node; return the last one."""
        for q in configurations:
            node = tree.add(q, node)
        return node

    def _path(self, growing: _Tree, reached: int, other: _Tree, node_of_other: int) -> Array:
        first, second = growing.path_to(reached), other.path_to(node_of_other)
        if growing is self._goal:
            first, second = second, first
        return np.array([*first, *second[::-1]])
