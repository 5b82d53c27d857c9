"""The native planner: RRT-Connect with shortcutting, compiled as a whole, on motions that are proven free."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from scipy.spatial import cKDTree

from ...collision.certification.certifier import COARSE, MotionCertifier
from ...trajectory.limits import Array
from ..path.simplification import PULLS, SWEEPS
from ..problem.collision_checks import CountedChecks
from ..problem.subspace import Subspace
from ._kernels import rrt_connect_kernels as kernels
from ._kernels import shortcut_kernels
from .free_space_connectors import FreeSpaceConnectors
from .planner import SearchResult
from .sampling_regions import rooms

SLICE = 4_000  # states between two looks at a cancellation: some milliseconds
TRIES, FRUITLESS, SHORTCUT_GAIN = 100, 10, 0.01  # of cutting corners
BEYOND = np.array((-1e-9, 1e-9))[:, None]  # [rad or m] of limits, for rounding
LEAST_GAIN = 0.003  # of a sweep that pulls tight
FIRST_SLICE = 20_000  # states after which it is looked whether a tree grew
SMALL = 4  # nodes by end, below which a tree hardly grew
MORE_LEADS = 6  # that such an end gets
FARTHEST = 10.0  # [m per rad or m] that counts in weights of joints
_of_thread = threading.local()
_AXES: WeakKeyDictionary[MotionCertifier, _Axes] = WeakKeyDictionary()


@dataclass(frozen=True)
class CertifiedSearchOptions:
    """longest: motion that is added to a tree at once, rad or m in joint space. seed: of samples and shortcuts.
    state_limit: configurations to look at. shorten: cut corners."""

    longest: float = 1.0
    seed: int = 0
    state_limit: int = 1_000_000
    shorten: bool = True


class CertifiedRrtConnect:
    """Plans between configurations (dof,) of a certifier's variables, within a subspace."""

    def __init__(self, certifier: MotionCertifier, subspace: Subspace) -> None:
        self._certifier = certifier
        self._space = subspace
        scene, work = certifier.packed()
        self._held = (scene, work)
        self._addresses = (scene.address, work.address)
        axes = _axes(certifier, subspace)
        self._origin, self._basis = axes.origin, axes.basis
        self._weights, self._weighted_basis = axes.weights, axes.weighted_basis
        self._limits = np.array((subspace.q_lower, subspace.q_upper))
        self._limits += BEYOND
        self._facts = np.zeros(3)
        self._leads = FreeSpaceConnectors(certifier, subspace)

    @property
    def states(self) -> int:
        """Configurations looked at, by balls or exactly."""
        return int(self._facts[0]) + self._leads.states

    def solve(
        self,
        start: Array,
        goals: Sequence[Array],
        options: CertifiedSearchOptions,
        check: Callable[[int], None] = lambda states: None,
        more_goals: Callable[[], Sequence[Array]] | None = None,
    ) -> SearchResult:
        """A path (n, dof) from the start to one of the goals, which are met exactly, all of it proven free.

        check: called with the states looked at every some milliseconds; it may raise. more_goals: called then, too.
        """
        # Beyond the limits of slides, or where a spindle turns very far, balls prove nothing.
        within = self._certifier.within_prismatic_limits(self._space.q_lower, self._space.q_upper)
        if not self._certifier.sphere_test_applies() or not within:
            return SearchResult(None)
        trees = _Trees(self._space, self._weights, options.longest)

        def look() -> None:
            check(self.states)

        for tree, ends in ((0, [start]), (1, list(goals))):
            for q in ends:
                trees.add(tree, self._leads.find(q, options.seed, 1, look))
        bounds = rooms(self._space, np.array((start, *goals))).reshape(-1, self._space.size) * self._weights
        found = kernels.GOING_ON
        waiting = {0: [start], 1: list(goals)}
        limit = float(FIRST_SLICE)
        while found == kernels.GOING_ON and self.states < options.state_limit:
            look()
            if trees.counts[0] and trees.counts[1]:
                limit = min(limit, options.state_limit - self._leads.states)
                found = kernels.grow(
                    *self._addresses, self._origin, self._weighted_basis, self._limits, bounds,
                    trees.nodes, trees.rough, trees.parents, trees.strides, trees.squares, trees.counts,
                    options.seed, options.longest, COARSE, int(limit), self._facts,
                )  # fmt: skip
            limit = self._facts[0] + SLICE
            if found != kernels.GOING_ON:
                break
            for tree, ends in waiting.items():
                # A tree that hardly grew gets more ways out of its ends, once.
                if ends and trees.counts[tree] < SMALL * len(ends):
                    for q in ends:
                        trees.add(tree, self._leads.find(q, options.seed, MORE_LEADS, look))
                    waiting[tree] = []
            further = list(more_goals()) if more_goals is not None else []
            for q in further:
                trees.add(1, self._leads.find(q, options.seed, 1, look))
            if not (trees.counts[0] and trees.counts[1]) and not further:
                break
        if found != kernels.FOUND:
            sizes = (int(trees.counts[0]), int(trees.counts[1]))
            return SearchResult(None, self.states, *sizes, trees.nearest_approach())
        before, path, after = trees.path()
        if options.shorten:
            path = self._shorter(path, options.seed)
        rows = np.concatenate((before, self._space.to_full(path), after[::-1]))
        return SearchResult(rows, self.states, int(trees.counts[0]), int(trees.counts[1]))

    def shortened(self, path: Array, seed: int) -> Array:
        """A path (n, dof), all of which balls prove free, without waypoints that it does not need and with corners cut,
        proven as well; its ends are the same."""
        found = self._space.to_full(self._shorter(np.ascontiguousarray(self._space.to_reduced(path)), seed))
        return np.concatenate((path[:1], found[1:-1], path[-1:]))

    def tightened(self, path: Array) -> Array:
        """A path (n, dof), all of which balls prove free, with each waypoint pulled towards the straight way between
        its neighbours as far as that can be proven, again and again; its ends are the same."""
        points = np.ascontiguousarray(self._space.to_reduced(path).copy())
        pulls = np.array(PULLS)
        shortcut_kernels.tighten(
            *self._addresses, self._origin, self._basis, points, pulls, SWEEPS, LEAST_GAIN, COARSE, self._facts
        )
        return np.concatenate((path[:1], self._space.to_full(points)[1:-1], path[-1:]))

    def _shorter(self, path: Array, seed: int) -> Array:
        return shortcut_kernels.shorten(
            *self._addresses,
            self._origin,
            self._basis,
            path,
            seed,
            TRIES,
            FRUITLESS,
            SHORTCUT_GAIN,
            COARSE,
            self._facts,
        )


class _Memory:
    """Arrays of trees of `size` coordinates."""

    def __init__(self, size: int) -> None:
        self.nodes = np.empty((2, size, kernels.CAPACITY))
        self.rough = np.empty((2, size, kernels.CAPACITY), dtype=np.float32)
        self.parents = np.empty((2, kernels.CAPACITY), dtype=np.int64)
        self.strides = np.empty((2, kernels.CAPACITY))
        self.squares = np.empty(kernels.CAPACITY, dtype=np.float32)


def _memory(size: int) -> _Memory:
    """What a thread uses again and again: to get fresh pages from the system takes as long as a short search."""
    kept: dict[int, _Memory] = _of_thread.__dict__.setdefault("kept", {})
    if size not in kept:
        kept[size] = _Memory(size)
    return kept[size]


class _Trees:
    """The arrays of both trees, and the leads that their roots are the ends of; a thread has one at a time.

    weights (k,): of the coordinates.
    """

    def __init__(self, space: Subspace, weights: Array, longest: float) -> None:
        self._space = space
        self._weights = weights
        self._longest = longest
        memory = _memory(space.size)
        self.nodes, self.rough, self.parents = memory.nodes, memory.rough, memory.parents
        self.strides, self.squares = memory.strides, memory.squares
        self.counts = np.zeros(5, dtype=np.int64)
        self._leads: dict[tuple[int, int], Array] = {}

    def add(self, tree: int, leads: Sequence[Array]) -> None:
        """Add the inner ends of leads as roots of a tree."""
        for lead in leads:
            at = int(self.counts[tree])
            if at + 1 < kernels.CAPACITY:
                point = self._space.to_reduced(lead[-1]) * self._weights
                self.nodes[tree, :, at] = self.rough[tree, :, at] = point
                self.parents[tree, at], self.strides[tree, at] = -1, self._longest
                self._leads[tree, at] = lead
                self.counts[tree] += 1

    def path(self) -> tuple[Array, Array, Array]:
        """The path (n, k) over the meeting, without weights, between what leads to its two ends, outermost first."""
        (first, start), (second, goal) = (
            kernels.branch(
                self.nodes[tree], self.parents[tree], int(self.counts[kernels.START_MEETING + tree]), self._weights
            )
            for tree in (0, 1)
        )
        path = np.concatenate((first[::-1], second))
        return self._leads[0, start][:-1], path, self._leads[1, goal][:-1]

    def nearest_approach(self) -> float:
        """Smallest distance of two nodes, one of either tree; NaN if one tree is empty."""
        one, other = (self.nodes[tree, :, : int(self.counts[tree])].T / self._weights for tree in (0, 1))
        if not len(one) or not len(other):
            return math.nan
        return float(np.min(cKDTree(other).query(one)[0]))


@dataclass(frozen=True, eq=False)
class _Axes:
    """Coordinates in which trees grow, z: q = origin + basis z, or origin + weighted_basis (weights z)."""

    origin: Array
    basis: Array
    weights: Array

    @cached_property
    def weighted_basis(self) -> Array:
        return np.ascontiguousarray(self.basis / self.weights)


def _axes(certifier: MotionCertifier, space: Subspace) -> _Axes:
    """The coordinates of a subspace; those of all of joint space are kept with the certifier."""
    if not space.whole:
        return _Axes(np.ascontiguousarray(space.origin), np.ascontiguousarray(space.basis), np.ones(space.size))
    if certifier not in _AXES:
        weights = _weights(certifier)
        _AXES[certifier] = _Axes(np.zeros(len(weights)), np.eye(len(weights)), weights)
    return _AXES[certifier]


def _weights(certifier: MotionCertifier) -> Array:
    """Weights (dof,) of joints in distances between configurations, their geometric mean 1: the square root of how far
    each moves anything per rad or m, so that trees grow more where more is moved."""
    scene = certifier.scene
    speeds = np.zeros(len(certifier.checker.variables))
    for joint, speed in zip(scene.tree.joints, scene.model.speed_bounds.max(axis=0, initial=0.0).tolist(), strict=True):
        speeds[joint.variable] = max(speeds[joint.variable], abs(joint.multiplier) * speed)
    weights = np.sqrt(np.clip(speeds, 0.01 * max(float(speeds.max()), 1e-9), FARTHEST))
    return np.asarray(weights / np.exp(np.log(weights).mean()))


def natively_tightened(path: Array, checks: CountedChecks, subspace: Subspace) -> Array:
    """A path (n, dof), all of which balls prove free, pulled tight."""
    assert checks.certifier is not None
    planner = CertifiedRrtConnect(checks.certifier, subspace)
    tight = planner.tightened(path)
    checks.states += planner.states
    return tight


def natively_shortened(path: Array, checks: CountedChecks, subspace: Subspace, seed: int) -> Array:
    """A path (n, dof), all of which balls prove free, made as short as the native planner makes its own."""
    assert checks.certifier is not None
    planner = CertifiedRrtConnect(checks.certifier, subspace)
    shorter = planner.shortened(path, seed % 2**62)
    checks.states += planner.states
    return shorter
