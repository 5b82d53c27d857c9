"""Tools for paths in joint space: leaving out waypoints, cutting corners, pulling tight, filling in, joining."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ...errors import InvalidRequestError, PathInvalidError, Value
from ...trajectory.limits import Array
from ..problem.local_planner import LocalPlanner
from ..problem.plan import path_length

SAME_POINT = 1e-9  # [rad or m]
MAX_POINTS = 1_000_000
# Shortcuts end after so many tries in a row that gained nothing, or so many in all.
FRUITLESS_TRIES = 24
MAX_TRIES = 300
# Share of the length that a shortcut must save.
LEAST_GAIN = 0.003
SWEEPS = 20
# Shares of the way to where a waypoint is pulled that are tried.
PULLS = (1.0, 0.5, 0.25, 0.1)


def simplify(path: Array, mover: LocalPlanner) -> Array:
    """The path (n, dof) without waypoints that are not needed: if its ends connect directly nothing else is kept, else
    its halves are treated alike."""
    kept = [path[:1]]
    pending = [(0, len(path) - 1)]
    while pending:
        first, last = pending.pop()
        direct = path[first : last + 1] if last - first <= 1 else mover.connect(path[first], path[last])
        if direct is not None:
            kept.append(direct[1:])
            continue
        middle = (first + last) // 2
        pending.extend([(middle, last), (first, middle)])
    return np.concatenate(kept)


def shortcut(path: Array, mover: LocalPlanner, seed: int, tries: int = MAX_TRIES) -> Array:
    """A shorter path: two random points on it are joined directly where that is free and shorter, again and again.

    The numbers of tries are counted, so that it repeats for a seed (Geraerts and Overmars, "Creating High-quality Paths
    for Motion Planning", 2007).
    """
    random = np.random.Generator(np.random.PCG64(seed))
    fruitless = 0
    for _ in range(tries):
        if len(path) <= 2 or fruitless >= FRUITLESS_TRIES:
            break
        places = arc_lengths(path)
        first, second = np.sort(random.uniform(0.0, places[-1], 2))
        shorter = joined(path, places, float(first), float(second), mover)
        fruitless = fruitless + 1 if shorter is None else 0
        path = path if shorter is None else shorter
    return path


def joined(path: Array, places: Array, first: float, second: float, mover: LocalPlanner) -> Array | None:
    """The path with its part between two places direct; None if that is blocked, or no gain."""
    before = int(np.searchsorted(places, first, side="right"))
    after = int(np.searchsorted(places, second, side="left"))
    if before >= after:
        return None
    start, end = mover.settle(point_at(path, places, first)), mover.settle(point_at(path, places, second))
    if start is None or end is None:
        return None
    gain = second - first - float(np.linalg.norm(end - start))
    if gain <= LEAST_GAIN * places[-1]:
        return None
    direct = mover.connect(start, end)
    if direct is None:
        return None
    shorter = without_repeats(np.vstack((path[:before], direct, path[after:])))
    return shorter if path_length(shorter) < places[-1] else None


def drop_waypoints(path: Array, mover: LocalPlanner) -> Array:
    """The path without those waypoints whose neighbours connect directly; each makes it shorter, and saves a stop."""
    index = 1
    while index < len(path) - 1:
        direct = mover.connect(path[index - 1], path[index + 1])
        if direct is not None and len(direct) == 2:
            path = np.delete(path, index, axis=0)
            index = max(index - 1, 1)
        else:
            index += 1
    return path


def tighten(path: Array, mover: LocalPlanner, sweeps: int = SWEEPS) -> Array:
    """The path with each waypoint pulled towards the straight way between its neighbours as far as the motions to them
    stay free, again and again, as a rubber band would go."""
    for _ in range(sweeps):
        before = path_length(path)
        for index in range(1, len(path) - 1):
            path = _pulled(path, index, mover)
        if before - path_length(path) <= LEAST_GAIN * before:
            break
    return path


def _pulled(path: Array, index: int, mover: LocalPlanner) -> Array:
    before, here, after = path[index - 1 : index + 2]
    way = after - before
    size = float(way @ way)
    share = float(np.clip((here - before) @ way / size, 0.0, 1.0)) if size > 0.0 else 0.0
    aim = before + share * way
    for pull in PULLS:
        moved = mover.settle(here + pull * (aim - here))
        if moved is None or float(np.abs(moved - here).max()) < SAME_POINT:
            continue
        first = mover.connect(before, moved)
        second = None if first is None else mover.connect(moved, after)
        if first is not None and second is not None:
            pulled = np.vstack((path[: index - 1], first, second[1:], path[index + 2 :]))
            if len(pulled) == len(path) and path_length(pulled) < path_length(path):
                return pulled
    return path


def reverse(path: Array) -> Array:
    """The path (n, dof) from its end to its start."""
    return path[::-1].copy()


def concatenate(paths: Sequence[Array], tolerance: float = SAME_POINT) -> Array:
    """Paths (n, dof) as one; where one begins within `tolerance` [rad or m] of the end of the one before, that
    beginning is left out.

    Raises:
        PathInvalidError: a gap that is wider.
        InvalidRequestError: no path.
    """
    if not paths:
        raise InvalidRequestError("no path is given", stage="path")
    whole = [paths[0]]
    for index, (first, second) in enumerate(pairwise(paths)):
        gaps = np.abs(second[0] - first[-1])
        widest = float(gaps.max())
        if widest > tolerance:
            numbers = (Value("gap", widest, tolerance),)
            text = f"path {index + 1} begins away from the end of path {index}, by most in column {int(gaps.argmax())}"
            raise PathInvalidError(text, stage="path", values=numbers)
        whole.append(second[1:])
    return np.concatenate(whole)


def arc_lengths(path: Array) -> Array:
    """Length (n,) of the path up to each of its waypoints."""
    return np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))))


def point_at(path: Array, places: Array, place: float) -> Array:
    """The point of a path at a length from its start."""
    index = min(int(np.searchsorted(places, place, side="right")), len(path) - 1)
    span = places[index] - places[index - 1]
    share = (place - places[index - 1]) / span if span > 0.0 else 1.0
    return np.asarray(path[index - 1] + share * (path[index] - path[index - 1]))


def without_repeats(path: Array) -> Array:
    """The path without points that lie within 1e-9 of the one before; both ends stay exactly."""
    moved = np.abs(np.diff(path, axis=0)).max(axis=1) > SAME_POINT
    kept = path[np.concatenate(([True], moved))]
    if len(kept) == 1:
        return path[:1]
    kept[-1] = path[-1]
    return kept


def densify(path: Array, spacing: float) -> tuple[Array, Array]:
    """Points (m, dof) along a path so that no joint moves by more than `spacing` [rad or m] from one to the next, its
    waypoints among them; and their places (m,), counted in waypoints.

    Raises:
        InvalidRequestError: a spacing that is not above zero, or more than a million points.
    """
    if not spacing > 0.0:
        raise InvalidRequestError(f"spacing is {spacing:g}, expected above 0", stage="path")
    steps = np.diff(path, axis=0)
    counts = np.maximum(np.ceil(np.abs(steps).max(axis=1) / spacing - 1e-9), 1.0)
    if counts.sum() > MAX_POINTS:
        text = f"a path filled in every {spacing:g} has too many points"
        raise InvalidRequestError(text, stage="path", values=(Value("points", float(counts.sum()), MAX_POINTS),))
    counts = counts.astype(np.intp)
    motion = np.repeat(np.arange(len(steps)), counts)
    number = np.arange(1, len(motion) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
    shares = number / counts[motion]
    points = path[motion] + shares[:, None] * steps[motion]
    ends = number == counts[motion]
    points[ends] = path[1:]
    return np.concatenate((path[:1], points)), np.concatenate(([0.0], motion + shares))
