"""Graphs of configurations: connected components, shortest paths and distances, by SciPy.

SciPy's graphs and trees take 0.3 s to import. They are needed after a search only, and not at all by a node that passes
requests on to workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...trajectory.limits import Array

Edges = Sequence[tuple[int, int]]
ZERO_LENGTH = 1e-300  # weight of edges of zero length, because sparse graphs have no edges of weight zero


def _graph(vertices: Array, edges: Edges) -> Any:
    """Return the sparse matrix of the edges between vertices (n, dof), weighted by length."""
    from scipy.sparse import csr_matrix

    first, second = np.fromiter(chain.from_iterable(edges), dtype=np.intp).reshape(-1, 2).T
    lengths = np.linalg.norm(vertices[second] - vertices[first], axis=1)
    return csr_matrix((np.maximum(lengths, ZERO_LENGTH), (first, second)), shape=(len(vertices), len(vertices)))


def component_of(vertices: Array, edges: Edges, root: int) -> NDArray[np.bool_]:
    """Return for each vertex (n, dof) whether it is connected to the root: (n,)."""
    from scipy.sparse.csgraph import connected_components

    if not len(vertices):
        return np.zeros(0, dtype=bool)
    _, labels = connected_components(_graph(vertices, edges), directed=False)
    return np.asarray(labels == labels[root])


def shortest_path(vertices: Array, edges: Edges, start: int, goals: Sequence[int]) -> list[int] | None:
    """Return the vertices (n, dof) on the shortest path from one to the nearest of others; None if there is none."""
    from scipy.sparse.csgraph import dijkstra

    graph = _graph(vertices, edges)
    rows, parent_rows = dijkstra(graph, directed=False, indices=np.array([start]), return_predecessors=True)
    lengths, parents = rows[0], parent_rows[0]
    node = min(goals, key=lambda goal: float(lengths[goal]))
    if not np.isfinite(lengths[node]):
        return None
    path = [node]
    while path[-1] != start:
        path.append(int(parents[path[-1]]))
    return path[::-1]


def smallest_distance(some: Array, others: Array) -> float:
    """Return the smallest distance between two sets of configurations, (n, dof) and (m, dof), none of them empty."""
    from scipy.spatial import cKDTree

    return float(np.min(cKDTree(others).query(some)[0]))
