"""Compiled parts of the search for the closest pairs along paths."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..system.compiled import compiled

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@compiled
def order_candidates(
    first: Indices, second: Indices, gaps: Floats, objects: Indices, bodies: Indices, rounding: float
) -> None:
    """Order the geometries of candidates (k,) by their collision objects, and turn the distances of their boxes [m]
    into lower bounds of their distances, as `Candidates.min_distances`, in place.

    Bounds of geometries of one rigid body become infinite.

    objects, bodies: Collision object and rigid body of each geometry (n,).
    """
    for row in range(len(first)):
        i, j = first[row], second[row]
        if objects[i] > objects[j]:
            first[row], second[row] = j, i
        if bodies[i] == bodies[j]:
            gaps[row] = math.inf
        else:
            gaps[row] = gaps[row] - rounding if gaps[row] > 0.0 else -math.inf


@compiled
def lower_to_bounds(nearest: Floats, states: Indices, bounds: Floats, limit: float) -> None:
    """Lower distances (n,) [m] to the bounds (k,) at the same states (k,), in place; those beyond a limit become
    infinite."""
    for row in range(len(states)):
        nearest[states[row]] = min(nearest[states[row]], bounds[row])
    for state in range(len(nearest)):
        if nearest[state] > limit:
            nearest[state] = math.inf
