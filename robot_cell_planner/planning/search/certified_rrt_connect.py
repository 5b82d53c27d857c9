"""Certified RRT-Connect: compiled RRT-Connect with shortcuts on motions that are proven free."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...collision.certification._kernels.arrays import EVALUATED, HITS, JOINTS
from ...collision.certification._kernels.gradients import gradient_space
from ...collision.certification.certifier import COARSE, MotionCertifier
from ...trajectory.limits import Array
from ..path.simplification import MAX_SWEEPS, PULL_FRACTIONS
from ..problem.collision_checks import CountedChecks
from ..problem.planner_parameters import CERTIFIED_RANGE
from ..problem.subspace import Subspace
from ._kernels import rrt_connect_kernels as kernels
from ._kernels import search_kernels, shortcut_kernels
from ._kernels.motion_kernels import MotionSpace
from .bridges import Bridges
from .free_space_connectors import FreeSpaceConnectors
from .planner import SearchResult
from .roadmap import smallest_distance
from .tree_axes import tree_axes

STATES_PER_CALL = 4_000  # states between checks for cancellation: some milliseconds
PULLS = np.array(PULL_FRACTIONS)
FIRST_CHECK_STATES = 2_000  # states of one call before the first check, which most searches do not reach
# States before the growth of the trees is examined and smaller spheres are used, and before bridges are sought; at most
# a share of the state limit. Few searches need either.
FIRST_GROWTH_STATES, FIRST_GROWTH_SHARE = 40_000, 0.2
FIRST_BRIDGE_STATES, FIRST_BRIDGE_SHARE = 100_000, 0.4
STATES_BETWEEN_BRIDGES, BRIDGE_BACKOFF = 20_000, 2  # until the next attempt; each that fails multiplies the former
MIN_GROWTH = 4  # nodes per root below which a tree gets more connectors
EXTRA_CONNECTORS = 6  # max number of connectors of a root in such a tree
LONGEST = float(CERTIFIED_RANGE.default)
_of_thread = threading.local()


@dataclass(frozen=True)
class CertifiedSearchOptions:
    """Options of a search.

    Attributes:
        longest: Max length of motions added to a tree, rad or m in joint space.
        seed: Seed of samples and shortcuts.
        state_limit: Max number of configurations evaluated.
        shorten: Shorten the path.
        tighten: Pull the shortened path tight.
    """

    longest: float = LONGEST
    seed: int = 0
    state_limit: int = 1_000_000
    shorten: bool = True
    tighten: bool = False

    @property
    def first_growth(self) -> float:
        """Number of configurations evaluated before the growth of the trees is examined."""
        return min(FIRST_GROWTH_STATES, FIRST_GROWTH_SHARE * self.state_limit)

    @property
    def first_bridge(self) -> float:
        """Number of configurations evaluated before bridges are sought."""
        return min(FIRST_BRIDGE_STATES, FIRST_BRIDGE_SHARE * self.state_limit)


class CertifiedRrtConnect:
    """Planner between configurations (dof,) of a certifier's variables, within a subspace.

    Args:
        finer: Returns a certifier of the same motions with smaller spheres. A search that stalls continues with it.
    """

    def __init__(
        self, certifier: MotionCertifier, subspace: Subspace, finer: Callable[[], MotionCertifier] | None = None
    ) -> None:
        self._space = subspace
        self._finer = finer
        self._connector_states = 0
        self._bridges: Bridges | None = None
        self._axes = tree_axes(certifier, subspace)
        self._counters = np.zeros(3)
        self._use(certifier)

    def _use(self, certifier: MotionCertifier) -> None:
        self._certifier = certifier
        scene, work = self._packed = certifier.packed()  # retained, since kernels get their addresses only
        # Previous hits determine which of several objects deflects a motion; equal searches begin without any.
        work.arrays[HITS].fill(0)
        basis = self._axes.basis
        buffers, ends = (scene.address, work.address), np.empty((2, len(basis)))
        gradients = gradient_space(len(scene.arrays[JOINTS]), len(basis))
        whole = self._space.whole
        self._motions = MotionSpace(*buffers, self._axes.origin, basis, COARSE, self._counters, ends, gradients, whole)
        self._connectors = FreeSpaceConnectors(certifier, self._space)

    def _refine(self) -> bool:
        """Use the finer certifier from now on, if there is one; return whether it was not used before."""
        if self._finer is None:
            return False
        self._connector_states += self._connectors.states
        self._use(self._finer())
        self._finer = None
        return True

    @property
    def states(self) -> int:
        """Number of configurations evaluated, by spheres or exact distances."""
        bridges = self._bridges.states if self._bridges is not None else 0
        return int(self._counters[EVALUATED]) + self._connector_states + self._connectors.states + bridges

    def solve(
        self,
        start: Array,
        goals: Sequence[Array],
        options: CertifiedSearchOptions,
        check: Callable[[int], None] = lambda states: None,
        more_goals: Callable[[], Sequence[Array]] | None = None,
    ) -> SearchResult:
        """Search for a path (n, dof) from the start to exactly one of the goals that is proven free as a whole.

        Args:
            check: Called every few milliseconds with the number of configurations evaluated; may raise.
            more_goals: Called at the same times; returns further goals.
        """
        # Beyond the limits of prismatic joints, and for very large rotations, sphere tests prove nothing.
        within = self._certifier.within_prismatic_limits(self._space.q_lower, self._space.q_upper)
        if not self._certifier.sphere_test_applies() or not within:
            return SearchResult(None)
        check(self.states)
        trees = _Trees(self._space, self._axes.weights, options.longest)
        endpoints = self._space.to_reduced(np.array((start, *goals)))
        outcome = self._grow(trees, endpoints, options, FIRST_CHECK_STATES, is_first=True)
        if outcome == search_kernels.UNPROVEN_ENDS and self._refine():
            outcome = self._grow(trees, endpoints, options, FIRST_CHECK_STATES, is_first=True)
        if outcome == kernels.NOT_FINISHED:
            check(self.states)
            outcome = self._grow(trees, endpoints, options, options.first_growth)
        bridged = False
        if outcome in (search_kernels.UNPROVEN_ENDS, kernels.NOT_FINISHED):
            ends = (start, goals, endpoints)
            outcome, bridged = self._continued(trees, ends, outcome, options, lambda: check(self.states), more_goals)
        sizes = (int(trees.counts[0]), int(trees.counts[1]))
        if outcome != kernels.FOUND:
            return SearchResult(None, self.states, *sizes, trees.nearest_approach())
        shortened = options.shorten and not bridged
        tightened = shortened and options.tighten and not trees.has_connectors
        return SearchResult(trees.path(), self.states, *sizes, shortened=shortened, tightened=tightened)

    def _grow(
        self,
        trees: _Trees,
        endpoints: Array,
        options: CertifiedSearchOptions,
        max_evaluated: float,
        is_first: bool = False,
    ) -> int:
        """Grow the trees; return the outcome of `search_kernels.search`.

        Args:
            endpoints: Start, then goals, in the subspace (n, k).
            max_evaluated: Max number of configurations evaluated by spheres since the search began.
            is_first: Whether the trees are empty, and begin at the endpoints.
        """
        limits, bounds = self._bounds
        limit = min(max_evaluated, options.state_limit - self.states + self._counters[EVALUATED])
        outcome, path, start_root, goal_root = search_kernels.search(
            self._motions,
            limits,
            bounds,
            trees.arrays,
            endpoints,
            is_first,
            options.seed,
            options.longest,
            int(limit),
            options.shorten,
            PULLS,
            MAX_SWEEPS if options.tighten else 0,
        )
        trees.connection = path, start_root, goal_root
        return int(outcome)

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        """Joint limits (2, dof), and bounds of the subspace (2, k)."""
        limits = np.array((self._space.q_lower, self._space.q_upper))
        return limits, limits if self._space.whole else np.array((self._space.lower, self._space.upper))

    def _continued(
        self,
        trees: _Trees,
        ends: tuple[Array, Sequence[Array], Array],
        outcome: int,
        options: CertifiedSearchOptions,
        check: Callable[[], None],
        more_goals: Callable[[], Sequence[Array]] | None,
    ) -> tuple[int, bool]:
        """Continue a search that the first call did not finish; return its outcome, and whether there are bridges.

        Args:
            ends: Start, goals, and both in the subspace (n, k).
            outcome: Of the first call.
        """

        def add_roots(tree: int, endpoints: Sequence[Array], count: int) -> None:
            for q in endpoints:
                found = self._connectors.find(q, options.seed, count, check)
                if not found and self._finer is None:
                    found = self._connectors.find_far(q, check)
                trees.add(tree, found)

        start, goals, endpoints = ends
        if outcome == search_kernels.UNPROVEN_ENDS:
            add_roots(0, [start], 1)
            add_roots(1, goals, 1)
            outcome = self._grow(trees, endpoints, options, options.first_growth)
        next_bridge, pause, bridged = options.first_bridge, STATES_BETWEEN_BRIDGES, False
        stalled = {0: [start], 1: list(goals)}
        while outcome == kernels.NOT_FINISHED and self.states < options.state_limit:
            check()
            if self._refine():
                # Smaller spheres may be all that is missing; connectors and bridges take as long as a whole search.
                outcome = self._grow(trees, endpoints, options, self._counters[EVALUATED] + options.first_growth)
                continue
            if self._counters[EVALUATED] >= next_bridge and trees.are_rooted:
                bridged |= (found := self._bridge(trees, options.seed, check))
                next_bridge = self._counters[EVALUATED] + pause
                pause = STATES_BETWEEN_BRIDGES if found else BRIDGE_BACKOFF * pause
            for tree, stalled_ends in stalled.items():
                # A tree that hardly grew gets more connectors at its roots, once.
                if stalled_ends and trees.counts[tree] < MIN_GROWTH * len(stalled_ends):
                    add_roots(tree, stalled_ends, EXTRA_CONNECTORS)
                    stalled[tree] = []
            added = list(more_goals()) if more_goals is not None else []
            add_roots(1, added, 1)
            if not trees.are_rooted and not added:
                break
            outcome = self._grow(trees, endpoints, options, self._counters[EVALUATED] + STATES_PER_CALL)
        return outcome, bridged

    def _bridge(self, trees: _Trees, seed: int, check: Callable[[], None]) -> bool:
        """Add bridges to both trees; return whether any was found."""
        if self._bridges is None:
            self._bridges = Bridges(self._certifier, self._space, seed)
        found = [(tree, self._bridges.find(trees.points(tree), check)) for tree in (0, 1)]
        for tree, bridges in found:
            for node, point in bridges:
                trees.extend(tree, node, point)
        return any(bridges for _, bridges in found)

    def shortened(self, path: Array, seed: int) -> Array:
        """Return a path (n, dof) without unnecessary waypoints and with corners cut. Spheres prove the given and the
        returned path free; the ends do not change.
        """
        outcome = self._space.to_full(self._shorten(np.ascontiguousarray(self._space.to_reduced(path)), seed))
        return np.concatenate((path[:1], outcome[1:-1], path[-1:]))

    def tightened(self, path: Array) -> Array:
        """Return a path (n, dof) whose waypoints are pulled towards the straight line between their neighbours as far
        as the motions are proven free. The ends do not change.
        """
        points = np.ascontiguousarray(self._space.to_reduced(path).copy())
        shortcut_kernels.pull_tight(self._motions, points, PULLS, MAX_SWEEPS, search_kernels.MIN_TIGHTEN_GAIN)
        return np.concatenate((path[:1], self._space.to_full(points)[1:-1], path[-1:]))

    def _shorten(self, path: Array, seed: int) -> Array:
        limits = (search_kernels.SHORTCUT_TRIES, search_kernels.MAX_FAILED_SHORTCUTS, search_kernels.MIN_SHORTCUT_GAIN)
        return shortcut_kernels.shorten(self._motions, path, seed, *limits)


def _tree_arrays(weights: Array) -> kernels.Trees:
    """Return the trees of this thread, for coordinates with weights (k,), empty. The arrays are reused, because
    allocating new pages takes as long as a short search."""
    cached: dict[int, kernels.Trees] = _of_thread.__dict__.setdefault("tree_arrays", {})
    size = len(weights)
    trees = cached.get(size)
    if trees is None:
        trees = cached[size] = kernels.Trees(
            nodes=np.empty((2, size, kernels.CAPACITY)),
            single=np.empty((2, size, kernels.CAPACITY), dtype=np.float32),
            weights=weights,
            parents=np.empty((2, kernels.CAPACITY), dtype=np.int64),
            ranges=np.empty((2, kernels.CAPACITY)),
            squares=np.empty(kernels.CAPACITY, dtype=np.float32),
            points=np.empty((5, size)),
            counts=np.empty(5, dtype=np.int64),
        )
    elif trees.weights is not weights:
        trees = cached[size] = trees._replace(weights=weights)
    trees.counts.fill(0)
    return trees


class _Trees:
    """Both trees, and the free-space connectors that end at their roots. Each thread has at most one instance.

    Attributes:
        connection: Path (n, k) through both trees, and its roots in them; None before they are grown.

    Args:
        weights: Weights (k,) of the coordinates.
    """

    def __init__(self, space: Subspace, weights: Array, longest: float) -> None:
        self._space = space
        self._longest = longest
        self.arrays = _tree_arrays(weights)
        self.counts = self.arrays.counts
        self.connection: tuple[Array, int, int] | None = None
        self._connectors: dict[tuple[int, int], Array] = {}

    @property
    def are_rooted(self) -> bool:
        """Whether both trees have a root."""
        return bool(self.counts[0] and self.counts[1])

    @property
    def has_connectors(self) -> bool:
        """Whether roots were added by connectors."""
        return bool(self._connectors)

    def add(self, tree: int, connectors: Sequence[Array]) -> None:
        """Add the inner ends of connectors as roots of a tree."""
        for connector in connectors:
            node = int(self.counts[tree])
            if node + 1 < kernels.CAPACITY:
                self.extend(tree, -1, self._space.to_reduced(connector[-1]))
                self._connectors[tree, node] = connector

    def points(self, tree: int) -> Array:
        """Return the nodes (n, k) of a tree."""
        return np.ascontiguousarray(self.arrays.nodes[tree, :, : int(self.counts[tree])].T)

    def extend(self, tree: int, parent: int, point: Array) -> None:
        """Add a point (k,) to a tree, unless that is full. parent: -1 for a root."""
        # As `kernels.add_node`; calls of kernels with the arrays of the trees take longer than a short search.
        trees, node = self.arrays, int(self.counts[tree])
        if node + 1 < kernels.CAPACITY:
            trees.nodes[tree, :, node], trees.single[tree, :, node] = point, point * trees.weights
            trees.parents[tree, node], trees.ranges[tree, node] = parent, self._longest
            self.counts[tree] += 1

    def path(self) -> Array:
        """Return the path (n, dof) through both trees, from the outer end of one connector to that of the other."""
        assert self.connection is not None
        path, *roots = self.connection
        before, after = (self._connectors.get((tree, root)) for tree, root in enumerate(roots))
        inner = self._space.to_full(path)
        if before is None and after is None:
            return inner
        parts = (() if before is None else before[:-1], inner, () if after is None else after[-2::-1])
        return np.concatenate([part for part in parts if len(part)])

    def nearest_approach(self) -> float:
        """Min distance between nodes of the two trees; NaN if one is empty."""
        one, other = self.points(0), self.points(1)
        if not len(one) or not len(other):
            return math.nan
        return smallest_distance(one, other)


def certified_tightened(path: Array, checks: CountedChecks, subspace: Subspace) -> Array:
    """Return a path (n, dof), which spheres prove free, after `CertifiedRrtConnect.tightened`."""
    assert checks.certifier is not None
    planner = CertifiedRrtConnect(checks.certifier, subspace)
    tight = planner.tightened(path)
    checks.states += planner.states
    return tight


def certified_shortened(path: Array, checks: CountedChecks, subspace: Subspace, seed: int) -> Array:
    """Return a path (n, dof), which spheres prove free, after `CertifiedRrtConnect.shortened`."""
    assert checks.certifier is not None
    planner = CertifiedRrtConnect(checks.certifier, subspace)
    shorter = planner.shortened(path, seed % 2**62)
    checks.states += planner.states
    return shorter
