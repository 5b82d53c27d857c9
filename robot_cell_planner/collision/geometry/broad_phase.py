"""Broad phase: pairs of collision geometries whose bounding boxes come near each other, in compiled code."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .broad_phase_kernels import near_block, near_listed, near_listed_along, place_boxes
from .collision_geometry import CollisionGeometry, local_bounds

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
ROUNDING = 1e-6  # [m]
NOT_LISTED = np.empty(0, dtype=np.intp)
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
    """Search over bounding boxes of collision geometries, of which the first ones move.

    Each geometry has an oriented box in its own frame, and an axis-aligned box around that in the world frame, which
    excludes most pairs.

    Args:
        poses: Placements (n, 4, 4) of the geometries in their joints.
        rows: Row of each moving geometry (m,) among their different placements.
        owners: Index of the collision object of each geometry (n,).
        pairs: Pairs that are listed individually (k, 2), with margins (k,) [m]; those of the same objects should follow
            each other, since their common boxes are compared first.
        blocks: Additional pairs that are not listed.
    """

    def __init__(
        self,
        geometries: list[CollisionGeometry],
        poses: Floats,
        rows: Indices,
        owners: Indices,
        pairs: Indices,
        margins: Floats,
        blocks: list[StaticBlock],
    ) -> None:
        bounds = [local_bounds(geometry) for geometry in geometries]
        lows = np.array([low for low, _ in bounds]).reshape(-1, 3)
        highs = np.array([high for _, high in bounds]).reshape(-1, 3)
        self._boxes = np.ascontiguousarray(np.concatenate((0.5 * (lows + highs), 0.5 * (highs - lows)), axis=1))
        self._rows = rows
        self._bounds = np.empty((len(geometries), 6))
        self._poses = np.array(poses, dtype=np.float64).reshape(-1, 4, 4)
        place_boxes(self._poses.copy(), self._boxes, self._poses, self._bounds)
        self._pairs = np.ascontiguousarray(pairs)
        self._margins = margins
        _, firsts, numbers = np.unique(owners, return_index=True, return_inverse=True)
        self._objects = firsts.astype(np.intp)
        self._object_boxes = _object_boxes(self._boxes, self._poses, firsts, numbers.ravel())
        self._runs = _runs(numbers.ravel()[self._pairs], margins)
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
        rows: list[int] = self._near_listed(poses, 0.0)[0].tolist()
        return rows

    def _near_listed(self, poses: Floats, reach: float) -> tuple[Indices, Floats]:
        """Return row and box distance of each near listed pair for placements (m, 4, 4).

        The arrays are valid until the next search.
        """
        while True:
            _, found, gaps = self._found
            count = near_listed(
                poses, self._boxes, self._poses, self._bounds, self._pairs, self._margins, reach + ROUNDING, found, gaps
            )
            if count <= len(gaps):
                return found[:count], gaps[:count]
            self._found = _room_for(2 * count)

    def _near_listed_along(self, poses: Floats, reach: float) -> tuple[Indices, Indices, Floats]:
        """As `_near_listed` for the different placements (n, p, 4, 4) at n configurations, preceded by the
        configuration of each pair."""
        while True:
            states, found, gaps = self._found
            count = near_listed_along(
                poses, self._rows, self._boxes, self._poses, self._bounds, self._objects, self._object_boxes,
                self._runs, self._pairs, self._margins, reach + ROUNDING, states, found, gaps,
            )  # fmt: skip
            if count <= len(gaps):
                return states[:count], found[:count], gaps[:count]
            self._found = _room_for(2 * count)

    def candidates(self, poses: Floats, reach: float) -> Candidates:
        """Return the pairs whose boxes come within their margin plus `reach` [m] of each other.

        poses: moving geometries (m, 4, 4), C contiguous. A micrometre is added against rounding errors.
        """
        found, gaps = self._near_listed(poses, reach)
        near = found.copy()
        first, second = self._pairs[near].T
        listed = Candidates(first, second, self._margins[near], gaps.copy(), near)
        if not self._blocks:
            return listed
        parts = [listed, *(self._near_block(block, reach + ROUNDING) for block in self._blocks)]
        return _all_of(parts, near)

    def candidates_along(self, poses: Floats, reach: float) -> tuple[Indices, Candidates]:
        """Return `candidates` at n configurations at once, preceded by the configuration of each pair.

        poses: the different placements of moving geometries (n, p, 4, 4).
        """
        if self._blocks:
            parts = [self.candidates(each[self._rows], reach) for each in poses]
            states = np.repeat(np.arange(len(parts)), [len(part.first) for part in parts])
            return states, _all_of(parts, NOT_LISTED)
        states, found, gaps = self._near_listed_along(poses, reach)
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


def _object_boxes(boxes: Floats, poses: Floats, firsts: Indices, owners: Indices) -> Floats:
    """Return the box (o, 6), centre and half size, around the geometries of each object, in the frame of its first one.

    boxes: (n, 6) of the geometries. poses: (n, 4, 4). firsts: (o,) first geometry of each object. owners: object of
    each geometry (n,).
    """
    rotations, positions = poses[:, :3, :3], poses[:, :3, 3]
    to_first = rotations[firsts][owners].transpose(0, 2, 1)
    turned = to_first @ rotations
    shifted = np.einsum("nij,nj->ni", to_first, positions - positions[firsts][owners])
    centres = np.einsum("nij,nj->ni", turned, boxes[:, :3]) + shifted
    halves = np.einsum("nij,nj->ni", np.abs(turned), boxes[:, 3:])
    lows, highs = np.full((len(firsts), 3), np.inf), np.full((len(firsts), 3), -np.inf)
    np.minimum.at(lows, owners, centres - halves)
    np.maximum.at(highs, owners, centres + halves)
    return np.ascontiguousarray(np.concatenate((0.5 * (lows + highs), 0.5 * (highs - lows)), axis=1))


def _runs(owners: Indices, margins: Floats) -> Indices:
    """Return rows (r, 4) of successive pairs (k, 2) of the same objects and margin: the first and the last row plus 1,
    and both objects."""
    if not len(owners):
        return np.empty((0, 4), dtype=np.intp)
    ordered = np.sort(owners, axis=1)
    new = (ordered[1:] != ordered[:-1]).any(axis=1) | (margins[1:] != margins[:-1])
    ends = np.concatenate(([0], np.flatnonzero(new) + 1, [len(owners)]))
    return np.ascontiguousarray(np.column_stack((ends[:-1], ends[1:], ordered[ends[:-1]])).astype(np.intp))


def _all_of(parts: list[Candidates], listed: Indices) -> Candidates:
    """Concatenate the candidates of several searches."""
    return Candidates(
        np.concatenate([part.first for part in parts]),
        np.concatenate([part.second for part in parts]),
        np.concatenate([part.margins for part in parts]),
        np.concatenate([part.gaps for part in parts]),
        listed,
    )
