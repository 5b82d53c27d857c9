"""Extents of point sets along directions: the offsets of planes that have all points on their inner side."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...system.compiled import compiled
from ..geometry.z_order import z_order

Array = NDArray[np.float64]
FEW_POINTS = 2_000  # points that are all compared with each normal
BLOCK, GROUP = 32, 32  # points of a block, and blocks of a group
SLACK = 1e-12  # relative enlargement of boxes against rounding errors


def offsets_of(normals: Array, points: Array) -> Array:
    """Return the largest of the products of each unit normal (m, 3) with all points (n, 3): (m,).

    Every operation is rounded as written, so that the offsets are the same on all machines, and for any order of the
    points. Many points are compared in blocks, most of which are excluded by their bounding boxes.
    """
    if len(points) <= FEW_POINTS:
        return np.asarray(_offsets(normals, points))
    points = np.ascontiguousarray(points[z_order(points)])
    blocks = _boxes(points, points, BLOCK)
    groups = _boxes(*blocks, GROUP)
    return np.asarray(_offsets_by_blocks(normals, points, np.hstack(blocks), np.hstack(groups)))


def _boxes(low: Array, high: Array, count: int) -> tuple[Array, Array]:
    """Return the lower and the upper corners (k, 3) of boxes around `count` consecutive ones (n, 3) each."""
    starts = np.arange(0, len(low), count)
    slack = SLACK * max(float(np.abs(low).max()), float(np.abs(high).max()))
    return np.minimum.reduceat(low, starts) - slack, np.maximum.reduceat(high, starts) + slack


@compiled
def _offsets(normals: Array, points: Array) -> Array:
    found = np.empty(normals.shape[0])
    for row in range(normals.shape[0]):
        found[row] = _largest(normals[row], points, 0, points.shape[0], -math.inf)
    return found


@compiled
def _largest(normal: Array, points: Array, begin: int, end: int, largest: float) -> float:
    """Return the largest of a number and the products of a normal (3,) with some of the points (n, 3)."""
    x, y, z = normal[0], normal[1], normal[2]
    for i in range(begin, end):
        largest = max(largest, points[i, 0] * x + points[i, 1] * y + points[i, 2] * z)
    return largest


@compiled
def _bound(normal: Array, box: Array) -> float:
    """Return an upper bound of the products of a normal (3,) with the points in a box (6,)."""
    bound = 0.0
    for axis in range(3):
        bound += max(normal[axis] * box[axis], normal[axis] * box[3 + axis])
    return bound


@compiled
def _offsets_by_blocks(normals: Array, points: Array, blocks: Array, groups: Array) -> Array:
    """As `_offsets`, with the boxes (6,) of blocks and of groups of them. The group with the highest bound is first."""
    found, bounds = np.empty(normals.shape[0]), np.empty(groups.shape[0])
    for row in range(normals.shape[0]):
        normal, largest = normals[row], -math.inf
        for group in range(groups.shape[0]):
            bounds[group] = _bound(normal, groups[group])
        first = int(np.argmax(bounds))
        for step in range(-1, groups.shape[0]):
            group = first if step < 0 else step
            if bounds[group] < largest or step == first:
                continue
            for block in range(group * GROUP, min((group + 1) * GROUP, blocks.shape[0])):
                if _bound(normal, blocks[block]) >= largest:
                    end = min((block + 1) * BLOCK, points.shape[0])
                    largest = _largest(normal, points, block * BLOCK, end, largest)
        found[row] = largest
    return found
