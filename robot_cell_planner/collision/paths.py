"""Collision checks of joint-space paths and trajectories given as arrays."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRequestError, LimitExceededError, Value
from ..model.arguments import public
from ..system.steps import returned
from .checker import STATES_AT_ONCE, CollisionChecker
from .motion_sampling import halving_order, segments
from .report import Clearance, CollisionPair

Floats = NDArray[np.float64]
MAX_STATES = 10_000_000
MAX_COLLISIONS = 100_000


@dataclass(frozen=True)
class PathCollision:
    """A pair that collides at a state of a path.

    Attributes:
        point: Index of the colliding waypoint, or of the waypoint after the collision.
        place: Path parameter counted in waypoints: 2.5 is halfway from waypoint 2 to 3.
        time: Time at the path parameter [s]; 0 for a path without times.
    """

    point: int
    place: float
    time: float
    pair: CollisionPair


@dataclass(frozen=True)
class SmallestClearance:
    """Smallest distance on a path, with its path parameter and time as in `PathCollision`."""

    clearance: Clearance
    place: float
    time: float


@dataclass(frozen=True)
class PathReport:
    """Result of a collision check of a path.

    Attributes:
        collisions: Colliding pairs in path order; only the first one found, unless all were requested.
        truncated: Whether there were more collisions than the maximum.
        states_checked: Number of configurations checked.
        smallest: Smallest distance on the path; None if not requested.
    """

    collisions: tuple[PathCollision, ...]
    states_checked: int
    truncated: bool = False
    smallest: SmallestClearance | None = None

    @property
    def valid(self) -> bool:
        """Whether no collision was found."""
        return not self.collisions


@public
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
    """Check a path at its waypoints (n, dof) and, if a resolution is given, between them.

    Args:
        checker: Collision checker whose variables the columns are.
        waypoints: Configurations (n, dof) [rad or m].
        times: Times of the waypoints (n,) [s].
        find_all: Report every colliding pair of every state, in path order. Otherwise states are checked in bisection
            order, so that a colliding path is rejected early, and the check stops at the first collision found.
        resolution: Maximum change of any variable [rad or m] from one state to the next; 0: waypoints only.
        clearance: Also compute the smallest distance at the same states, which takes longer.
        max_collisions: Maximum number of collisions to report.
        max_states: Maximum number of states to check.

    Raises:
        InvalidRequestError: Shapes do not fit, a value is not finite, or a limit is negative.
        LimitExceededError: The resolution requires more than `max_states` states.
    """
    steps = check_path_in_steps(
        checker,
        waypoints,
        times,
        find_all=find_all,
        resolution=resolution,
        clearance=clearance,
        max_collisions=max_collisions,
        max_states=max_states,
    )
    return returned(steps)


def check_path_in_steps(
    checker: CollisionChecker,
    waypoints: Floats,
    times: Sequence[float] | None = None,
    *,
    find_all: bool = False,
    resolution: float = 0.0,
    clearance: bool = False,
    max_collisions: int = 1000,
    max_states: int = MAX_STATES,
) -> Generator[None, None, PathReport]:
    """Check a path as `check_path`, with a step for each state or few states; the generator returns the report."""
    path = np.asarray(waypoints, dtype=np.float64)
    # Reject malformed waypoints before any check.
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
        yield
        q = path_at(path, place)
        if not checker.in_collision(q):
            continue
        pairs = checker.report(q).pairs if find_all else checker.report(q, max_pairs=1).pairs
        collisions.extend(PathCollision(math.ceil(place), place, _time(stamps, place), pair) for pair in pairs)
        truncated = len(collisions) > max_collisions
        if truncated or not find_all:
            break
    smallest = (yield from _smallest(checker, path, places, stamps)) if clearance else None
    return PathReport(tuple(collisions[:max_collisions]), checked, truncated, smallest)


@public
def smallest_clearance(
    checker: CollisionChecker,
    waypoints: Floats,
    times: Sequence[float] | None = None,
    *,
    resolution: float = 0.0,
) -> SmallestClearance:
    """Return the smallest distance of all checked pairs on a path; arguments and errors as in `check_path`."""
    path = np.asarray(waypoints, dtype=np.float64)
    checker.require_configurations(path)
    return returned(_smallest(checker, path, _places(path, resolution), _times(times, len(path))))


def _smallest(
    checker: CollisionChecker, path: Floats, places: Floats, stamps: Floats
) -> Generator[None, None, SmallestClearance]:
    best = SmallestClearance(Clearance(math.inf), 0.0, 0.0)
    for first in range(0, len(places), STATES_AT_ONCE):
        part = places[first : first + STATES_AT_ONCE].tolist()
        yield
        configurations = np.array([path_at(path, place) for place in part])
        # Search only for distances below the smallest one found so far.
        found = checker.closest_of(configurations, best.clearance.distance)
        if found is not None and found[1].distance < best.clearance.distance:
            place = part[found[0]]
            best = SmallestClearance(found[1], place, _time(stamps, place))
    return best


def _places(path: Floats, resolution: float, max_states: int = MAX_STATES) -> Floats:
    """Return the ascending path parameters to check, counted in waypoints."""
    if not (math.isfinite(resolution) and resolution >= 0.0):
        raise InvalidRequestError(f"resolution is {resolution}, expected a finite number of at least 0")
    if resolution == 0.0 or len(path) < 2:
        return np.arange(float(len(path)))
    counts = [segments(a, b, resolution) for a, b in pairwise(path)]
    if sum(counts) >= max_states:
        numbers = (Value("states", sum(counts) + 1, max_states),)
        raise LimitExceededError("the path has too many states at that resolution", values=numbers)
    starts = [index + np.arange(count) / count for index, count in enumerate(counts)]
    return np.concatenate([*starts, [float(len(path) - 1)]])


def _jumping_order(count: int) -> NDArray[np.intp]:
    """Return all indices below `count`, both ends first, then in bisection order."""
    if count < 2:
        return np.arange(count)
    return np.rint(np.fromiter(halving_order(count - 1), dtype=np.float64) * (count - 1)).astype(np.intp)


def path_at(path: Floats, place: float) -> Floats:
    """Return the configuration (dof,) at a path parameter of a path (n, dof), counted in waypoints."""
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
