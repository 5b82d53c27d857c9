"""Going on after the first path: local changes that make it better, for as many states as are granted."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ...trajectory.limits import Array
from ..path.simplification import arc_lengths, point_at, without_repeats
from ..problem.local_planner import LocalPlanner
from ..problem.objective import Objective, PathCost

# Tries in a row that gain nothing before it ends, though states are left.
FRUITLESS_TRIES = 300
# A change must save this share of the cost.
LEAST_GAIN = 1e-4
# Widest displacement of a waypoint that is tried [rad or m]; each try draws its own scale below it.
WIDEST = 0.5
NARROWEST = 0.01
# Longest motion for which one of a clearer path is cut in two [rad or m].
LONGEST_MOTION = 0.4


def improve(path: Array, mover: LocalPlanner, cost: PathCost, states: int, seed: int) -> Array:
    """A path (n, dof) of no higher cost, by joining points of it directly and by moving its waypoints at random (hill
    climbing), until so many states were checked or nothing is gained any more. What is changed is proven free where
    anything can be, so that no repair undoes it afterwards."""
    with mover.checks.proven_alone():
        return _climbed(path, mover, cost, states, seed)


def _climbed(path: Array, mover: LocalPlanner, cost: PathCost, states: int, seed: int) -> Array:
    checks = mover.checks
    last = min(checks.states + states, checks.state_limit)
    random = np.random.Generator(np.random.PCG64(seed))
    best = cost.of(path)
    fruitless = 0
    if cost.objective is Objective.CLEARANCE:
        path = _divided(path)
    while checks.states < last and fruitless < FRUITLESS_TRIES:
        if len(path) <= 2 and cost.objective is Objective.JOINT_LENGTH:
            break
        checks.watch.check(checks.states)
        changed = _joined(path, mover, random) if random.random() < 0.5 else _moved(path, mover, random)
        value = np.inf if changed is None else cost.of(changed)
        if changed is not None and value < best * (1.0 - LEAST_GAIN):
            path, best, fruitless = changed, value, 0
            checks.watch.best_cost = best
        else:
            fruitless += 1
    return path


def _divided(path: Array) -> Array:
    """The path with waypoints on its long motions, which can then give way."""
    points = [path[:1]]
    for start, end in pairwise(path):
        count = max(1, int(np.ceil(float(np.linalg.norm(end - start)) / LONGEST_MOTION)))
        shares = np.linspace(0.0, 1.0, count + 1)[1:, None]
        points.append(np.vstack((start + shares[:-1] * (end - start), end)))
    return np.concatenate(points)


def _joined(path: Array, mover: LocalPlanner, random: np.random.Generator) -> Array | None:
    """Two places of the path joined directly."""
    places = arc_lengths(path)
    first, second = np.sort(random.uniform(0.0, places[-1], 2))
    before = int(np.searchsorted(places, first, side="right"))
    after = int(np.searchsorted(places, second, side="left"))
    if before >= after:
        return None
    start, end = (mover.settle(point_at(path, places, float(place))) for place in (first, second))
    direct = None if start is None or end is None else mover.connect(start, end)
    return None if direct is None else without_repeats(np.vstack((path[:before], direct, path[after:])))


def _moved(path: Array, mover: LocalPlanner, random: np.random.Generator) -> Array | None:
    """A waypoint, or a new one in the middle of a motion, somewhere near."""
    widest = float(np.exp(random.uniform(np.log(NARROWEST), np.log(WIDEST))))
    offset = random.normal(0.0, widest / np.sqrt(path.shape[1]), path.shape[1])
    index = int(random.integers(1, 2 * len(path) - 2))
    near = path[index // 2] if index % 2 == 0 else 0.5 * (path[index // 2] + path[index // 2 + 1])
    before, after = (index + 1) // 2 - 1, index // 2 + 1
    moved = mover.settle(near + offset)
    if moved is None:
        return None
    first = mover.connect(path[before], moved)
    second = None if first is None else mover.connect(moved, path[after])
    if first is None or second is None:
        return None
    return without_repeats(np.vstack((path[:before], first, second[1:], path[after + 1 :])))
