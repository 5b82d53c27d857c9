"""Compiled kernel of the ladder graph: labels of one rung from those of the rung below."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ....system.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

TURN = 2.0 * math.pi
LIMIT_TOLERANCE = 1e-9  # [rad, m] rounding beyond a limit
MAX_LABELS_PER_NODE = 3  # max number of 2 pi wraps per solution


@compiled
def extend_labels(
    configurations: Array,
    costs: Array,
    label_nodes: Indices,
    nodes: Array,
    usable: NDArray[np.bool_],
    penalties: Array,
    removed: NDArray[np.bool_],
    limits: Array,
    angular: Array,
    max_step: Array,
    margins: Array,
    weight: float,
) -> tuple[Array, Array, Indices, Indices]:
    """Compute the labels of a rung.

    The cost of an edge is its Euclidean length plus penalties. Each solution is wrapped to be nearest to the label
    below, and has at most MAX_LABELS_PER_NODE labels.

    Args:
        configurations: Configurations (p, n) of the labels below.
        costs: Costs (p,) of these labels.
        label_nodes: Nodes (p,) of these labels.
        nodes: Solutions (c, n) on this rung, modulo 2 pi.
        usable: Whether each solution may be used (c,).
        penalties: Penalty of each solution (c,).
        removed: Removed edges between nodes below and here (b, c); (0, 0) for none.
        limits: Joint limits (2, n).
        angular: Whether each joint is angular (n,).
        max_step: Max step of each joint (n,).
        margins: Distance from a limit (n,) below which there is a penalty.
        weight: Penalty at the limit.

    Returns:
        Configurations (l, n), costs (l,), parents (l,) and nodes (l,) of the labels.
    """
    count, n = nodes.shape
    found, found_costs = np.empty((count * MAX_LABELS_PER_NODE, n)), np.empty(count * MAX_LABELS_PER_NODE)
    parents = np.empty(count * MAX_LABELS_PER_NODE, dtype=np.int64)
    found_nodes = np.empty(count * MAX_LABELS_PER_NODE, dtype=np.int64)
    q = np.empty(n)
    any_removed = removed.shape[0] > 0
    filled = 0
    for j in range(count):
        if not usable[j]:
            continue
        first = filled
        for p in range(configurations.shape[0]):
            if any_removed and removed[label_nodes[p], j]:
                continue
            square, penalty, fits = 0.0, 0.0, True
            for i in range(n):
                gap = nodes[j, i] - configurations[p, i]
                if angular[i]:
                    gap -= TURN * round(gap / TURN)
                if abs(gap) > max_step[i]:
                    fits = False
                    break
                q[i] = configurations[p, i] + gap
                margin = min(q[i] - limits[0, i], limits[1, i] - q[i])
                if margin < -LIMIT_TOLERANCE:
                    fits = False
                    break
                if margin < margins[i]:
                    penalty += (1.0 - margin / margins[i]) ** 2
                square += gap * gap
            if not fits:
                continue
            cost = costs[p] + math.sqrt(square) + weight * penalty + penalties[j]
            slot, worst = -1, first
            for k in range(first, filled):
                if found_costs[k] > found_costs[worst]:
                    worst = k
                same = True
                for i in range(n):
                    if abs(found[k, i] - q[i]) > 1.0:
                        same = False
                        break
                if same:
                    slot = k
                    break
            if slot < 0:
                slot = filled if filled - first < MAX_LABELS_PER_NODE else worst
            if slot < filled and found_costs[slot] <= cost:
                continue
            if slot == filled:
                filled += 1
            for i in range(n):
                found[slot, i] = q[i]
            found_costs[slot], parents[slot], found_nodes[slot] = cost, p, j
    return found[:filled].copy(), found_costs[:filled].copy(), parents[:filled].copy(), found_nodes[:filled].copy()
