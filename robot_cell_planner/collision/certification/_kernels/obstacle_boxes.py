"""Tree of axis-aligned boxes around obstacles, LANES boxes in a set, so that a kernel excludes LANES boxes at once.

A set has six rows of LANES numbers: the lower corners x, y, z of its boxes, then their upper corners. The boxes of a
set either contain one obstacle each, or one set of the level below. Obstacles that are near each other get consecutive
numbers (`spatial_order`), so that their boxes share sets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...geometry.z_order import z_order
from .arrays import LANES

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
NOTHING = 1e30  # corner of the box of an unused lane: the lower corner, and the negative of the upper one
SLACK = 1e-5  # relative enlargement of boxes against rounding errors of the kernels, which are in single precision
ORDERED = 4 * LANES  # maximum number of obstacles that keep the order of the cell


def spatial_order(centres: Floats) -> Integers:
    """Return `z_order` of points (n, 3), (n,); few points keep their order."""
    if len(centres) <= ORDERED:
        return np.arange(len(centres))
    return z_order(centres)


def obstacle_boxes(spheres: Floats, allowances: Floats) -> tuple[Floats, Integers]:
    """Return the boxes (6 b, LANES) and children (b,) of `MotionArrays`; the last set is the root.

    spheres: bounding spheres (n, 4) of the obstacles; allowances: added to their radii (n,) [m].

    The boxes contain the bounding spheres, so they exclude nothing that the spheres would not exclude.
    """
    half = (spheres[:, 3] + allowances) * (1.0 + SLACK)
    half += SLACK * (1.0 + np.abs(spheres[:, :3]).max(axis=1, initial=0.0))
    low, high = spheres[:, :3] - half[:, None], spheres[:, :3] + half[:, None]
    sets: list[Floats] = []
    children: list[Integers] = []
    first = -1
    while True:
        count = max(-(-len(low) // LANES), 1)
        low, high = _in_sets(low, count, NOTHING), _in_sets(high, count, -NOTHING)
        sets.append(np.concatenate((low, high), axis=2).transpose(0, 2, 1).reshape(-1, LANES))
        steps = LANES * np.arange(count)
        children.append(first - steps if first < 0 else first + steps)
        if count == 1:
            return np.concatenate(sets), np.concatenate(children)
        first = 0 if first < 0 else first + len(children[-2])
        low, high = low.min(axis=1), high.max(axis=1)


def _in_sets(corners: Floats, count: int, nothing: float) -> Floats:
    """Return corners (n, 3) in sets (count, LANES, 3); unused lanes have the corner `nothing`."""
    found = np.full((count * LANES, 3), nothing)  # `np.pad` takes much longer
    found[: len(corners)] = corners
    return found.reshape(count, LANES, 3)
