"""Fastest motion through a roadmap of configurations while other robots move.

Each vertex has safe intervals: times in which the robot may rest there. Edges are straight motions from rest to rest.
A* over pairs of vertex and safe interval finds the earliest arrival, since within an interval an earlier arrival is
never worse than a later one: the robot can wait (Phillips and Likhachev, "SIPP: Safe Interval Path Planning for Dynamic
Environments", 2011). Edges are evaluated only when the lower bound of their arrival is the smallest of all.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise

import numpy as np

from ...trajectory.limits import Array, MotionLimits
from ...trajectory.straight_motions import straight_motion_on_grid
from ...trajectory.timing import TimingOptions
from ..problem.collision_checks import CountedChecks
from .timed_checks import SafeInterval, StraightTimedMotion, TimedChecks

MAX_NEIGHBOURS = 24
SAME_VERTEX = 1e-9  # [rad or m]


@dataclass(frozen=True, eq=False)
class TimedStep:
    """Straight motion from one configuration to another, which begins at a time [s]."""

    departure: float
    motion: StraightTimedMotion
    start: Array
    end: Array

    @property
    def arrival(self) -> float:
        return self.departure + self.motion.duration


@dataclass(order=True)
class _Entry:
    """Entry of the queue: an edge to evaluate (`departure` is NaN), or an arrival to settle."""

    bound: float
    number: int
    node: tuple[int, int] = field(compare=False)
    origin: tuple[int, int] | None = field(compare=False)
    arrival: float = field(compare=False)
    departure: float = field(compare=False)


class TimedRoadmap:
    """Roadmap whose first vertex is the start.

    Args:
        static: Checks of the planned joints without the moving robots.
        timed: Checks together with the moving robots.
        limits, options: For the timing of straight motions.
        period: Interval between times of departure that are tried [s].
        step: Max step of static checks [rad or m].
        exhausted: Whether no further state may be checked, which ends a search.
    """

    def __init__(
        self,
        start: Array,
        static: CountedChecks,
        timed: TimedChecks,
        limits: MotionLimits,
        options: TimingOptions,
        *,
        period: float,
        step: float,
        exhausted: Callable[[], bool] = lambda: False,
    ) -> None:
        self.vertices: list[Array] = [start]
        self.goals: set[int] = set()
        self._static = static
        self._timed = timed
        self._limits = limits
        self._applied = options.apply(limits)
        self._options = options
        self._period = period
        self._step = step
        self._exhausted = exhausted
        self._safe: dict[int, tuple[SafeInterval, ...]] = {}
        self._motions: dict[tuple[int, int], StraightTimedMotion | None] = {}
        self._departures: dict[tuple[int, int, float, float], float | None] = {}

    def add(self, q: Array, *, goal: bool = False) -> int:
        """Add a vertex, or find the one that is equal; return its index."""
        away = np.abs(np.array(self.vertices) - q).max(axis=1)
        index = int(np.argmin(away))
        if away[index] > SAME_VERTEX:
            index = len(self.vertices)
            self.vertices.append(q)
        if goal:
            self.goals.add(index)
        return index

    def safe_intervals(self, index: int) -> tuple[SafeInterval, ...]:
        """Return the safe intervals of a vertex; none if no further state may be checked before they are known."""
        if index not in self._safe:
            found = self._timed.safe_intervals(self.vertices[index])
            if found is None:
                return ()
            self._safe[index] = found
        return self._safe[index]

    def start_free_until(self) -> float:
        """Return the time until which the start is free [s]; infinite if it always is, or if that is not known."""
        if 0 not in self._safe:
            return math.inf
        return self._safe[0][0].end if self._safe[0] else 0.0

    def min_duration(self, start: Array, ends: Sequence[Array]) -> float:
        """Return a lower bound of the time to the nearest of some configurations [s]."""
        velocity, acceleration = self._applied.velocity, self._applied.acceleration
        way = np.abs(np.asarray(ends) - start)
        # The fastest motion of a joint from rest to rest with limited velocity and acceleration.
        ramp = velocity**2 / acceleration
        times = np.where(way < ramp, 2.0 * np.sqrt(way / acceleration), way / velocity + velocity / acceleration)
        return float(np.where(way > 0.0, times, 0.0).max(axis=1).min())

    def min_path_duration(self, path: Array) -> float:
        """Return the duration of a path (n, dof) without waiting [s]."""
        return sum(motion.duration for motion in self._motions_along(path))

    def conflicts(self, path: Array) -> tuple[float, ...]:
        """Return the times [s] at which each straight motion of a path (n, dof) without waiting is first blocked."""
        found: list[float] = []
        departure = 0.0
        for motion in self._motions_along(path):
            time = self._timed.first_conflict(motion, departure)
            if time is not None:
                found.append(time)
            departure += motion.duration
        return tuple(found)

    def _motions_along(self, path: Array) -> list[StraightTimedMotion]:
        return [self._straight(start, end) for start, end in pairwise(path)]

    def _straight(self, start: Array, end: Array) -> StraightTimedMotion:
        step, path_speed = self._options.duration_step, self._options.path_speed
        return StraightTimedMotion(straight_motion_on_grid(start, end, self._applied, step, path_speed))

    def search(self) -> tuple[TimedStep, ...] | None:
        """Return the steps to the goal that is reached first, and can be rested at from then on; None if there is none,
        or if no further state may be checked before it is found."""
        goals = [self.vertices[index] for index in sorted(self.goals)]
        remaining = [self.min_duration(vertex, goals) for vertex in self.vertices]
        numbers = count()
        settled: dict[tuple[int, int], _Entry] = {}
        queue: list[_Entry] = []
        if self.safe_intervals(0) and self.safe_intervals(0)[0].begin <= 0.0:
            queue.append(_Entry(remaining[0], next(numbers), (0, 0), None, 0.0, 0.0))
        while queue and not self._exhausted():
            entry = heapq.heappop(queue)
            if entry.node in settled:
                continue
            if math.isnan(entry.departure):
                evaluated = self._evaluated(entry, settled, remaining, next(numbers))
                if evaluated is not None:
                    heapq.heappush(queue, evaluated)
                continue
            settled[entry.node] = entry
            vertex, interval = entry.node
            if vertex in self.goals and math.isinf(self.safe_intervals(vertex)[interval].end):
                return self._steps(entry, settled)
            for bound, node in self._successors(entry, remaining):
                if node not in settled:
                    arrival = bound - remaining[node[0]]
                    heapq.heappush(queue, _Entry(bound, next(numbers), node, entry.node, arrival, math.nan))
        return None

    def _successors(self, entry: _Entry, remaining: Sequence[float]) -> list[tuple[float, tuple[int, int]]]:
        """Return lower bounds of the arrival at the goal, and the nodes that may be reached from a settled one."""
        vertex, interval = entry.node
        until = self.safe_intervals(vertex)[interval].end
        found: list[tuple[float, tuple[int, int]]] = []
        for other in self._neighbours(vertex):
            motion = self._motion(vertex, other)
            if motion is None:
                continue
            for index, safe in enumerate(self.safe_intervals(other)):
                arrival = max(entry.arrival + motion.duration, safe.begin)
                if arrival <= min(safe.end, until + motion.duration):
                    found.append((arrival + remaining[other], (other, index)))
        return found

    def _neighbours(self, vertex: int) -> list[int]:
        """Return the nearest vertices, and all goals."""
        away = np.abs(np.asarray(self.vertices) - self.vertices[vertex]).max(axis=1)
        order = np.argsort(away, kind="stable")[1 : 1 + MAX_NEIGHBOURS].tolist()
        return [index for index in dict.fromkeys([*order, *sorted(self.goals)]) if index != vertex]

    def _motion(self, first: int, last: int) -> StraightTimedMotion | None:
        """Return the straight motion between two vertices; None if it collides without the moving robots."""
        key = (first, last)
        if key not in self._motions:
            start, end = self.vertices[first], self.vertices[last]
            found = None
            back = self._motions.get((last, first))
            if back is not None or ((last, first) not in self._motions and self._static_free(start, end)):
                found = self._straight(start, end)
            self._motions[key] = found
        return self._motions[key]

    def _static_free(self, start: Array, end: Array) -> bool:
        return self._static.motion_free(start, end, self._step)

    def _evaluated(
        self, entry: _Entry, settled: dict[tuple[int, int], _Entry], remaining: Sequence[float], number: int
    ) -> _Entry | None:
        """Return the entry of an edge with its departure; None if the motion is never free."""
        assert entry.origin is not None
        vertex, interval = entry.node
        first, from_interval = entry.origin
        motion = self._motion(first, vertex)
        assert motion is not None
        safe, until = self.safe_intervals(vertex)[interval], self.safe_intervals(first)[from_interval].end
        earliest = self._rounded(max(settled[entry.origin].arrival, safe.begin - motion.duration))
        latest = min(until, safe.end - motion.duration)
        key = (first, vertex, earliest, latest)
        if key not in self._departures:
            found = None
            if earliest <= latest:
                found = self._timed.first_departure(motion, earliest, latest, self._period)
            self._departures[key] = found
        departure = self._departures[key]
        if departure is None:
            return None
        arrival = departure + motion.duration
        return _Entry(arrival + remaining[vertex], number, entry.node, entry.origin, arrival, departure)

    def _rounded(self, time: float) -> float:
        """Return a time rounded up to a multiple of the step of durations."""
        return math.ceil(time / self._options.duration_step - 1e-6) * self._options.duration_step

    def _steps(self, entry: _Entry, settled: dict[tuple[int, int], _Entry]) -> tuple[TimedStep, ...]:
        steps: list[TimedStep] = []
        while entry.origin is not None:
            first, last = entry.origin[0], entry.node[0]
            motion = self._motion(first, last)
            assert motion is not None
            steps.append(TimedStep(entry.departure, motion, self.vertices[first], self.vertices[last]))
            entry = settled[entry.origin]
        return tuple(reversed(steps))
