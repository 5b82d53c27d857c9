"""The smallest gap of geometries that no variable of a checker moves relative to each other."""

from __future__ import annotations

import threading
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...system.cache import IdentityCache
from ..checker import CollisionChecker
from ..engines.base import distance_error, distance_errors
from .motion_bounds import motion_model

MAX_CACHED = 32
LARGEST = 1.0  # [m]


class _ThreadCache(threading.local):
    """Gaps of each thread, since distances are computed by the engine of the thread's checker."""

    def __init__(self) -> None:
        self.cache: IdentityCache[float] = IdentityCache(size=MAX_CACHED)


_of_thread = _ThreadCache()


def smallest_fixed_gap(checker: CollisionChecker) -> float:
    """Return the smallest distance minus margin of pairs that no variable moves relative to each other [m], at most 1.

    The sphere test does not evaluate these pairs.
    """
    extras = checker.variables, checker.fixed_values
    return _of_thread.cache.get((checker.geometry_model,), extras, partial(_smallest_fixed_gap, checker))


def _smallest_fixed_gap(checker: CollisionChecker) -> float:
    fixed = [pair[:2] for pair in motion_model(checker).fixed_pairs]
    if not fixed:
        return LARGEST
    near = checker.near_candidates(checker.default, LARGEST)
    objects, count = checker.geometry_model.object_indices, len(checker.allowed_pairs.objects)
    pairs = np.column_stack((objects[near.first], objects[near.second]))
    near = near.chosen(np.isin(_keys(pairs, count), _keys(np.array(fixed), count)))
    smallest, bounds = LARGEST, near.min_distances
    bounds = bounds - near.margins - distance_errors(bounds, checker.engine)
    for place in np.argsort(bounds, kind="stable").tolist():
        if bounds[place] >= smallest:
            break
        distance = checker.geometry_distance(int(near.first[place]), int(near.second[place]))
        error = distance_error(distance, checker.engine)
        smallest = min(smallest, distance - float(near.margins[place]) - error)
    return smallest


def _keys(pairs: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Return one number for each pair (n, 2) of objects, in either order; count: of all objects."""
    return np.asarray(pairs.min(axis=1) * count + pairs.max(axis=1))
