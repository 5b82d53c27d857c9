"""Compiled kernel of the ladder: from the configurations reached on one rung to those on the next."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ....system.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

TURN = 2.0 * math.pi
SLACK = 1e-9  # [rad, m] rounding beyond a limit
LABELS_OF_NODE = 3  # ways of different whole turns to one solution that are kept


@compiled
def climb(
    reached: Array,
    costs: Array,
    owners: Indices,
    nodes: Array,
    usable: NDArray[np.bool_],
    penalties: Array,
    denied: NDArray[np.bool_],
    limits: Array,
    angular: Array,
    reach: Array,
    margins: Array,
    weight: float,
) -> tuple[Array, Array, Indices, Indices]:
    """One step up the ladder.

    reached (p, n): configurations on the rung below, each at a cost (p,) and of one of its solutions, owners (p,).
    nodes (c, n): solutions on this rung, whole turns aside; usable (c,); penalties (c,) for being there. denied (b, c):
    whether solutions below and here are not connected; (0, 0): none is denied. limits (2, n). reach (n,): largest step
    of each joint. margins (n,): distance from a limit below which it costs, up to `weight` at the limit.

    Returns what is reached here (l, n), its costs (l,), the index below that each came from (l,), and its owner (l,).
    The cost of a step is its Euclidean length. Each solution comes in the turn that is nearest to where it was reached
    from, and at most LABELS_OF_NODE times.
    """
    count, n = nodes.shape
    found, found_costs = np.empty((count * LABELS_OF_NODE, n)), np.empty(count * LABELS_OF_NODE)
    parents = np.empty(count * LABELS_OF_NODE, dtype=np.int64)
    found_owners = np.empty(count * LABELS_OF_NODE, dtype=np.int64)
    q = np.empty(n)
    some_denied = denied.shape[0] > 0
    filled = 0
    for j in range(count):
        if not usable[j]:
            continue
        first = filled
        for p in range(reached.shape[0]):
            if some_denied and denied[owners[p], j]:
                continue
            square, extra, fits = 0.0, 0.0, True
            for i in range(n):
                gap = nodes[j, i] - reached[p, i]
                if angular[i]:
                    gap -= TURN * round(gap / TURN)
                if abs(gap) > reach[i]:
                    fits = False
                    break
                q[i] = reached[p, i] + gap
                room = min(q[i] - limits[0, i], limits[1, i] - q[i])
                if room < -SLACK:
                    fits = False
                    break
                if room < margins[i]:
                    extra += (1.0 - room / margins[i]) ** 2
                square += gap * gap
            if not fits:
                continue
            cost = costs[p] + math.sqrt(square) + weight * extra + penalties[j]
            place, worst = -1, first
            for k in range(first, filled):
                if found_costs[k] > found_costs[worst]:
                    worst = k
                same = True
                for i in range(n):
                    if abs(found[k, i] - q[i]) > 1.0:
                        same = False
                        break
                if same:
                    place = k
                    break
            if place < 0:
                place = filled if filled - first < LABELS_OF_NODE else worst
            if place < filled and found_costs[place] <= cost:
                continue
            if place == filled:
                filled += 1
            for i in range(n):
                found[place, i] = q[i]
            found_costs[place], parents[place], found_owners[place] = cost, p, j
    return found[:filled].copy(), found_costs[:filled].copy(), parents[:filled].copy(), found_owners[:filled].copy()
