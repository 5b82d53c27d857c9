"""Which pairs of solids come near each other, by the boxes around them; compiled, for it is asked at every state."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kinematics.compiled import compiled
from .solids import Solid, local_bounds

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
ROUNDING = 1e-6  # [m]
ROOM = 1024  # candidates that a search has room for at first


@dataclass(frozen=True, eq=False)
class StaticBlock:
    """Solids that never move, which all are held against the same moving ones.

    static: (s,) indices. moving: (p,) indices, margins: (p,) [m], for each of them.
    """

    static: Indices
    moving: Indices
    margins: Floats


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs of solids, by index, that come near enough.

    first, second: (k,) indices. margins: (k,) [m]. gaps: (k,) lower bounds of the distance [m].
    """

    first: Indices
    second: Indices
    margins: Floats
    gaps: Floats

    def chosen(self, keep: NDArray[np.bool_]) -> Candidates:
        """Those for which keep (k,) is true."""
        return Candidates(self.first[keep], self.second[keep], self.margins[keep], self.gaps[keep])


class BoxSearch:
    """Boxes, parallel to the axes of the world, around solids of which the first `moving_count` move.

    pairs: (k, 2) and margins: (k,) [m], pairs that are listed one by one. blocks: more pairs, not listed.
    """

    def __init__(
        self,
        solids: list[Solid],
        poses: Floats,
        moving_count: int,
        pairs: Indices,
        margins: Floats,
        blocks: list[StaticBlock],
    ) -> None:
        bounds = [local_bounds(solid) for solid in solids]
        lows = np.array([low for low, _ in bounds]).reshape(-1, 3)
        highs = np.array([high for _, high in bounds]).reshape(-1, 3)
        self._centres, self._halves = 0.5 * (lows + highs), 0.5 * (highs - lows)
        self._count = moving_count
        self._low, self._high = np.empty_like(lows), np.empty_like(lows)
        place_boxes(np.ascontiguousarray(poses), self._centres, self._halves, self._low, self._high)
        self._first = np.ascontiguousarray(pairs[:, 0])
        self._second = np.ascontiguousarray(pairs[:, 1])
        self._margins = margins
        self._blocks = blocks
        self._found, self._gaps = np.empty((2, len(pairs)), dtype=np.intp), np.empty(len(pairs))
        self._room = ROOM

    def candidates(self, poses: Floats, reach: float) -> Candidates:
        """Pairs whose boxes come within their margin and `reach` [m] of each other, moving solids being at
        poses (m, 4, 4). A micrometre is added, so that rounding loses none."""
        poses = np.ascontiguousarray(poses)
        place_boxes(poses, self._centres, self._halves, self._low, self._high)
        low, high, reach = self._low, self._high, reach + ROUNDING
        found, gaps = self._found[0], self._gaps
        count = near_listed(low, high, self._first, self._second, self._margins, reach, found, gaps)
        near = found[:count]
        listed = Candidates(self._first[near], self._second[near], self._margins[near], gaps[:count].copy())
        if not self._blocks:
            return listed
        parts = [listed, *(self._near_block(block, reach) for block in self._blocks)]
        return Candidates(
            np.concatenate([part.first for part in parts]),
            np.concatenate([part.second for part in parts]),
            np.concatenate([part.margins for part in parts]),
            np.concatenate([part.gaps for part in parts]),
        )

    def _near_block(self, block: StaticBlock, reach: float) -> Candidates:
        while True:
            rows, columns = np.empty((2, self._room), dtype=np.intp)
            gaps = np.empty(self._room)
            count = near_block(
                self._low, self._high, block.moving, block.margins, block.static, reach, rows, columns, gaps
            )
            if count <= self._room:
                rows, columns = rows[:count], columns[:count]
                return Candidates(block.moving[rows], block.static[columns], block.margins[rows], gaps[:count])
            self._room = 2 * count


@compiled
def place_boxes(poses: Floats, centres: Floats, halves: Floats, low: Floats, high: Floats) -> None:
    """Lower and upper corners of the boxes in the world around boxes at poses (m, 4, 4); m rows are filled."""
    for i in range(poses.shape[0]):
        pose = poses[i]
        for axis in range(3):
            middle, half = pose[axis, 3], 0.0
            for k in range(3):
                middle += pose[axis, k] * centres[i, k]
                half += abs(pose[axis, k]) * halves[i, k]
            low[i, axis], high[i, axis] = middle - half, middle + half


@compiled
def near_listed(
    low: Floats,
    high: Floats,
    first: Indices,
    second: Indices,
    margins: Floats,
    reach: float,
    found: Indices,
    gaps: Floats,
) -> int:
    """Fill in which of the listed pairs are near, and their gaps; how many there are."""
    count = 0
    for index in range(first.shape[0]):
        i, j = first[index], second[index]
        limit = margins[index] + reach
        square = 0.0
        for axis in range(3):
            apart = max(low[i, axis] - high[j, axis], low[j, axis] - high[i, axis])
            if apart > limit:
                square = math.inf
                break
            if apart > 0.0:
                square += apart * apart
        if square <= limit * limit:
            found[count], gaps[count] = index, math.sqrt(square)
            count += 1
    return count


@compiled
def near_block(
    low: Floats,
    high: Floats,
    moving: Indices,
    margins: Floats,
    static: Indices,
    reach: float,
    rows: Indices,
    columns: Indices,
    gaps: Floats,
) -> int:
    """Fill in which moving (rows) and static (columns) solids of a block are near, as far as there is room.

    How many there are. What is not near the box around all moving solids is out at once.
    """
    lowest, highest, widest = np.full(3, math.inf), np.full(3, -math.inf), 0.0
    for row in range(moving.shape[0]):
        widest = max(widest, margins[row])
        for axis in range(3):
            lowest[axis] = min(lowest[axis], low[moving[row], axis])
            highest[axis] = max(highest[axis], high[moving[row], axis])
    count, room = 0, gaps.shape[0]
    widest += reach
    for column in range(static.shape[0]):
        j = static[column]
        far = False
        for axis in range(3):
            far = far or low[j, axis] > highest[axis] + widest or high[j, axis] < lowest[axis] - widest
        if far:
            continue
        for row in range(moving.shape[0]):
            i, limit = moving[row], margins[row] + reach
            square = 0.0
            for axis in range(3):
                apart = max(low[i, axis] - high[j, axis], low[j, axis] - high[i, axis])
                if apart > limit:
                    square = math.inf
                    break
                if apart > 0.0:
                    square += apart * apart
            if square <= limit * limit:
                if count < room:
                    rows[count], columns[count], gaps[count] = row, column, math.sqrt(square)
                count += 1
    return count
