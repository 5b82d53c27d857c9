"""All solids of a cell in one arrangement, and which pairs of them the rule book has; bounding boxes sort out the rest.

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
    """Pairs of solids, by index, that come near enough. margins (k,) [m]; gaps (k,): lower bounds of distance [m]."""

    first: Indices
    second: Indices
    margins: Floats
    gaps: Floats


class ShapeTable:
    """Solids by index: those that move come first.

    solids, owners, joints: solid, index of the owner, and joint of each. joint_T_solid: (n, 4, 4).
    moving_pairs: (k, 2) indices with moving_margins (k,); rigid_pairs: (r, 2) with rigid_margins (r,), whose two
    sides are fixed to each other, so that they collide in every configuration or in none.
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
        count = self.moving_count
        static = self._boxes(self.joint_T_solid[count:], self._centres[count:], self._halves[count:])
        self._static_centres, self._static_halves = static

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

    @staticmethod
    def _boxes(poses: Floats, centres: Floats, halves: Floats) -> tuple[Floats, Floats]:
        """Centres and half sizes (n, 3) of the boxes in the world around boxes at poses (n, 4, 4)."""
        rotations = poses[:, :3, :3]
        moved = np.matmul(rotations, centres[:, :, None])[:, :, 0] + poses[:, :3, 3]
        return moved, np.matmul(np.abs(rotations), halves[:, :, None])[:, :, 0]

    def candidates(self, poses: Floats, reach: float = 0.0) -> Candidates:
        """Pairs whose boxes come within their margin and `reach` [m] of each other, moving solids being at poses
        (m, 4, 4). A few micrometres are added, so that rounding loses none."""
        count = self.moving_count
        centres, halves = self._boxes(poses, self._centres[:count], self._halves[:count])
        reach += 1e-6
        found = [
            _near(self.moving_pairs, self.moving_margins, centres, halves, reach),
            _near(self.rigid_pairs, self.rigid_margins, centres, halves, reach),
        ]
        if count:
            found.extend(self._near_static(block, centres, halves, reach) for block in self.blocks)
        first, second, margins, gaps = (np.concatenate(column) for column in zip(*found, strict=True))
        return Candidates(first, second, margins, gaps)

    def _near_static(self, block: StaticBlock, centres: Floats, halves: Floats, reach: float) -> Columns:
        mid, half = centres[block.moving], halves[block.moving]
        static = block.static - self.moving_count
        widest = reach + float(block.margins.max())
        low, high = (mid - half).min(axis=0) - widest, (mid + half).max(axis=0) + widest
        other, other_half = self._static_centres[static], self._static_halves[static]
        near = np.all((other + other_half >= low) & (other - other_half <= high), axis=1)
        static, other, other_half = block.static[near], other[near], other_half[near]
        apart = np.abs(mid[:, None] - other[None]) - (half[:, None] + other_half[None])
        gaps = np.sqrt(np.square(np.maximum(apart, 0.0)).sum(axis=2))
        rows, columns = np.nonzero(gaps <= block.margins[:, None] + reach)
        return block.moving[rows], static[columns], block.margins[rows], gaps[rows, columns]


def _columns(pairs: list[tuple[int, int, float]]) -> tuple[Indices, Floats]:
    indices = np.array([pair[:2] for pair in pairs], dtype=np.intp).reshape(-1, 2)
    return indices, np.array([pair[2] for pair in pairs], dtype=np.float64)


def _near(pairs: Indices, margins: Floats, centres: Floats, halves: Floats, reach: float) -> Columns:
    first, second = pairs[:, 0], pairs[:, 1]
    apart = np.abs(centres[first] - centres[second]) - (halves[first] + halves[second])
    gaps = np.sqrt(np.square(np.maximum(apart, 0.0)).sum(axis=1))
    near = np.flatnonzero(gaps <= margins + reach)
    return first[near], second[near], margins[near], gaps[near]
