"""Compiled kernels of the bounding-sphere trees of the triangles of meshes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ....system.compiled import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiled
def triangle_tree(corners: Floats) -> tuple[Floats, Integers]:
    """Return the nodes (2 t - 1, 4) and links (2 t - 1, 3) of a tree of t triangles with corners (t, 3, 3).

    The root is the first node. Each node is divided at the median of the middles of its triangles, along their widest
    extent. The links of a node are its left and right child and -1; those of a leaf are -1, -1 and its triangle.
    """
    count = corners.shape[0]
    middles = np.empty((count, 3))
    for t in range(count):
        for axis in range(3):
            middles[t, axis] = (corners[t, 0, axis] + corners[t, 1, axis] + corners[t, 2, axis]) / 3.0
    nodes, links = np.empty((2 * count - 1, 4)), np.zeros((2 * count - 1, 3), dtype=np.int64)
    order = np.arange(count)
    pending = np.empty((count + 1, 4), dtype=np.int64)  # begin, end, parent and side in it
    pending[0, 0], pending[0, 1], pending[0, 2], pending[0, 3] = 0, count, -1, 0
    waiting, number = 1, 0
    while waiting > 0:
        waiting -= 1
        begin, end, parent, side = pending[waiting]
        if parent >= 0:
            links[parent, side] = number
        enclose(corners, order[begin:end], nodes[number])
        if end - begin == 1:
            links[number, 0], links[number, 1], links[number, 2] = -1, -1, order[begin]
        else:
            links[number, 2] = -1
            group = order[begin:end].copy()
            along = np.argsort(middles[group, widest(middles, group)], kind="mergesort")
            order[begin:end] = group[along]
            half = begin + (end - begin) // 2
            pending[waiting, 0], pending[waiting, 1] = half, end
            pending[waiting, 2], pending[waiting, 3] = number, 1
            pending[waiting + 1, 0], pending[waiting + 1, 1] = begin, half
            pending[waiting + 1, 2], pending[waiting + 1, 3] = number, 0
            waiting += 2
        number += 1
    return nodes, links


@compiled
def widest(points: Floats, group: Integers) -> int:
    """Return the axis along which the points (n, 3) of a group extend farthest."""
    best, extent = 0, -1.0
    for axis in range(3):
        low, high = math.inf, -math.inf
        for t in group:
            low, high = min(low, points[t, axis]), max(high, points[t, axis])
        if high - low > extent:
            best, extent = axis, high - low
    return best


@compiled
def enclose(corners: Floats, group: Integers, sphere: Floats) -> None:
    """Write a sphere (4,) around the triangles of a group: its centre is that of their bounding box."""
    for axis in range(3):
        low, high = math.inf, -math.inf
        for t in group:
            for corner in range(3):
                value = corners[t, corner, axis]
                low, high = min(low, value), max(high, value)
        sphere[axis] = 0.5 * (low + high)
    farthest = 0.0
    for t in group:
        for corner in range(3):
            square = 0.0
            for axis in range(3):
                square += (corners[t, corner, axis] - sphere[axis]) ** 2
            farthest = max(farthest, square)
    sphere[3] = math.sqrt(farthest)
