"""Tools for paths in joint space: leaving out waypoints, cutting corners, filling in, measuring."""

from __future__ import annotations

import numpy as np

from ..errors import InvalidRequestError, Value
from ..trajectory.limits import Array
from .checks import CountedChecks

SAME_POINT = 1e-9  # [rad or m]
MAX_POINTS = 1_000_000
# Shortcuts end after so many tries in a row that gained nothing, or so many in all.
FRUITLESS_TRIES = 24
MAX_TRIES = 300
# Share of the length that a shortcut must save.
LEAST_GAIN = 0.003


def simplify(path: Array, checks: CountedChecks, step: float) -> Array:
    """The path (n, dof) without waypoints that are not needed: if its ends connect directly nothing else is kept, else
    its halves are treated alike."""
    kept = [0]
    pending = [(0, len(path) - 1)]
    while pending:
        first, last = pending.pop()
        if last - first <= 1 or checks.motion_free(path[first], path[last], step):
            kept.append(last)
            continue
        middle = (first + last) // 2
        pending.extend([(middle, last), (first, middle)])
    return path[kept]


def shortcut(path: Array, checks: CountedChecks, step: float, seed: int) -> Array:
    """A shorter path: two random points on it are joined directly where that is free and shorter, again and again.

    The numbers of tries are counted, so that it repeats for a seed (Geraerts and Overmars, "Creating High-quality Paths
    for Motion Planning", 2007).
    """
    random = np.random.Generator(np.random.PCG64(seed))
    fruitless = 0
    for _ in range(MAX_TRIES):
        if len(path) <= 2 or fruitless >= FRUITLESS_TRIES:
            break
        places = arc_lengths(path)
        first, second = np.sort(random.uniform(0.0, places[-1], 2))
        shorter = _joined(path, places, float(first), float(second), checks, step)
        fruitless = fruitless + 1 if shorter is None else 0
        path = path if shorter is None else shorter
    return path


def _joined(
    path: Array, places: Array, first: float, second: float, checks: CountedChecks, step: float
) -> Array | None:
    """The path with its part between two places straight; None if that is blocked, or no gain."""
    before = int(np.searchsorted(places, first, side="right"))
    after = int(np.searchsorted(places, second, side="left"))
    if before >= after:
        return None
    start, end = point_at(path, places, first), point_at(path, places, second)
    gain = second - first - float(np.linalg.norm(end - start))
    if gain <= LEAST_GAIN * places[-1] or not checks.motion_free(start, end, step):
        return None
    return without_repeats(np.vstack((path[:before], start, end, path[after:])))


def drop_waypoints(path: Array, checks: CountedChecks, step: float) -> Array:
    """The path without those waypoints whose neighbours connect directly; each makes it shorter, and saves a stop."""
    index = 1
    while index < len(path) - 1:
        if checks.motion_free(path[index - 1], path[index + 1], step):
            path = np.delete(path, index, axis=0)
            index = max(index - 1, 1)
        else:
            index += 1
    return path


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
    points, places = [path[:1]], [np.zeros(1)]
    for index, (step, count) in enumerate(zip(steps, counts.astype(int).tolist(), strict=True)):
        shares = np.arange(1, count + 1) / count
        points.append(path[index] + shares[:, None] * step)
        points[-1][-1] = path[index + 1]
        places.append(index + shares)
    return np.concatenate(points), np.concatenate(places)
