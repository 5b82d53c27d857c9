"""Geometry model: all collision geometries of a cell in one attachment topology, and their pairs.

Engines share this model, so that they check the same pairs and differ only in the distance computation.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kinematics.model import CellModel
from ...model.geometry import Shape
from ...model.pose import Matrix
from ...system.cache import IdentityCache
from ..pairs.allowed_pairs import AllowedPairs, CheckedPair
from .broad_phase import ROUNDING, BoxSearch, Candidates, StaticBlock
from .collision_geometry import CollisionGeometry, collision_geometries, local_bounds, naming_object
from .placements import placement_rows
from .separating_planes import SeparatingPlanes

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
MAX_OBJECTS = 16_384  # number of collision objects whose geometries are retained
LARGE = 4096  # number of pairs from which on a block is not listed pair by pair


class GeometryPair(NamedTuple):
    """Two collision geometries, by index in the order of their collision objects, and the pair of these objects."""

    pair: CheckedPair
    first: int
    second: int


class GeometryModel:
    """Collision geometries by index, moving ones first.

    Attributes:
        geometries: Collision geometries.
        object_indices: Index of the collision object of each geometry.
        joints: Joint of each geometry.
        joint_T_geometry: Placement in the joint (n, 4, 4).
        moving_pairs, moving_margins: Pairs in relative motion (k, 2) and their margins (k,) [m].
        rigid_pairs, rigid_margins: Pairs fixed to each other (r, 2) and their margins (r,) [m]; they collide in every
            configuration or in none.
        blocks: Pairs of stationary and moving geometries.
    """

    def __init__(self, allowed_pairs: AllowedPairs, model: CellModel) -> None:
        self.allowed_pairs = allowed_pairs
        self.geometries: list[CollisionGeometry] = []
        self._object_list: list[int] = []
        self._joint_list: list[int] = []
        self._placements: list[Floats] = []
        self._geometries_of: dict[int, range] = {}
        for index in allowed_pairs.moving:
            self._add(index, model)
        self.moving_count = len(self.geometries)
        rows = allowed_pairs.static_rows
        for index in sorted(obj for row in rows for obj in row.objects):
            self._add(index, model)
        self.object_indices = np.array(self._object_list, dtype=np.intp)
        self.joints = np.array(self._joint_list, dtype=np.intp)
        self.joint_T_geometry = np.concatenate((np.empty((0, 4, 4)), *self._placements))
        self._collect_moving_pairs()
        self.blocks = tuple(self._block(row.objects, [(p.moving, p.margin) for p in row.partners]) for row in rows)
        # Pairs of objects with their margins, by step and then by names, and (k, 3) the place in these and the
        # geometries of each listed pair, set by the first search. `CheckedPair`s are created on demand: most of the
        # thousands are never near each other.
        self._listed: tuple[list[tuple[tuple[int, int], float]], Indices] = [], np.empty((0, 3), dtype=np.intp)
        self._checked_pairs: dict[tuple[int, int], CheckedPair] = {}

    def _add(self, index: int, model: CellModel) -> None:
        obj = self.allowed_pairs.objects[index]
        at = model.frame(obj.name)
        joint_T_frame = at.placement.homogeneous
        start = len(self.geometries)
        with naming_object(obj.name):
            geometries, poses = _parts(obj.shapes)
        self.geometries.extend(geometries)
        self._object_list.extend([index] * len(geometries))
        self._joint_list.extend([at.joint] * len(geometries))
        self._placements.append(joint_T_frame @ poses)
        self._geometries_of[index] = range(start, len(self.geometries))

    def contains(self, index: int) -> bool:
        """Return whether a collision object, given by index, is checked against any other."""
        return index in self._geometries_of

    def geometries_of(self, index: int) -> range:
        """Return the geometries of a collision object, given by index."""
        return self._geometries_of[index]

    def moved(self, placements: Mapping[int, Matrix]) -> GeometryModel:
        """Return a geometry model that differs in the placements of some stationary collision objects.

        Geometries, pairs and their order are shared. placements: frames (4, 4) of objects in their joint, by index.
        """
        found = copy.copy(self)
        found.joint_T_geometry = self.joint_T_geometry.copy()
        moved: list[int] = []
        for index, placement in placements.items():
            _, poses = _parts(self.allowed_pairs.objects[index].shapes)
            rows = self._geometries_of[index]
            found.joint_T_geometry[rows.start : rows.stop] = placement @ poses
            moved.extend(rows)
        search = found.__dict__.get("_search")
        if search is not None:
            found.__dict__["_search"] = search.moved(found.joint_T_geometry, moved)
        planes = found.__dict__.get("planes")
        if planes is not None:
            found.__dict__["planes"] = planes.moved(found.joint_T_geometry)
        return found

    def of_pair(self, first: int, second: int, margin: float) -> tuple[GeometryModel, list[int]]:
        """Return a model of the geometries of two collision objects, given by index, and the index of each geometry in
        this model."""
        found = copy.copy(self)
        found.__dict__.pop("_search", None)
        found.__dict__.pop("planes", None)
        found.__dict__.pop("placement_rows", None)
        found._geometries_of, rows = {}, list[int]()
        for obj in sorted((first, second), key=lambda obj: self._geometries_of[obj].start):  # moving ones first
            found._geometries_of[obj] = range(len(rows), len(rows) + len(self._geometries_of[obj]))
            rows += self._geometries_of[obj]
        found.geometries = [self.geometries[row] for row in rows]
        found._object_list = [self._object_list[row] for row in rows]
        found.moving_count = sum(row < self.moving_count for row in rows)
        found.object_indices, found.joints = self.object_indices[rows], self.joints[rows]
        found.joint_T_geometry = self.joint_T_geometry[rows]
        moving = found.moving_count == len(rows)
        found.moving_pairs, of_objects = found._geometry_pairs([(first, second)] if moving else [])
        found.moving_margins = np.full(len(of_objects), margin)
        found.rigid_pairs, found.rigid_margins = found.moving_pairs[:0], found.moving_margins[:0]
        moving_object, other = found._geometries_of
        found.blocks = () if moving else (found._block((other,), [(moving_object, margin)]),)
        return found, rows

    def _collect_moving_pairs(self) -> None:
        objects, of_pairs = self.allowed_pairs.objects, self.allowed_pairs.moving_pairs
        rigid = np.array([objects[i].rigid_frame == objects[j].rigid_frame for i, j, _ in of_pairs], dtype=bool)
        pairs, rows = self._geometry_pairs([pair[:2] for pair in of_pairs])
        margins = np.array([margin for _, _, margin in of_pairs], dtype=np.float64)[rows]
        fixed = rigid[rows]
        self.moving_pairs, self.moving_margins = pairs[~fixed], margins[~fixed]
        self.rigid_pairs, self.rigid_margins = pairs[fixed], margins[fixed]

    def _geometry_pairs(self, of_objects: list[tuple[int, int]]) -> tuple[Indices, Indices]:
        """Return the pairs of geometries (k, 2) of pairs of objects, in their order, with the place of the latter
        (k,)."""
        ranges = [(self._geometries_of[i], self._geometries_of[j]) for i, j in of_objects]
        spans = np.array([(a.start, len(a), b.start, len(b)) for a, b in ranges], dtype=np.intp).reshape(-1, 4)
        counts = spans[:, 1] * spans[:, 3]
        rows = np.repeat(np.arange(len(spans)), counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        first, _, second, width = spans[rows].T
        return np.column_stack((first + within // width, second + within % width)), rows

    def _block(self, objects: tuple[int, ...], partners: list[tuple[int, float]]) -> StaticBlock:
        static = [geometry for obj in objects for geometry in self._geometries_of[obj]]
        moving = [(geometry, margin) for obj, margin in partners for geometry in self._geometries_of[obj]]
        return StaticBlock(
            np.array(static, dtype=np.intp),
            np.array([geometry for geometry, _ in moving], dtype=np.intp),
            np.array([margin for _, margin in moving]),
        )

    def near_rigid_pairs(self, poses: Floats) -> Indices:
        """Return the rows of `rigid_pairs` whose boxes come within their margin.

        poses: moving geometries (m, 4, 4). Without compiled code, which a first check does not have to load.
        """
        placed = np.concatenate((poses, self.joint_T_geometry[self.moving_count :]))
        bounds = np.array([local_bounds(geometry) for geometry in self.geometries]).reshape(-1, 2, 3)
        centres = np.einsum("nij,nj->ni", placed[:, :3, :3], bounds.mean(axis=1)) + placed[:, :3, 3]
        halves = np.einsum("nij,nj->ni", np.abs(placed[:, :3, :3]), 0.5 * (bounds[:, 1] - bounds[:, 0]))
        first, second = self.rigid_pairs.T
        apart = np.abs(centres[first] - centres[second]) - halves[first] - halves[second]
        gaps = np.linalg.norm(np.maximum(apart, 0.0), axis=1)
        return np.flatnonzero(gaps <= self.rigid_margins + ROUNDING)

    @property
    def pair_count(self) -> int:
        """Number of geometry pairs to check."""
        static = sum(len(block.static) * len(block.moving) for block in self.blocks)
        return len(self.moving_pairs) + len(self.rigid_pairs) + static

    @cached_property
    def _search(self) -> BoxSearch:
        """Search over all pairs; pairs of large blocks are not listed.

        It is created on first use, since boolean checks of the coal engine do not need it.
        """
        pairs = [self.moving_pairs, self.rigid_pairs]
        margins = [self.moving_margins, self.rigid_margins]
        large: list[StaticBlock] = []
        for block in self.blocks:
            if len(block.static) * len(block.moving) > LARGE:
                large.append(block)
                continue
            grid = np.meshgrid(block.moving, block.static, indexing="ij")
            pairs.append(np.column_stack([side.ravel() for side in grid]))
            margins.append(np.repeat(block.margins, len(block.static)))
        listed, distances = np.concatenate(pairs), np.concatenate(margins)
        found, ranks = self._ranked(listed, distances)
        objects = self.object_indices[listed]
        as_objects = np.where(objects[:, :1] > objects[:, 1:], listed[:, ::-1], listed)
        order = np.lexsort((as_objects[:, 1], as_objects[:, 0], ranks))
        self._listed = found, np.column_stack((ranks, as_objects))[order]
        return BoxSearch(
            self.geometries, self.joint_T_geometry, self.placement_rows, self.object_indices, listed[order],
            distances[order], large,
        )  # fmt: skip

    @cached_property
    def placement_rows(self) -> Indices:
        """Row of each moving geometry (m,) among their p different placements, see `placements.placement_rows`."""
        return placement_rows(self.joints[: self.moving_count], self.joint_T_geometry[: self.moving_count])

    @cached_property
    def planes(self) -> SeparatingPlanes:
        """Bounds of distances from separating planes, created on first use."""
        return SeparatingPlanes(self.geometries, self.joint_T_geometry, self.placement_rows)

    def _ranked(self, listed: Indices, margins: Floats) -> tuple[list[tuple[tuple[int, int], float]], Indices]:
        """Return the pairs of collision objects of geometry pairs (k, 2), by step and then by names, with their
        margins, and the place of each row in them (k,)."""
        objects, of_index = np.sort(self.object_indices[listed], axis=1), self.allowed_pairs.objects
        keys = objects[:, 0] * len(of_index) + objects[:, 1]  # unique rows would take much longer
        _, firsts, rows = np.unique(keys, return_index=True, return_inverse=True)
        pairs = [(one, other) for one, other in objects[firsts].tolist()]
        step = self.allowed_pairs.pair_type
        described = [
            (step(of_index[one], of_index[other]), of_index[one].name, of_index[other].name) for one, other in pairs
        ]
        order = sorted(range(len(pairs)), key=described.__getitem__)
        ranks = np.empty(len(pairs), dtype=np.intp)
        ranks[order] = np.arange(len(pairs))
        of_pairs = margins[firsts].tolist()
        return [(pairs[index], of_pairs[index]) for index in order], ranks[rows]

    def entry(self, first: int, second: int, margin: float) -> GeometryPair:
        """Return a geometry pair with the pair of its collision objects."""
        one, other = self._object_list[first], self._object_list[second]
        if one < other:
            return GeometryPair(self.checked_pair((one, other), margin), first, second)
        return GeometryPair(self.checked_pair((other, one), margin), second, first)

    def checked_pair(self, objects: tuple[int, int], margin: float) -> CheckedPair:
        """Return the pair of two collision objects, by index; pairs are cached."""
        found = self._checked_pairs.get(objects)
        if found is None:
            found = self._checked_pairs[objects] = self.allowed_pairs.as_pair(*objects, margin)
        return found

    def name_of(self, geometry: int) -> str:
        """Return the name of the collision object of a geometry."""
        return self.allowed_pairs.objects[int(self.object_indices[geometry])].name

    def near(self, poses: Floats) -> list[GeometryPair]:
        """Return the pairs whose boxes come within their margin, by step and then by names.

        poses: moving geometries (m, 4, 4).
        """
        rows = self._search.listed(poses)
        if rows is None:
            return self.in_order(self.candidates(poses))
        return [self.listed_pair(row) for row in rows]

    @property
    def listed_count(self) -> int:
        """Number of listed pairs, after the first search."""
        return len(self._listed[1])

    def listed_pair(self, row: int) -> GeometryPair:
        """Return a pair in the numbering of `Candidates.listed`."""
        pairs, listed = self._listed
        rank, first, second = listed[row].tolist()
        return GeometryPair(self.checked_pair(*pairs[rank]), first, second)

    def in_order(self, near: Candidates) -> list[GeometryPair]:
        """Return candidates ordered by step and then by names of their collision objects."""
        entries = [self.listed_pair(row) for row in near.listed.tolist()]
        count = len(entries)
        if len(near.first) > count:
            blocks = (near.first[count:].tolist(), near.second[count:].tolist(), near.margins[count:].tolist())
            entries.extend(self.entry(i, j, margin) for i, j, margin in zip(*blocks, strict=True))
            entries.sort()
        return entries

    def candidates(self, poses: Floats, reach: float = 0.0) -> Candidates:
        """Return the pairs whose boxes come within their margin plus `reach` [m] of each other.

        poses: moving geometries (m, 4, 4).
        """
        return self._search.candidates(poses, reach)

    def candidates_along(self, poses: Floats, reach: float) -> tuple[Indices, Candidates]:
        """Return `candidates` at n configurations at once, preceded by the configuration of each pair.

        poses: the different placements of moving geometries (n, p, 4, 4), see `placement_rows`.
        """
        return self._search.candidates_along(poses, reach)


_parts_of: IdentityCache[tuple[tuple[CollisionGeometry, ...], Floats]] = IdentityCache(MAX_OBJECTS, MAX_OBJECTS)


def _parts(shapes: tuple[Shape, ...]) -> tuple[tuple[CollisionGeometry, ...], Floats]:
    """Return the n collision geometries of an object, and their poses (n, 4, 4) in its frame. Cached by identity, as
    hashing a body of thousands of shapes takes longer than building it."""

    def build() -> tuple[tuple[CollisionGeometry, ...], Floats]:
        parts = [(geometry, shape.pose.matrix) for shape in shapes for geometry in collision_geometries(shape.geometry)]
        poses = np.array([pose for _, pose in parts]).reshape(-1, 4, 4)
        poses.flags.writeable = False
        return tuple(geometry for geometry, _ in parts), poses

    return _parts_of.get((shapes,), (), build)
