"""All solids of a cell in one arrangement, and which pairs of them the rule book has.

Engines share this table, so that they answer about the same pairs and differ only in the geometry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..cell.pose import Matrix
from .rules import RuleBook
from .solids import Solid, Surface, local_bounds, solids

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
LARGE = 4096  # pairs in a block that is not listed pair by pair
ROUNDING = 1e-6  # [m]

Columns = tuple[Indices, Indices, Floats, Floats]


@dataclass(frozen=True)
class Placement:
    """Where a frame is fixed: the joint that moves it (0: the world), and joint_T_frame (4, 4)."""

    joint: int
    joint_T_frame: Matrix


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
    """Pairs of solids, by index, that come near enough. margins (k,) [m]; gaps (k,): lower bounds of distance
    [m]."""

    first: Indices
    second: Indices
    margins: Floats
    gaps: Floats


class ShapeTable:
    """Solids by index: those that move come first.

    solids, owners, joints: solid, index of the owner, and joint of each. joint_T_solid: (n, 4, 4).
    moving_pairs: (k, 2) indices with moving_margins (k,); rigid_pairs: (r, 2) with rigid_margins (r,), whose
    two sides are fixed to each other, so that they collide in every configuration or in none.
    """

    def __init__(self, book: RuleBook, placement_of: Callable[[str], Placement]) -> None:
        self.book = book
        self.solids: list[Solid] = []
        self._owner_list: list[int] = []
        self._joint_list: list[int] = []
        self._placements: list[Matrix] = []
        self._of_owner: dict[int, range] = {}
        for index in book.moving:
            self._add(index, placement_of)
        self.moving_count = len(self.solids)
        rows = book.static_rows
        for index in sorted(owner for row in rows for owner in row.owners):
            self._add(index, placement_of)
        self.owners = np.array(self._owner_list, dtype=np.intp)
        self.joints = np.array(self._joint_list, dtype=np.intp)
        self.joint_T_solid = np.array(self._placements).reshape(-1, 4, 4)
        bounds = [local_bounds(solid) for solid in self.solids]
        self._centres = np.array([0.5 * (low + high) for low, high in bounds]).reshape(-1, 3)
        self._halves = np.array([0.5 * (high - low) for low, high in bounds]).reshape(-1, 3)
        self._collect_moving_pairs()
        self.blocks = tuple(self._block(row.owners, [(p.owner, p.margin) for p in row.partners]) for row in rows)
        self._low, self._high = self._boxes(self.joint_T_solid, slice(None))
        self._list_pairs()

    def _add(self, index: int, placement_of: Callable[[str], Placement]) -> None:
        owner = self.book.owners[index]
        place = placement_of(owner.name)
        start = len(self.solids)
        for shape in owner.shapes:
            frame_T_shape = shape.pose.matrix
            for solid in solids(shape.geometry):
                self.solids.append(solid)
                self._owner_list.append(index)
                self._joint_list.append(place.joint)
                self._placements.append(place.joint_T_frame @ frame_T_shape)
        self._of_owner[index] = range(start, len(self.solids))

    def _collect_moving_pairs(self) -> None:
        moving: list[tuple[int, int, float]] = []
        rigid: list[tuple[int, int, float]] = []
        for i, j, margin in self.book.moving_pairs:
            fixed = self.book.owners[i].rigid_frame == self.book.owners[j].rigid_frame
            pairs = rigid if fixed else moving
            pairs.extend((a, b, margin) for a in self._of_owner[i] for b in self._of_owner[j])
        self.moving_pairs, self.moving_margins = _columns(moving)
        self.rigid_pairs, self.rigid_margins = _columns(rigid)

    def _block(self, owners: tuple[int, ...], partners: list[tuple[int, float]]) -> StaticBlock:
        static = [solid for owner in owners for solid in self._of_owner[owner]]
        moving = [(solid, margin) for owner, margin in partners for solid in self._of_owner[owner]]
        return StaticBlock(
            np.array(static, dtype=np.intp),
            np.array([solid for solid, _ in moving], dtype=np.intp),
            np.array([margin for _, margin in moving]),
        )

    @property
    def has_surfaces(self) -> bool:
        return any(isinstance(solid, Surface) for solid in self.solids)

    @property
    def pair_count(self) -> int:
        """How many pairs of solids there are to check."""
        static = sum(len(block.static) * len(block.moving) for block in self.blocks)
        return len(self.moving_pairs) + len(self.rigid_pairs) + static

    def _list_pairs(self) -> None:
        """One list of all pairs, except those of large blocks."""
        pairs = [self.moving_pairs, self.rigid_pairs]
        margins = [self.moving_margins, self.rigid_margins]
        self._large: list[StaticBlock] = []
        for block in self.blocks:
            if len(block.static) * len(block.moving) > LARGE:
                self._large.append(block)
                continue
            grid = np.meshgrid(block.moving, block.static, indexing="ij")
            pairs.append(np.column_stack([side.ravel() for side in grid]))
            margins.append(np.repeat(block.margins, len(block.static)))
        listed = np.concatenate(pairs)
        self._first, self._second = np.ascontiguousarray(listed[:, 0]), np.ascontiguousarray(listed[:, 1])
        self._margins = np.concatenate(margins)

    def _boxes(self, poses: Floats, chosen: slice) -> tuple[Floats, Floats]:
        """Lower and upper corners (3, n) of the boxes in the world around chosen solids at poses (n, 4,
        4)."""
        rotations = poses[:, :3, :3]
        centres = np.matmul(rotations, self._centres[chosen, :, None])[:, :, 0] + poses[:, :3, 3]
        halves = np.matmul(np.abs(rotations), self._halves[chosen, :, None])[:, :, 0]
        return np.ascontiguousarray((centres - halves).T), np.ascontiguousarray((centres + halves).T)

    def candidates(self, poses: Floats, reach: float = 0.0) -> Candidates:
        """Pairs whose boxes come within their margin and `reach` [m] of each other, moving solids being at
        poses (m, 4, 4). A micrometre is added, so that rounding loses none."""
        count = self.moving_count
        self._low[:, :count], self._high[:, :count] = self._boxes(poses, slice(count))
        low, high, first, second = self._low, self._high, self._first, self._second
        apart = np.maximum(
            low.take(first, axis=1) - high.take(second, axis=1),
            low.take(second, axis=1) - high.take(first, axis=1),
        )
        limits = self._margins + (reach + ROUNDING)
        near = np.flatnonzero(np.maximum(np.maximum(apart[0], apart[1]), apart[2]) <= limits)
        apart = np.maximum(apart[:, near], 0.0)
        gaps = np.sqrt(np.einsum("ij,ij->j", apart, apart))
        near, gaps = near[gaps <= limits[near]], gaps[gaps <= limits[near]]
        found = (first[near], second[near], self._margins[near], gaps)
        if not self._large:
            return Candidates(*found)
        columns = [found, *(self._near_static(block, reach + ROUNDING) for block in self._large)]
        return Candidates(*(np.concatenate(column) for column in zip(*columns, strict=True)))

    def _near_static(self, block: StaticBlock, reach: float) -> Columns:
        """Candidates of a large block: what is not near the box around all its moving solids is out at
        once."""
        low, high = self._low[:, block.moving], self._high[:, block.moving]
        widest = reach + float(block.margins.max())
        lowest, highest = low.min(axis=1) - widest, high.max(axis=1) + widest
        lows, highs = self._low[:, block.static], self._high[:, block.static]
        near = np.all((highs >= lowest[:, None]) & (lows <= highest[:, None]), axis=0)
        static, lows, highs = block.static[near], lows[:, near], highs[:, near]
        apart = np.maximum(np.maximum(low[:, :, None] - highs[:, None], lows[:, None] - high[:, :, None]), 0.0)
        gaps = np.sqrt(np.einsum("ijk,ijk->jk", apart, apart))
        rows, columns = np.nonzero(gaps <= block.margins[:, None] + reach)
        return block.moving[rows], static[columns], block.margins[rows], gaps[rows, columns]


def _columns(pairs: list[tuple[int, int, float]]) -> tuple[Indices, Floats]:
    indices = np.array([pair[:2] for pair in pairs], dtype=np.intp).reshape(-1, 2)
    return indices, np.array([pair[2] for pair in pairs], dtype=np.float64)
