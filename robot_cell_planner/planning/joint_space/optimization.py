"""Path optimization by random local changes, up to a number of states."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ...trajectory.limits import Array
from ..path.simplification import arc_lengths, bypassed, without_repeats
from ..problem.local_planner import LocalPlanner
from ..problem.objective import Objective, PathCost

# Number of consecutive failed changes that ends the optimization.
MAX_FAILED_TRIES = 300
# Min decrease of the cost per change, as a fraction.
MIN_GAIN = 1e-4
# Range of the scale of waypoint displacements [rad or m]; each try draws its own.
MAX_DISPLACEMENT = 0.5
MIN_DISPLACEMENT = 0.01
# Max length of motions before clearance is optimized; longer ones are subdivided [rad or m].
MAX_MOTION = 0.4


def optimize(path: Array, local_planner: LocalPlanner, cost: PathCost, states: int, seed: int) -> Array:
    """Return a path (n, dof) of equal or lower cost.

    Hill climbing: points of the path are connected directly, and waypoints are displaced at random, until the given
    number of states is checked or no change succeeds. Changes are certified where possible, so that later repair does
    not undo them.
    """
    with local_planner.checks.certified_only():
        return _hill_climb(path, local_planner, cost, states, seed)


def _hill_climb(path: Array, local_planner: LocalPlanner, cost: PathCost, states: int, seed: int) -> Array:
    checks = local_planner.checks
    last = min(checks.states + states, checks.state_limit)
    random = np.random.Generator(np.random.PCG64(seed))
    best = cost.of(path)
    failed = 0
    if cost.objective is Objective.CLEARANCE:
        path = _subdivided(path, local_planner)
    while checks.states < last and failed < MAX_FAILED_TRIES:
        if len(path) <= 2 and cost.objective is Objective.JOINT_LENGTH:
            break
        checks.check()
        changed = (
            _shortcut(path, local_planner, random) if random.random() < 0.5 else _displaced(path, local_planner, random)
        )
        value = np.inf if changed is None else cost.of(changed)
        if changed is not None and value < best * (1.0 - MIN_GAIN):
            path, best, failed = changed, value, 0
            checks.monitor.best_cost = best
        else:
            failed += 1
    return path


def _subdivided(path: Array, local_planner: LocalPlanner) -> Array:
    """Return the path with waypoints added on long motions, which can be displaced."""
    points = [path[:1]]
    for start, end in pairwise(path):
        count = max(1, int(np.ceil(float(np.linalg.norm(end - start)) / MAX_MOTION)))
        fractions = np.linspace(0.0, 1.0, count + 1)[:, None]
        parts = np.vstack((start + fractions[:-1] * (end - start), end))
        points.append(parts[1:] if local_planner.keeps(parts) else parts[-1:])
    return np.concatenate(points)


def _shortcut(path: Array, local_planner: LocalPlanner, random: np.random.Generator) -> Array | None:
    """Connect two random points of the path directly."""
    lengths = arc_lengths(path)
    first, second = np.sort(random.uniform(0.0, lengths[-1], 2))
    return bypassed(path, lengths, float(first), float(second), local_planner, -np.inf)


def _displaced(path: Array, local_planner: LocalPlanner, random: np.random.Generator) -> Array | None:
    """Displace a random waypoint, or a new one at the midpoint of a motion."""
    scale = float(np.exp(random.uniform(np.log(MIN_DISPLACEMENT), np.log(MAX_DISPLACEMENT))))
    offset = random.normal(0.0, scale / np.sqrt(path.shape[1]), path.shape[1])
    index = int(random.integers(1, 2 * len(path) - 2))
    waypoint = path[index // 2] if index % 2 == 0 else 0.5 * (path[index // 2] + path[index // 2 + 1])
    before, after = (index + 1) // 2 - 1, index // 2 + 1
    moved = local_planner.project(waypoint + offset)
    if moved is None:
        return None
    first = local_planner.connect(path[before], moved)
    second = None if first is None else local_planner.connect(moved, path[after])
    if first is None or second is None:
        return None
    return without_repeats(np.vstack((path[:before], first, second[1:], path[after + 1 :])))
