"""Checks of a robot at rest and of its motions against robots that move on known trajectories."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...collision.certification.certifier import MotionCertifier
from ...collision.checker import CollisionChecker
from ...trajectory.curves import PolynomialCurve
from ...trajectory.limits import Array
from ..problem.progress import ProgressMonitor
from .moving_robots import MovingRobots

COARSE = 0.02  # [s], intervals that are checked first
FINEST = 0.0025  # [s], intervals that are not divided further by default
DEPARTURES_AT_ONCE = 16
CELLS_AT_ONCE = 1024
FREE, UNDECIDED, HIT = 0, 1, 2
Verdicts = NDArray[np.int8]


class TimedMotion(Protocol):
    """Motion of the planned joints over its own time, from 0 to `duration` [s]."""

    @property
    def duration(self) -> float: ...

    def extent(self, begins: Array, ends: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds (n, dof) of the joint values in intervals of time (n,), (n,)."""
        ...


@dataclass(frozen=True, eq=False)
class StraightTimedMotion:
    """Straight motion, with a monotone time scaling."""

    curve: PolynomialCurve

    @property
    def duration(self) -> float:
        return self.curve.duration

    def extent(self, begins: Array, ends: Array) -> tuple[Array, Array]:
        first, last = self.curve.evaluate(begins), self.curve.evaluate(ends)
        return np.minimum(first, last), np.maximum(first, last)


@dataclass(frozen=True, eq=False)
class RestMotion:
    """Rest at a configuration (dof,)."""

    q: Array
    duration: float

    def extent(self, begins: Array, ends: Array) -> tuple[Array, Array]:
        rows = np.broadcast_to(self.q, (len(begins), len(self.q)))
        return rows, rows


@dataclass(frozen=True, eq=False)
class SafeInterval:
    """Interval of time [s] in which a configuration is free; `end` is infinite for the last one."""

    begin: float
    end: float


class TimedChecks:
    """Checks of the planned joints together with those of moving robots.

    The spheres of the certificates decide about boxes in joint space: the values that planned and moving joints take
    within an interval of time. Boxes that they leave undecided are divided, and at last checked at their middle, or
    count as blocked if `strict`.

    Attributes:
        states: Number of boxes and states checked.
        motions: 0; motions are counted by their boxes.

    Args:
        checker: Checker of the planned joints followed by those of the moving robots.
        certifier: Its certifier; None if nothing can be proven.
        exhausted: Whether no further state may be checked.
        finest: Duration of intervals that are not divided further [s].
    """

    def __init__(
        self,
        checker: CollisionChecker,
        certifier: MotionCertifier | None,
        moving: MovingRobots,
        monitor: ProgressMonitor,
        exhausted: Callable[[], bool] = lambda: False,
        *,
        finest: float = FINEST,
        strict: bool = False,
    ) -> None:
        self.checker = checker
        self.moving = moving
        self.monitor = monitor
        self.finest = finest
        self.strict = strict
        self.states = self.motions = 0
        monitor.register(self)
        self._exhausted = exhausted
        self._certifier = certifier if certifier is not None and certifier.sphere_test_applies() else None

    def safe_intervals(self, q: Array) -> tuple[SafeInterval, ...] | None:
        """Return the intervals of time in which a configuration (dof,) is free, in order; None if no further state may
        be checked before they are known."""
        end = self.moving.end_time
        cells = math.ceil(end / COARSE - 1e-9)
        rest = RestMotion(q, end)
        begins: Array = np.arange(cells, dtype=np.float64) * COARSE
        ends: Array = np.minimum(begins + COARSE, end)
        free: list[bool] = []
        for begin in range(0, cells, CELLS_AT_ONCE):
            self.monitor.check(self.states)
            if self._exhausted():
                return None
            part = slice(begin, begin + CELLS_AT_ONCE)
            free.extend(self._cells_free(rest, begins[part], ends[part]))
        at_end = np.concatenate((q, self.moving.at(np.array([end]))[0]))
        self.states += 1
        free.append(not self.checker.in_collision(at_end))
        found: list[SafeInterval] = []
        first: int | None = None
        for index, safe in enumerate([*free, False]):
            if safe and first is None:
                first = index
            elif not safe and first is not None:
                until = math.inf if index == len(free) else index * COARSE
                found.append(SafeInterval(first * COARSE if first < cells else end, until))
                first = None
        return tuple(found)

    def _cells_free(self, rest: RestMotion, begins: Array, ends: Array) -> list[bool]:
        """Return whether a configuration is free in each of some intervals of time."""
        verdicts = self._verdicts(rest, begins, ends, np.zeros(len(begins)))
        parts = (slice(index, index + 1) for index in range(len(begins)))
        return [self._free(rest, begins[part], ends[part], 0.0, verdicts[part]) for part in parts]

    def first_departure(self, motion: TimedMotion, earliest: float, latest: float, period: float) -> float | None:
        """Return the first of the times `earliest`, `earliest + period`, ... up to `latest` [s] at which a motion can
        begin without collision; None if there is none, or if no further state may be checked before it is found.

        Later than the end of the moving robots only one time is tried.
        """
        last = min(latest, max(earliest, self.moving.end_time + period))
        count = math.floor((last - earliest) / period + 1e-9) + 1
        begins, ends = _division(motion.duration, COARSE)
        for first in range(0, count, DEPARTURES_AT_ONCE):
            self.monitor.check(self.states)
            if self._exhausted():
                return None
            numbers = np.arange(first, min(count, first + DEPARTURES_AT_ONCE), dtype=np.float64)
            departures: Array = earliest + period * numbers
            size = len(begins)
            verdicts = self._verdicts(
                motion,
                np.tile(begins, len(departures)),
                np.tile(ends, len(departures)),
                np.repeat(departures, size),
            ).reshape(-1, size)
            for departure, row in zip(departures.tolist(), verdicts, strict=True):
                if self._free(motion, begins, ends, departure, row):
                    return float(departure)
        return None

    def first_pair_at_rest(self, q: Array, time: float) -> tuple[str, ...]:
        """Return the names of the pair that collides first at a configuration (dof,) after a time [s]; () if none."""
        times = np.linspace(time, time + COARSE, 1 + round(COARSE / FINEST))
        for values in self.moving.at(times):
            pair = self.checker.first_pair(np.concatenate((q, values)))
            if pair is not None:
                return pair.first, pair.second
        return ()

    def first_conflict(self, motion: TimedMotion, departure: float) -> float | None:
        """Return the first time [s] at which a motion that begins at a time is not free; None if it is free."""
        begins, ends = _division(motion.duration, COARSE)
        verdicts = self._verdicts(motion, begins, ends, np.full(len(begins), departure))
        for index in np.flatnonzero(verdicts != FREE).tolist():
            one = slice(index, index + 1)
            if not self._free(motion, begins[one], ends[one], departure, verdicts[one]):
                return departure + 0.5 * float(begins[index] + ends[index])
        return None

    def _free(self, motion: TimedMotion, begins: Array, ends: Array, departure: float, verdicts: Verdicts) -> bool:
        """Return whether a motion that begins at `departure` is free in intervals with known verdicts of spheres."""
        if self.strict and (verdicts == HIT).any():
            return False
        if (verdicts == FREE).all():
            return True
        # The middles of intervals with overlapping spheres are the most likely collisions.
        hit = verdicts == HIT
        if not self._states_free(motion, 0.5 * (begins + ends)[hit], departure):
            return False
        touching = [(begins[hit], ends[hit])]
        begins, ends = begins[verdicts == UNDECIDED], ends[verdicts == UNDECIDED]
        while len(begins) and float((ends - begins).max()) > self.finest * (1.0 + 1e-6):
            begins, ends = _halves(begins, ends)
            found = self._verdicts(motion, begins, ends, np.full(len(begins), departure))
            if self.strict and (found == HIT).any():
                return False
            touching.append((begins[found == HIT], ends[found == HIT]))
            begins, ends = begins[found == UNDECIDED], ends[found == UNDECIDED]
        if self.strict:
            return not len(begins)
        touching.append((begins, ends))
        return self._states_free(
            motion, np.concatenate([_fine_times(*part, self.finest) for part in touching]), departure
        )

    def _states_free(self, motion: TimedMotion, times: Array, departure: float) -> bool:
        low, high = motion.extent(times, times)
        states = np.hstack((0.5 * (low + high), self.moving.at(times + departure)))
        for q in states:
            self.states += 1
            if self.checker.in_collision(q):
                return False
        return True

    def _verdicts(self, motion: TimedMotion, begins: Array, ends: Array, departures: Array) -> Verdicts:
        """Return the verdicts (n,) of the spheres about intervals of a motion that begins at `departures` (n,)."""
        if self._certifier is None:
            return np.full(len(begins), UNDECIDED, dtype=np.int8)
        self.states += len(begins)
        low, high = motion.extent(begins, ends)
        low_moving, high_moving = self.moving.bounds(begins + departures, ends + departures)
        low, high = np.hstack((low, low_moving)), np.hstack((high, high_moving))
        return self._certifier.check_boxes(0.5 * (low + high), 0.5 * (high - low))


def _division(duration: float, step: float) -> tuple[Array, Array]:
    """Return begins and ends of equal intervals of at most `step` [s]."""
    count = max(1, math.ceil(duration / step - 1e-9))
    edges = np.linspace(0.0, duration, count + 1)
    return edges[:-1], edges[1:]


def _halves(begins: Array, ends: Array) -> tuple[Array, Array]:
    middles = 0.5 * (begins + ends)
    return np.concatenate((begins, middles)), np.concatenate((middles, ends))


def _fine_times(begins: Array, ends: Array, finest: float) -> Array:
    """Return times in intervals, at most `finest` apart [s], in the order of bisection."""
    if not len(begins):
        return begins
    parts: list[Array] = []
    while len(begins):
        parts.append(0.5 * (begins + ends))
        wide = ends - begins > finest * (1.0 + 1e-6)
        begins, ends = _halves(begins[wide], ends[wide])
    return np.concatenate(parts)
