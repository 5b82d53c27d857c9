"""Operations on joint-space paths: simplification, shortcuts, tightening, densification, concatenation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ...errors import InvalidRequestError, PathInvalidError, Value
from ...errors.remedies import PATHS_IN_ORDER
from ...model.mechanism import Variable
from ...trajectory.limits import Array
from ..problem.local_planner import LocalPlanner
from ..problem.plan import path_length
from .path_kernels import place_points

SAME_POINT = 1e-9  # [rad or m]
MAX_POINTS = 1_000_000
# Max number of consecutive failed shortcuts, and of shortcuts.
MAX_FAILED_TRIES = 24
MAX_TRIES = 300
# Min decrease of the length per shortcut or sweep, as a fraction.
MIN_GAIN = 0.003
MAX_SWEEPS = 20
# Fractions of the displacement of a pulled waypoint, in this order.
PULL_FRACTIONS = (1.0, 0.5, 0.25, 0.1)


def simplify(path: Array, local_planner: LocalPlanner) -> Array:
    """Return the path (n, dof) without unnecessary waypoints: its ends are connected directly if possible; otherwise
    its halves are simplified.

    Motions that follow constraints may be longer than those that they replace, or have more waypoints: they are not
    used then, so that the result is not longer than the path and does not have more waypoints.
    """
    parts = [path[:1]]
    pending = [(0, len(path) - 1)]
    while pending:
        first, last = pending.pop()
        part = path[first : last + 1]
        motion = part if last - first <= 1 else local_planner.connect(path[first], path[last])
        if motion is not None and (motion is part or _is_simpler(motion, part)):
            parts.append(motion[1:])
            continue
        middle = (first + last) // 2
        pending.extend([(middle, last), (first, middle)])
    return np.concatenate(parts)


def _is_simpler(motion: Array, part: Array) -> bool:
    """Return whether a motion with the ends of a part of a path is not longer and does not have more waypoints."""
    return len(motion) == 2 or (len(motion) <= len(part) and path_length(motion) <= path_length(part))


def shortcut(path: Array, local_planner: LocalPlanner, seed: int, tries: int = MAX_TRIES) -> Array:
    """Return a shorter path, by connecting random pairs of its points directly.

    Tries are counted, so that the result is repeatable for a seed (Geraerts and Overmars, "Creating High-quality Paths
    for Motion Planning", 2007).
    """
    random = np.random.Generator(np.random.PCG64(seed))
    failed = 0
    for _ in range(tries):
        if len(path) <= 2 or failed >= MAX_FAILED_TRIES:
            break
        lengths = arc_lengths(path)
        first, second = np.sort(random.uniform(0.0, lengths[-1], 2))
        shorter = shortcut_between(path, lengths, float(first), float(second), local_planner)
        failed = failed + 1 if shorter is None else 0
        path = path if shorter is None else shorter
    return path


def shortcut_between(
    path: Array, lengths: Array, first: float, second: float, local_planner: LocalPlanner
) -> Array | None:
    """Return the path with a direct motion between two arc lengths; None if it is blocked, or not shorter."""
    shorter = bypassed(path, lengths, first, second, local_planner, MIN_GAIN * lengths[-1])
    return shorter if shorter is not None and path_length(shorter) < lengths[-1] else None


def bypassed(
    path: Array, lengths: Array, first: float, second: float, local_planner: LocalPlanner, min_gain: float
) -> Array | None:
    """Return the path with a direct motion between two arc lengths.

    min_gain: Min difference of the arc lengths to the distance of the projected points.

    Returns:
        The path (n, dof); None if it is blocked or violates constraints, also on the motions that lead to the direct
        one and from it.
    """
    before = int(np.searchsorted(lengths, first, side="right"))
    after = int(np.searchsorted(lengths, second, side="left"))
    if before >= after:
        return None
    points = [point_at(path, lengths, length) for length in (first, second)]
    start, end = (local_planner.project(point) for point in points)
    if start is None or end is None or second - first - float(np.linalg.norm(end - start)) <= min_gain:
        return None
    motion = local_planner.connect(start, end)
    if motion is None:
        return None
    to_start = _part(path[before - 1], start, points[0], start, local_planner)
    from_end = None if to_start is None else _part(end, path[after], points[1], end, local_planner)
    if to_start is None or from_end is None:
        return None
    return without_repeats(np.vstack((path[: before - 1], to_start, motion[1:-1], from_end, path[after + 1 :])))


def _part(start: Array, end: Array, point: Array, projected: Array, local_planner: LocalPlanner) -> Array | None:
    """Return a path between ends of a part of a motion, of which one was projected from a point of it; None if it is
    blocked.
    """
    part = np.stack((start, end))
    if float(np.abs(projected - point).max()) <= SAME_POINT and local_planner.keeps(part):
        return part
    return local_planner.connect(start, end)


def drop_waypoints(path: Array, local_planner: LocalPlanner) -> Array:
    """Return the path without waypoints whose neighbours connect directly."""
    index = 1
    while index < len(path) - 1:
        motion = local_planner.connect(path[index - 1], path[index + 1])
        if motion is not None and len(motion) == 2:
            path = np.delete(path, index, axis=0)
            index = max(index - 1, 1)
        else:
            index += 1
    return path


def tighten(path: Array, local_planner: LocalPlanner, sweeps: int = MAX_SWEEPS) -> Array:
    """Return the path with waypoints pulled towards the straight line between their neighbours as far as the motions
    are free, repeatedly, like an elastic band.
    """
    for _ in range(sweeps):
        before = path_length(path)
        for index in range(1, len(path) - 1):
            path = _pull(path, index, local_planner)
        if before - path_length(path) <= MIN_GAIN * before:
            break
    return path


def _pull(path: Array, index: int, local_planner: LocalPlanner) -> Array:
    before, point, after = path[index - 1 : index + 2]
    difference = after - before
    size = float(difference @ difference)
    fraction = float(np.clip((point - before) @ difference / size, 0.0, 1.0)) if size > 0.0 else 0.0
    target = before + fraction * difference
    for factor in PULL_FRACTIONS:
        moved = local_planner.project(point + factor * (target - point))
        if moved is None or float(np.abs(moved - point).max()) < SAME_POINT:
            continue
        first = local_planner.connect(before, moved)
        second = None if first is None else local_planner.connect(moved, after)
        if first is not None and second is not None:
            pulled = np.vstack((path[: index - 1], first, second[1:], path[index + 2 :]))
            if len(pulled) == len(path) and path_length(pulled) < path_length(path):
                return pulled
    return path


def reverse(path: Array) -> Array:
    """Return the path (n, dof) from its end to its start."""
    return path[::-1].copy()


def concatenate(paths: Sequence[Array], variables: Sequence[Variable], tolerance: float) -> Array:
    """Return paths (n, dof) as one, without the first point of a path that is within `tolerance` [rad or m] of the end
    of the previous path.

    Args:
        variables: Those of the columns.

    Raises:
        PathInvalidError: A gap is wider.
        InvalidRequestError: No path is given.
    """
    if not paths:
        raise InvalidRequestError("no path is given", stage="path")
    whole = [paths[0]]
    for index, (first, second) in enumerate(pairwise(paths)):
        gaps = np.abs(second[0] - first[-1])
        column = int(gaps.argmax())
        if gaps[column] > tolerance:
            joint = variables[column]
            numbers = (Value(f"gap of {joint.name}", float(gaps[column]), tolerance, joint.unit),)
            text = f"path {index + 1} does not begin at the end of path {index}"
            raise PathInvalidError(text, stage="path", subjects=(joint.name,), values=numbers, remedy=PATHS_IN_ORDER)
        whole.append(second[1:])
    return np.concatenate(whole)


def arc_lengths(path: Array) -> Array:
    """Return the length (n,) of the path up to each waypoint."""
    return np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))))


def point_at(path: Array, lengths: Array, length: float) -> Array:
    """Return the point of a path at an arc length from its start."""
    index = min(int(np.searchsorted(lengths, length, side="right")), len(path) - 1)
    span = lengths[index] - lengths[index - 1]
    fraction = (length - lengths[index - 1]) / span if span > 0.0 else 1.0
    return np.asarray(path[index - 1] + fraction * (path[index] - path[index - 1]))


def without_repeats(path: Array) -> Array:
    """Return the path without points within 1e-9 of the previous one; both ends are exact."""
    moved = np.abs(path[1:] - path[:-1]).max(axis=1) > SAME_POINT
    points = path[np.concatenate(([True], moved))]
    if len(points) == 1:
        return path[:1]
    points[-1] = path[-1]
    return points


def densify(path: Array, spacing: float) -> tuple[Array, Array]:
    """Return points (m, dof) along a path including its waypoints, and their path parameters (m,) in waypoints.

    No joint moves by more than `spacing` [rad or m] between two points.

    Raises:
        InvalidRequestError: The spacing is not positive, or there are more than a million points.
    """
    if not spacing > 0.0:
        raise InvalidRequestError(f"spacing is {spacing:g}, expected above 0", stage="path")
    path = np.array(path, dtype=np.float64, order="C")  # a copy: the kernel is compiled for writable arrays
    counts = step_counts(path, spacing)
    total = int(counts.sum())
    points, parameters = np.empty((1 + total, path.shape[1])), np.empty(1 + total)
    place_points(path, counts, points, parameters)
    return points, parameters


def step_counts(path: Array, spacing: float) -> Array:
    """Return the number of equal steps of each motion of a path (n, dof) in which no joint moves by more than a spacing
    [rad or m]: (n - 1,), at least 1.

    Raises:
        InvalidRequestError: There are more than a million steps.
    """
    counts: Array = np.maximum(np.ceil(np.abs(path[1:] - path[:-1]).max(axis=1) / spacing - 1e-9), 1.0)
    total = counts.sum()
    if total > MAX_POINTS:
        text = f"a path with spacing {spacing:g} has too many points"
        raise InvalidRequestError(text, stage="path", values=(Value("points", float(total), MAX_POINTS),))
    return counts
