"""Collision checks of whole paths and trajectories, given as arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRequestError, LimitExceededError, Value
from .checker import STATES_AT_ONCE, CollisionChecker, halving_order, segments
from .report import Clearance, CollisionPair

Floats = NDArray[np.float64]
MAX_STATES = 10_000_000
MAX_COLLISIONS = 100_000


@dataclass(frozen=True)
class PathCollision:
    """A pair that collides somewhere on a path.

    point: index of the waypoint that collides, or that follows the collision. place: where, counted in
    waypoints: 2.5 is halfway from waypoint 2 to 3. time [s]: there; 0 for a path without times.
    """

    point: int
    place: float
    time: float
    pair: CollisionPair


@dataclass(frozen=True)
class PathClearance:
    """The closest approach on a path, with its place and time as in `PathCollision`."""

    clearance: Clearance
    place: float
    time: float


@dataclass(frozen=True)
class PathReport:
    """What a check of a path found.

    collisions: in their order on the path; only the first one met, if not all were asked for. truncated:
    there were more than the limit. states_checked: how many configurations were looked at. smallest: None if
    not asked for.
    """

    collisions: tuple[PathCollision, ...]
    states_checked: int
    truncated: bool = False
    smallest: PathClearance | None = None

    @property
    def valid(self) -> bool:
        return not self.collisions


def check_path(
    checker: CollisionChecker,
    waypoints: Floats,
    times: Sequence[float] | None = None,
    *,
    find_all: bool = False,
    resolution: float = 0.0,
    clearance: bool = False,
    max_collisions: int = 1000,
    max_states: int = MAX_STATES,
) -> PathReport:
    """Check a path at its waypoints (n, dof), and between them where a resolution is given.

    times: (n,) [s] of the waypoints. find_all: report every colliding pair of every state, in order;
    otherwise states are tried in an order that jumps all over the path, so that a bad one is refused early,
    and the first collision met ends it. resolution: no variable changes by more than this [rad or m] from one
    state to the next; 0: waypoints only. clearance: find also the closest approach, at the same states, which
    takes longer. max_collisions: to report. max_states: to look at.

    Raises:
        InvalidRequestError: shapes do not fit, or a value is not finite, or a limit is negative.
        LimitExceededError: the resolution asks for too many states.
    """
    path = np.asarray(waypoints, dtype=np.float64)
    # Malformed waypoints are refused before anything is checked.
    checker.require_configurations(path)
    stamps = _times(times, len(path))
    if not 1 <= max_collisions <= MAX_COLLISIONS:
        raise InvalidRequestError(f"max_collisions is {max_collisions}, expected 1 to {MAX_COLLISIONS}")
    places = _places(path, resolution, max_states)
    collisions: list[PathCollision] = []
    truncated = False
    checked = 0
    order = np.arange(len(places)) if find_all else _jumping_order(len(places))
    for index in order.tolist():
        place = float(places[index])
        checked += 1
        q = path_at(path, place)
        if not checker.in_collision(q):
            continue
        pairs = checker.report(q).pairs if find_all else checker.report(q, max_pairs=1).pairs
        collisions.extend(PathCollision(math.ceil(place), place, _time(stamps, place), pair) for pair in pairs)
        truncated = len(collisions) > max_collisions
        if truncated or not find_all:
            break
    smallest = _smallest(checker, path, places, stamps) if clearance else None
    return PathReport(tuple(collisions[:max_collisions]), checked, truncated, smallest)


def smallest_clearance(
    checker: CollisionChecker,
    waypoints: Floats,
    times: Sequence[float] | None = None,
    *,
    resolution: float = 0.0,
) -> PathClearance:
    """The closest approach of any two things on a path; arguments and errors as in `check_path`."""
    path = np.asarray(waypoints, dtype=np.float64)
    checker.require_configurations(path)
    return _smallest(checker, path, _places(path, resolution), _times(times, len(path)))


def _smallest(checker: CollisionChecker, path: Floats, places: Floats, stamps: Floats) -> PathClearance:
    best = PathClearance(Clearance(math.inf), 0.0, 0.0)
    for first in range(0, len(places), STATES_AT_ONCE):
        part = places[first : first + STATES_AT_ONCE].tolist()
        configurations = np.array([path_at(path, place) for place in part])
        # Only what is closer than the best so far is searched.
        found = checker.closest_of(configurations, best.clearance.distance)
        if found is not None and found[1].distance < best.clearance.distance:
            place = part[found[0]]
            best = PathClearance(found[1], place, _time(stamps, place))
    return best


def _places(path: Floats, resolution: float, most: int = MAX_STATES) -> Floats:
    """Where the path is looked at, counted in waypoints, ascending."""
    if not (math.isfinite(resolution) and resolution >= 0.0):
        raise InvalidRequestError(f"resolution is {resolution}, expected a finite number of at least 0")
    if resolution == 0.0 or len(path) < 2:
        return np.arange(float(len(path)))
    counts = [segments(a, b, resolution) for a, b in pairwise(path)]
    if sum(counts) >= most:
        numbers = (Value("states", sum(counts) + 1, most),)
        raise LimitExceededError("the path has too many states at that resolution", values=numbers)
    starts = [index + np.arange(count) / count for index, count in enumerate(counts)]
    return np.concatenate([*starts, [float(len(path) - 1)]])


def _jumping_order(count: int) -> NDArray[np.intp]:
    """All indices below count: both ends, then by ever finer halving."""
    if count < 2:
        return np.arange(count)
    return np.rint(np.fromiter(halving_order(count - 1), dtype=np.float64) * (count - 1)).astype(np.intp)


def path_at(path: Floats, place: float) -> Floats:
    """The configuration (dof,) at a place of a path (n, dof), counted in waypoints."""
    index = min(int(place), len(path) - 1)
    part = place - index
    q: Floats = path[index]
    return q if part == 0.0 else q + part * (path[index + 1] - q)


def _times(times: Sequence[float] | None, count: int) -> Floats:
    stamps = np.zeros(count) if times is None else np.asarray(times, dtype=np.float64)
    if stamps.shape != (count,):
        raise InvalidRequestError(f"times have shape {stamps.shape}, expected ({count},)")
    if not np.isfinite(stamps).all() or (np.diff(stamps) < 0.0).any():
        raise InvalidRequestError("times are not finite, or decrease")
    return stamps


def _time(stamps: Floats, place: float) -> float:
    return float(np.interp(place, np.arange(len(stamps)), stamps))
