"""Graphs of configurations: what hangs together, and the shortest way."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...trajectory.limits import Array

Edges = Sequence[tuple[int, int]]


def _neighbours(count: int, edges: Edges) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(count)]
    for first, second in edges:
        found[first].append(second)
        found[second].append(first)
    return found


def components(count: int, edges: Edges, root: int) -> NDArray[np.bool_]:
    """Which of `count` vertices hang together with one, (count,)."""
    reached = np.zeros(count, dtype=bool)
    if not count:
        return reached
    neighbours = _neighbours(count, edges)
    pending = [root]
    reached[root] = True
    while pending:
        for other in neighbours[pending.pop()]:
            if not reached[other]:
                reached[other] = True
                pending.append(other)
    return reached


def shortest_path(vertices: Array, edges: Edges, start: int, goals: Sequence[int]) -> list[int] | None:
    """Indices of the vertices (n, dof) on the shortest way from one to the nearest of some others; None: there is none.

    Dijkstra, "A note on two problems in connexion with graphs", 1959.
    """
    neighbours = _neighbours(len(vertices), edges)
    targets = set(goals)
    lengths = {start: 0.0}
    before: dict[int, int] = {}
    done: set[int] = set()
    queue = [(0.0, start)]
    while queue:
        length, here = heapq.heappop(queue)
        if here in done:
            continue
        done.add(here)
        if here in targets:
            path = [here]
            while path[-1] != start:
                path.append(before[path[-1]])
            return path[::-1]
        for other in neighbours[here]:
            total = length + float(np.linalg.norm(vertices[other] - vertices[here]))
            if total < lengths.get(other, np.inf):
                lengths[other], before[other] = total, here
                heapq.heappush(queue, (total, other))
    return None
