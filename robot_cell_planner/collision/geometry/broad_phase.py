"""Broad phase: pairs of collision geometries whose bounding boxes come near each other, in compiled code."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...system.compiled import compiled
from .collision_geometry import CollisionGeometry, local_bounds

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
ROUNDING = 1e-6  # [m]
NOT_LISTED = np.empty(0, dtype=np.intp)
CONSECUTIVE = 16  # placements of a motion whose boxes are compared together first
ROOM = 1024  # initial capacity for candidates of a search


@dataclass(frozen=True, eq=False)
class StaticBlock:
    """Stationary geometries that are all checked against the same moving geometries.

    Attributes:
        static: Indices of the stationary geometries (s,).
        moving: Indices of the moving geometries (p,).
        margins: Margin of each moving geometry (p,) [m].
    """

    static: Indices
    moving: Indices
    margins: Floats


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs of collision geometries whose bounding boxes come near each other.

    Attributes:
        first, second: Indices of the geometries (k,).
        margins: (k,) [m].
        gaps: Distances of the bounding boxes (k,) [m], 0 if they overlap.
        listed: Ascending indices (l,) of the pairs in the list of single pairs; these l pairs come first, the others
            belong to blocks.
    """

    first: Indices
    second: Indices
    margins: Floats
    gaps: Floats
    listed: Indices

    @property
    def min_distances(self) -> Floats:
        """Lower bounds of the distances (k,) [m]; minus infinity where boxes overlap, since geometries may penetrate
        each other."""
        return np.where(self.gaps > 0.0, self.gaps - ROUNDING, -np.inf)

    def chosen(self, keep: NDArray[np.bool_]) -> Candidates:
        """Return the pairs for which keep (k,) is true."""
        listed = self.listed[keep[: len(self.listed)]]
        return Candidates(self.first[keep], self.second[keep], self.margins[keep], self.gaps[keep], listed)


class BoxSearch:
    """Search over bounding boxes of collision geometries, of which the first `moving_count` move.

    Each geometry has an oriented box in its own frame, and an axis-aligned box around that in the world frame, which
    excludes most pairs.

    Args:
        owners: Index of the collision object of each geometry (n,).
        pairs: Pairs that are listed individually (k, 2), with margins (k,) [m]; those of the same objects should follow
            each other, since their common boxes are compared first.
        blocks: Additional pairs that are not listed.
    """

    def __init__(
        self,
        geometries: list[CollisionGeometry],
        poses: Floats,
        moving_count: int,
        owners: Indices,
        pairs: Indices,
        margins: Floats,
        blocks: list[StaticBlock],
    ) -> None:
        bounds = [local_bounds(geometry) for geometry in geometries]
        lows = np.array([low for low, _ in bounds]).reshape(-1, 3)
        highs = np.array([high for _, high in bounds]).reshape(-1, 3)
        self._boxes = np.ascontiguousarray(np.concatenate((0.5 * (lows + highs), 0.5 * (highs - lows)), axis=1))
        self._count = moving_count
        self._bounds = np.empty((len(geometries), 6))
        self._poses = np.array(poses, dtype=np.float64).reshape(-1, 4, 4)
        place_boxes(self._poses.copy(), self._boxes, self._poses, self._bounds)
        self._pairs = np.ascontiguousarray(pairs)
        self._margins = margins
        self._owners = np.unique(owners, return_inverse=True)[1].ravel().astype(np.intp)
        self._runs = _runs(self._owners[self._pairs], margins)
        self._blocks = blocks
        self._found = _room_for(len(pairs))
        self._room = ROOM

    def moved(self, poses: Floats, changed: Sequence[int]) -> BoxSearch:
        """Return a search in which some stationary geometries are placed at their rows of poses (n, 4, 4)."""
        found = copy.copy(self)
        found._poses, found._bounds = self._poses.copy(), self._bounds.copy()
        found._found = _room_for(len(self._pairs))
        for i in changed:
            row = slice(i, i + 1)
            place_boxes(poses[row].copy(), self._boxes[row], found._poses[row], found._bounds[row])
        return found

    def listed(self, poses: Floats) -> list[int] | None:
        """Return the listed pairs whose boxes come within their margin, as in `candidates`.

        The result is None if there are also blocks, since the list would be incomplete.
        """
        if self._blocks:
            return None
        rows: list[int] = self._near_listed(poses[None], 0.0)[1].tolist()
        return rows

    def _near_listed(self, poses: Floats, reach: float) -> tuple[Indices, Indices, Floats]:
        """Return state index, row and box distance of each near listed pair for placements (n, m, 4, 4).

        The arrays are valid until the next search.
        """
        while True:
            states, found, gaps = self._found
            if len(poses) == 1:
                count = near_listed(
                    poses[0], self._boxes, self._poses, self._bounds, self._pairs, self._margins, reach + ROUNDING,
                    found, gaps,
                )  # fmt: skip
                states[:count] = 0
            else:
                count = near_listed_along(
                    poses, self._boxes, self._poses, self._bounds, self._owners, self._runs, self._pairs,
                    self._margins, reach + ROUNDING, states, found, gaps,
                )  # fmt: skip
            if count <= len(gaps):
                return states[:count], found[:count], gaps[:count]
            self._found = _room_for(2 * count)

    def candidates(self, poses: Floats, reach: float) -> Candidates:
        """Return the pairs whose boxes come within their margin plus `reach` [m] of each other.

        poses: moving geometries (m, 4, 4), C contiguous. A micrometre is added against rounding errors.
        """
        _, found, gaps = self._near_listed(poses[None], reach)
        near = found.copy()
        first, second = self._pairs[near].T
        listed = Candidates(first, second, self._margins[near], gaps.copy(), near)
        if not self._blocks:
            return listed
        parts = [listed, *(self._near_block(block, reach + ROUNDING) for block in self._blocks)]
        return _all_of(parts, near)

    def candidates_along(self, poses: Floats, reach: float) -> tuple[Indices, Candidates]:
        """Return `candidates` for n placements (n, m, 4, 4) at once, preceded by the placement index of each pair."""
        if self._blocks:
            parts = [self.candidates(each, reach) for each in poses]
            states = np.repeat(np.arange(len(parts)), [len(part.first) for part in parts])
            return states, _all_of(parts, NOT_LISTED)
        states, found, gaps = self._near_listed(poses, reach)
        near = found.copy()
        first, second = self._pairs[near].T
        return states.copy(), Candidates(first, second, self._margins[near], gaps.copy(), NOT_LISTED)

    def _near_block(self, block: StaticBlock, reach: float) -> Candidates:
        while True:
            rows, columns = np.empty((2, self._room), dtype=np.intp)
            gaps = np.empty(self._room)
            count = near_block(
                self._boxes, self._poses, self._bounds, block.moving, block.margins, block.static, reach, rows, columns,
                gaps,
            )  # fmt: skip
            if count <= self._room:
                rows, columns = rows[:count], columns[:count]
                found = block.moving[rows], block.static[columns], block.margins[rows], gaps[:count]
                return Candidates(*found, listed=NOT_LISTED)
            self._room = 2 * count


def _room_for(count: int) -> tuple[Indices, Indices, Floats]:
    return np.empty(count, dtype=np.intp), np.empty(count, dtype=np.intp), np.empty(count)


def _runs(owners: Indices, margins: Floats) -> Indices:
    """Return the first and the last row plus 1 (r, 2) of successive pairs (k, 2) of the same objects and margin."""
    if not len(owners):
        return np.empty((0, 2), dtype=np.intp)
    ordered = np.sort(owners, axis=1)
    new = (ordered[1:] != ordered[:-1]).any(axis=1) | (margins[1:] != margins[:-1])
    ends = np.concatenate(([0], np.flatnonzero(new) + 1, [len(owners)]))
    return np.ascontiguousarray(np.column_stack((ends[:-1], ends[1:])).astype(np.intp))


def _all_of(parts: list[Candidates], listed: Indices) -> Candidates:
    """Concatenate the candidates of several searches."""
    return Candidates(
        np.concatenate([part.first for part in parts]),
        np.concatenate([part.second for part in parts]),
        np.concatenate([part.margins for part in parts]),
        np.concatenate([part.gaps for part in parts]),
        listed,
    )


@compiled
def world_bounds(box: Floats, pose: Floats, bounds: Floats) -> None:
    """Compute the lower and upper corner (6,) in the world frame of a box (6,) placed at pose (4, 4)."""
    for axis in range(3):
        middle, half = pose[axis, 3], 0.0
        for k in range(3):
            middle += pose[axis, k] * box[k]
            half += abs(pose[axis, k]) * box[3 + k]
        bounds[axis], bounds[3 + axis] = middle - half, middle + half


@compiled
def place_boxes(moving: Floats, boxes: Floats, poses: Floats, bounds: Floats) -> None:
    """Copy the poses (m, 4, 4) of the moving geometries and update their axis-aligned boxes in the world frame.

    boxes: (n, 6), centre and half size of each geometry in its own frame. bounds: lower and upper corners (m, 6).
    """
    for i in range(moving.shape[0]):
        for row in range(4):
            for column in range(4):
                poses[i, row, column] = moving[i, row, column]
        world_bounds(boxes[i], moving[i], bounds[i])


@compiled
def enclose(bounds: Floats, around: Floats) -> None:
    """Enlarge a box (6,), in place, so that it contains another."""
    for axis in range(3):
        around[axis] = min(around[axis], bounds[axis])
        around[3 + axis] = max(around[3 + axis], bounds[3 + axis])


@compiled
def gap_of_bounds(first: Floats, second: Floats, limit: float) -> float:
    """Return the distance of two axis-aligned boxes (6,), or infinity if it exceeds the limit."""
    square = 0.0
    for axis in range(3):
        apart = max(first[axis] - second[3 + axis], second[axis] - first[3 + axis])
        if apart > limit:
            return math.inf
        if apart > 0.0:
            square += apart * apart
    gap = math.sqrt(square)
    return gap if gap <= limit else math.inf


@compiled
def gap_of_turned(box: Floats, pose: Floats, other_box: Floats, other_pose: Floats) -> float:
    """Return the maximum separation of two oriented boxes along their face normals; negative if they overlap on all
    six.

    The axes between edges are omitted (Gottschalk, Lin and Manocha, OBBTree, 1996).
    """
    x, y, z = other_pose[0, 3] - pose[0, 3], other_pose[1, 3] - pose[1, 3], other_pose[2, 3] - pose[2, 3]
    for k in range(3):
        x += other_pose[0, k] * other_box[k] - pose[0, k] * box[k]
        y += other_pose[1, k] * other_box[k] - pose[1, k] * box[k]
        z += other_pose[2, k] * other_box[k] - pose[2, k] * box[k]
    widest = -math.inf
    for i in range(3):
        span, other_span = box[3 + i], other_box[3 + i]
        for j in range(3):
            cosine = pose[0, i] * other_pose[0, j] + pose[1, i] * other_pose[1, j] + pose[2, i] * other_pose[2, j]
            span += abs(cosine) * other_box[3 + j]
            cosine = pose[0, j] * other_pose[0, i] + pose[1, j] * other_pose[1, i] + pose[2, j] * other_pose[2, i]
            other_span += abs(cosine) * box[3 + j]
        along = abs(pose[0, i] * x + pose[1, i] * y + pose[2, i] * z) - span
        other_along = abs(other_pose[0, i] * x + other_pose[1, i] * y + other_pose[2, i] * z) - other_span
        widest = max(widest, along, other_along)
    return widest


@compiled
def near_listed(
    moving: Floats,
    boxes: Floats,
    poses: Floats,
    bounds: Floats,
    pairs: Indices,
    margins: Floats,
    reach: float,
    found: Indices,
    gaps: Floats,
) -> int:
    """Find the near listed pairs for a placement (m, 4, 4) of the moving geometries, in their order.

    Row (found) and box distances (gaps) are written up to their capacity; the result is the number of near pairs.
    """
    count, room = 0, gaps.shape[0]
    place_boxes(moving, boxes, poses, bounds)
    for index in range(pairs.shape[0]):
        i, j, limit = pairs[index, 0], pairs[index, 1], margins[index] + reach
        gap = gap_of_bounds(bounds[i], bounds[j], limit)
        if gap <= limit:
            gap = max(gap, gap_of_turned(boxes[i], poses[i], boxes[j], poses[j]))
            if gap <= limit:
                if count < room:
                    found[count], gaps[count] = index, gap
                count += 1
    return count


@compiled
def near_listed_along(
    moving: Floats,
    boxes: Floats,
    poses: Floats,
    bounds: Floats,
    owners: Indices,
    runs: Indices,
    pairs: Indices,
    margins: Floats,
    reach: float,
    states: Indices,
    found: Indices,
    gaps: Floats,
) -> int:
    """`near_listed` for each of n placements (n, m, 4, 4), with the placement index of each pair in `states`.

    Most pairs stay apart in all placements of a part of a motion: first the boxes around whole collision objects in
    all of them are compared, then those around geometries.
    """
    count, room, total, moves = 0, gaps.shape[0], moving.shape[0], moving.shape[1]
    chosen, around = np.empty(pairs.shape[0], dtype=np.intp), bounds.copy()
    objects = np.empty((owners.max() + 1 if owners.shape[0] else 0, 6))
    placed = np.empty((CONSECUTIVE, moves, 6))
    for begin in range(0, total, CONSECUTIVE):
        end = min(begin + CONSECUTIVE, total)
        for state in range(begin, end):
            for i in range(moves):
                world_bounds(boxes[i], moving[state, i], placed[state - begin, i])
                if state == begin:
                    around[i] = placed[0, i]
                else:
                    enclose(placed[state - begin, i], around[i])
        objects[:, :3], objects[:, 3:] = math.inf, -math.inf
        for i in range(owners.shape[0]):
            enclose(around[i], objects[owners[i]])
        left = 0
        for run in range(runs.shape[0]):
            index = runs[run, 0]
            limit = margins[index] + reach
            if gap_of_bounds(objects[owners[pairs[index, 0]]], objects[owners[pairs[index, 1]]], limit) <= limit:
                for index in range(runs[run, 0], runs[run, 1]):
                    if gap_of_bounds(around[pairs[index, 0]], around[pairs[index, 1]], limit) <= limit:
                        chosen[left] = index
                        left += 1
        for state in range(begin, end):
            for place in range(left):
                index = chosen[place]
                i, j, limit = pairs[index, 0], pairs[index, 1], margins[index] + reach
                gap = gap_of_bounds(
                    placed[state - begin, i] if i < moves else bounds[i],
                    placed[state - begin, j] if j < moves else bounds[j],
                    limit,
                )
                if gap <= limit:
                    pose = moving[state, i] if i < moves else poses[i]
                    other = moving[state, j] if j < moves else poses[j]
                    gap = max(gap, gap_of_turned(boxes[i], pose, boxes[j], other))
                    if gap <= limit:
                        if count < room:
                            states[count], found[count], gaps[count] = state, index, gap
                        count += 1
    return count


@compiled
def near_block(
    boxes: Floats,
    poses: Floats,
    bounds: Floats,
    moving: Indices,
    margins: Floats,
    static: Indices,
    reach: float,
    rows: Indices,
    columns: Indices,
    gaps: Floats,
) -> int:
    """Find the near pairs of moving (rows) and stationary (columns) geometries of a block, up to the capacity.

    The result is the number of near pairs. Geometries that are not near the box around all moving geometries are
    excluded at once.
    """
    lowest, highest, widest = np.full(3, math.inf), np.full(3, -math.inf), 0.0
    for row in range(moving.shape[0]):
        widest = max(widest, margins[row])
        for axis in range(3):
            lowest[axis] = min(lowest[axis], bounds[moving[row], axis])
            highest[axis] = max(highest[axis], bounds[moving[row], 3 + axis])
    count, room = 0, gaps.shape[0]
    widest += reach
    for column in range(static.shape[0]):
        j = static[column]
        far = False
        for axis in range(3):
            far = far or bounds[j, axis] > highest[axis] + widest or bounds[j, 3 + axis] < lowest[axis] - widest
        if far:
            continue
        for row in range(moving.shape[0]):
            i, limit = moving[row], margins[row] + reach
            gap = gap_of_bounds(bounds[i], bounds[j], limit)
            if gap <= limit:
                gap = max(gap, gap_of_turned(boxes[i], poses[i], boxes[j], poses[j]))
                if gap <= limit:
                    if count < room:
                        rows[count], columns[count], gaps[count] = row, column, gap
                    count += 1
    return count
