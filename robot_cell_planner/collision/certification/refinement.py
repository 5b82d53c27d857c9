"""Bound on the collisions that a sampled motion may miss, for motions without a certificate.

Intervals in which objects are closer than they may move between two states are bisected, the interval with the largest
possible overlap first. When the maximum number of states is reached, the remaining largest possible overlap is a bound
on the penetration depth between the states.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..checker import CollisionChecker
from ..engines.base import ABSOLUTE_ERROR, TOUCHING
from ._kernels.arrays import UNBOUNDED
from .certifier import MotionCertifier
from .curves import MORE, JointCurve
from .exact import ExactCertifier, OpenPair
from .motion_bounds import motion_model

Floats = NDArray[np.float64]
Pair = tuple[int, int]  # indices of two collision objects
ENOUGH = 4_000  # maximum number of configurations for one motion
NEGLIGIBLE = ABSOLUTE_ERROR["coal"]  # [m] beyond TOUCHING, resolution of the distance computation
WIDEST = 0.05  # [m], maximum approach of objects from the middle of an initial interval to its ends
MAX_INTERVALS = 500
AT_ONCE = 64  # configurations between two calls of `on_step`


@dataclass(frozen=True)
class Overlap:
    """An overlap of two objects on a motion that was found, or that the states may have missed.

    Attributes:
        collides: Whether the overlap was found, at `configuration`.
        configuration: Configuration (dof,) of the overlap, or of the middle of the interval.
        depth: Penetration depth [m], found or possible; infinite if no bound holds, as beyond the limits of a prismatic
            joint.
        first, second: Names of the objects; "" if no bound holds.
    """

    collides: bool
    configuration: tuple[float, ...]
    depth: float
    first: str = ""
    second: str = ""


def describe_overlap(found: Overlap) -> str:
    """Return a sentence about a possible overlap between states, for warnings."""
    if math.isinf(found.depth):
        return "for which there is no bound, states were checked only at the resolution"
    depth = f"{1.005e3 * found.depth:.3g} mm"  # rounded up
    return f"{found.first} and {found.second} may overlap by up to {depth} between the states that were checked"


@dataclass(frozen=True, eq=False)
class Polyline:
    """Piecewise linear motion through configurations (n, dof), as a curve of one piece.

    The parameter counts configurations.
    """

    configurations: Floats
    travelled: Floats

    @staticmethod
    def through(configurations: Floats) -> Polyline:
        """Return the piecewise linear motion through configurations (n, dof)."""
        steps = np.abs(np.diff(configurations, axis=0))
        start = np.zeros((1, configurations.shape[1]))
        return Polyline(configurations, np.concatenate((start, np.cumsum(steps, axis=0))))

    @property
    def pieces(self) -> Floats:
        return np.array((0.0, float(len(self.configurations) - 1)))

    def at(self, parameter: float) -> Floats:
        return np.asarray(_between(self.configurations, np.array((parameter,)))[0])

    def deviation_bound(self, middle: float, half: float) -> Floats:
        return np.asarray(self.boxes(np.array(((middle, half),)))[1][0])

    def boxes(self, intervals: Floats) -> tuple[Floats, Floats]:
        middles, halves = intervals[:, 0], intervals[:, 1]
        before, here, after = (_between(self.travelled, middles + side * halves) for side in (-1.0, 0.0, 1.0))
        return _between(self.configurations, middles), np.maximum(here - before, after - here) * MORE


def _between(rows: Floats, parameters: Floats) -> Floats:
    """Return rows (n, dof) interpolated at indices (n,) that need not be whole."""
    first = np.clip(parameters.astype(np.intp), 0, len(rows) - 1)
    fractions = np.clip(parameters - first, 0.0, 1.0)[:, None]
    return np.asarray(rows[first] + fractions * (rows[np.minimum(first + 1, len(rows) - 1)] - rows[first]))


class _Interval(NamedTuple):
    """An interval in which pairs may overlap, ordered for a heap.

    rank: negative missing distance of the worst pair, so that the worst interval is first.
    """

    rank: float
    number: int
    middle: float
    half: float
    pairs: set[Pair]
    pair: Pair


def _halves(heap: list[_Interval], count: int) -> tuple[Floats, list[Set[Pair] | None]]:
    """Take the worst intervals from a heap, about `count` / 2; return their halves (n, 2) and pairs."""
    rows: list[tuple[float, float]] = []
    candidates: list[Set[Pair] | None] = []
    while heap and -heap[0].rank >= NEGLIGIBLE and len(rows) < max(count - 1, 1):
        _, _, middle, half, pairs, _ = heapq.heappop(heap)
        half *= 0.5
        rows += [(middle - half, half), (middle + half, half)]
        candidates += [pairs, pairs]
    return np.array(rows), candidates


class MotionRefiner:
    """Search for overlaps between the sampled states of a checker's motions. states: number of configurations checked.

    The distances of engines other than coal are used uncorrected, whatever their error.
    """

    def __init__(self, checker: CollisionChecker) -> None:
        self._checker = checker
        self._model = motion_model(checker)
        self._exact = ExactCertifier(checker)

    @property
    def states(self) -> int:
        """Number of configurations checked."""
        return self._exact.states

    def deepest_overlap(
        self,
        curve: Polyline,
        certifier: MotionCertifier | None = None,
        *,
        ignored: Set[frozenset[str]] = frozenset(),
        enough: int = ENOUGH,
        on_step: Callable[[], None] = lambda: None,
    ) -> Overlap | None:
        """Return the first overlap found on a curve, or the deepest possible one; None if there is none.

        Overlaps up to `engines.base.TOUCHING`, plus the error of the distance computation, are ignored.

        Args:
            curve: Motion to search.
            certifier: Certifier whose sphere test excludes intervals first; None: no sphere test.
            ignored: Pairs of names that may overlap.
            enough: Maximum number of configurations.
            on_step: Called repeatedly; it may raise an error to end the search.
        """
        low, high = curve.pieces.tolist()
        if not self._bounded(curve):
            return Overlap(False, tuple(curve.at(0.5 * (low + high)).tolist()), float("inf"))
        intervals = self._narrow(curve, low, high) if certifier is None else certifier.undecided_intervals(curve)
        spent, checked = self.states + enough, 0
        heap: list[_Interval] = []
        planes = self._exact.known_planes()
        parts: list[tuple[Floats, list[Set[Pair] | None]]] = []
        for first in range(0, len(intervals), AT_ONCE):
            part = intervals[first : first + AT_ONCE]
            parts.append((part, [None] * len(part)))
        while True:
            for part, candidates in parts:
                on_step()
                configurations, deviations = curve.boxes(part)
                open_pairs = self._exact.open_pairs(configurations, deviations, 0.0, candidates, planes)
                for (middle, half), q, every in zip(part.tolist(), configurations, open_pairs, strict=True):
                    found = self._without(every, ignored)
                    checked += 1
                    deepest = min(found, key=lambda entry: entry.distance, default=None)
                    if deepest is not None and deepest.distance < -TOUCHING and self._collides(q, ignored):
                        return self._overlap(True, q, -deepest.distance, deepest.pair)
                    if found:
                        worst = max(found, key=lambda entry: entry.missing)
                        pairs = {entry.pair for entry in found}
                        heapq.heappush(heap, _Interval(-worst.missing, checked, middle, half, pairs, worst.pair))
            if not heap or -heap[0].rank < NEGLIGIBLE:
                return None
            if self.states >= spent:
                return self._overlap(False, curve.at(heap[0].middle), TOUCHING - heap[0].rank, heap[0].pair)
            parts = [_halves(heap, min(AT_ONCE, spent - self.states))]

    def _without(self, found: list[OpenPair], ignored: Set[frozenset[str]]) -> list[OpenPair]:
        return [entry for entry in found if self._names(entry.pair) not in ignored] if ignored else found

    def _narrow(self, curve: JointCurve, low: float, high: float) -> Floats:
        """Return equal intervals (n, 2), short enough that few pairs are near enough for a distance query."""
        half = 0.5 * (high - low)
        approach = float(self._model.approach_bounds @ curve.deviation_bound(low + half, half))
        count = min(max(1, math.ceil(approach / WIDEST)), MAX_INTERVALS)
        half /= count
        return np.column_stack((low + half * (2.0 * np.arange(count) + 1.0), np.full(count, half)))

    def _bounded(self, curve: Polyline) -> bool:
        """Return whether the motion bounds hold on a curve."""
        rows = curve.configurations
        beyond = (self._model.prismatic_excess(at) for at in (rows.min(axis=0), rows.max(axis=0)))
        return not (self._model.approach_bounds >= UNBOUNDED).any() and all(value is None for value in beyond)

    def _collides(self, q: Floats, ignored: Set[frozenset[str]]) -> bool:
        """Return whether the engine's boolean check agrees; at the threshold distances differ in their last digits."""
        if not ignored:
            return self._checker.in_collision(q)
        return any(frozenset((pair.first, pair.second)) not in ignored for pair in self._checker.report(q).pairs)

    def _names(self, pair: Pair) -> frozenset[str]:
        objects = self._checker.allowed_pairs.objects
        return frozenset(objects[index].name for index in pair)

    def _overlap(self, collides: bool, q: Floats, depth: float, pair: Pair) -> Overlap:
        first, second = (self._checker.allowed_pairs.objects[index].name for index in pair)
        return Overlap(collides, tuple(q.tolist()), depth, first, second)
