"""Certification model of a cell in one attachment topology: moving objects as sphere trees, all others as obstacles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..checker import CollisionChecker
from ..geometry.collision_geometry import collision_geometries
from ..pairs.allowed_pairs import AllowedPairs
from ..sphere_model.approximation import PROTRUSION
from ..sphere_model.resolution import ObjectSpheres, object_spheres
from ..sphere_model.tolerance import protrusions
from ._kernels.arrays import LANES, NEVER, MotionArrays
from ._kernels.obstacles import UNIT, Obstacles
from .motion_bounds import motion_model
from .sphere_tree import SphereTree, sphere_tree

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]
JOINT_ROUNDING = 24.0  # unit roundoffs that a joint may add to the position of an object, relative to its distance


class MotionScene:
    """Moving objects and obstacles of a checker, as the kernels read them.

    Objects that only fixed joints move count as obstacles.

    Attributes:
        moving_objects: indices in `AllowedPairs.objects` of the objects that the variables move.
        trees: their sphere trees.
        warnings: about moving objects whose spheres are coarser than requested, see `sphere_model.resolution`.

    Args:
        protrusion: maximum protrusion of the spheres near the base of a robot [m], see `sphere_model.tolerance`.

    Raises:
        GeometryError: a collision shape cannot be read.
    """

    def __init__(self, checker: CollisionChecker, protrusion: float = PROTRUSION) -> None:
        self.checker = checker
        self._protrusions = protrusions(checker.cell, protrusion)
        self.allowed_pairs: AllowedPairs = checker.allowed_pairs
        self.model = motion_model(checker)
        self.tree, self.placements = self.model.tree, self.model.placements
        self.moving_objects, self.pairs = self.model.moving_objects, self.model.pairs
        spheres = [self._spheres(index) for index in self.moving_objects]
        self.trees: tuple[SphereTree, ...] = tuple(
            sphere_tree(self._placed(index, found)) for index, found in zip(self.moving_objects, spheres, strict=True)
        )
        names = [self.allowed_pairs.objects[index].name for index in self.moving_objects]
        coarser = [found.warning(name) for name, found in zip(names, spheres, strict=True) if found.is_coarser]
        self.warnings = tuple(coarser)

    def _spheres(self, index: int) -> ObjectSpheres:
        obj = self.allowed_pairs.objects[index]
        return object_spheres(obj.shapes, self._protrusions[obj.name])

    def _placed(self, index: int, found: ObjectSpheres) -> Floats:
        """Return the spheres (n, 4) of an object in the frame of the joint that it is fixed to."""
        spheres, pose = found.spheres, self.placements[index].placement
        return np.column_stack((spheres[:, :3] @ pose[:3, :3].T + pose[:3, 3], spheres[:, 3]))

    @cached_property
    def sphere_count(self) -> int:
        """Number of spheres of all moving objects."""
        return sum(len(tree.leaves) for tree in self.trees)

    @cached_property
    def origin(self) -> Floats:
        """Origin (3,) of the single-precision coordinates, in the world frame: the position of the first joint."""
        return self.tree.joints[0].before[:3, 3].copy() if self.tree.joints else np.zeros(3)

    def arrays(self, extra_margin: float = 0.0) -> MotionArrays:
        """Return the arrays of the kernels. extra_margin: added to every margin [m]."""
        spheres, children, cores, motion_bounds, farthest = self._sphere_arrays()
        # Positions of spheres have rounding errors from the joints and from their own coordinates.
        rounding = UNIT * JOINT_ROUNDING * (len(self.tree.joints) + 1) * farthest
        obstacles, margins = self._obstacles(extra_margin)
        shapes = np.array(obstacles.shapes).reshape(-1, 20)
        shapes[:, 19] += rounding
        joints = self.tree.joints
        sides = np.zeros((2 * len(self.pairs), len(joints)))
        for row, pair in enumerate(self.pairs):
            sides[2 * row, list(pair.first_joints)] = 1.0
            sides[2 * row + 1, list(pair.second_joints)] = 1.0
        return MotionArrays(
            joints=_integers([(j.parent, 0 if j.revolute else 1, j.variable) for j in joints], 3),
            frames=_singles([self._frame(j.parent, j.before) for j in joints], 12),
            couplings=np.array([(j.multiplier, j.offset) for j in joints]).reshape(-1, 2),
            spheres=spheres,
            children=children,
            parent_joints=np.array([self.placements[index].joint for index in self.moving_objects], dtype=np.int64),
            cores=cores,
            motion_bounds=_filled(motion_bounds),
            pairs=_integers([(pair.first, pair.second) for pair in self.pairs], 2),
            pair_margins=np.array([pair.margin + extra_margin for pair in self.pairs], dtype=np.float32),
            sides=_filled(sides),
            obstacles=_integers(obstacles.obstacles, 5),
            shapes=shapes.astype(np.float32),
            margins=margins,
            nodes=_single_rows(obstacles.nodes, 4),
            links=np.concatenate([np.empty((0, 3), dtype=np.int64), *obstacles.links]),
            triangles=_single_rows(obstacles.triangles, 33),
            planes=_single_rows(obstacles.planes, 4),
            rounding=np.array([2.0 * rounding], dtype=np.float32),
        )

    def _frame(self, parent: int, before: Floats) -> Floats:
        shift = before[:3, 3] - (self.origin if parent < 0 else 0.0)
        return np.array((*before[:3, :3].ravel(), *shift))

    def _sphere_arrays(self) -> tuple[Singles, Integers, Integers, Singles, float]:
        """Return spheres (n, 4), children (n, 2), cores (n,), reach (n, j), and the maximum distance of a centre [m].

        The distance is that from the origin. motion_bounds: motion bounds of each sphere per joint.
        """
        roots, clusters, leaves = len(self.trees), sum(len(t.clusters) for t in self.trees), self.sphere_count
        spheres = np.zeros((roots + clusters + leaves, 4))
        children, cores = np.zeros((len(spheres), 2), dtype=np.int64), np.zeros(len(spheres), dtype=np.int64)
        motion_bounds = np.zeros((len(spheres), len(self.tree.joints)))
        farthest = 0.0
        cluster, leaf = roots, roots + clusters
        for obj, tree in enumerate(self.trees):
            bounds, distances = self.tree.bounds(self.placements[self.moving_objects[obj]].joint, tree.leaves[:, :3])
            farthest = max(farthest, float(distances.max()) + float(np.linalg.norm(self.origin)))
            spheres[obj], children[obj] = tree.root, (cluster, cluster + len(tree.clusters))
            motion_bounds[obj] = bounds.max(axis=0)
            for number, sphere in enumerate(tree.clusters):
                first, end = tree.starts[number], tree.starts[number + 1]
                spheres[cluster], children[cluster] = sphere, (leaf, leaf + end - first)
                cores[cluster] = leaf + int(np.argmax(tree.leaves[first:end, 3]))
                motion_bounds[cluster] = bounds[first:end].max(axis=0)
                spheres[leaf : leaf + end - first] = tree.leaves[first:end]
                motion_bounds[leaf : leaf + end - first] = bounds[first:end]
                cluster, leaf = cluster + 1, leaf + end - first
        spheres[:, 3] *= 1.0 + 1e-6
        return spheres.astype(np.float32), children, cores, (motion_bounds * (1.0 + 1e-6)).astype(np.float32), farthest

    def _obstacles(self, extra_margin: float) -> tuple[Obstacles, NDArray[np.float32]]:
        """Return all stationary collision geometries, and rows (r, m) of their margins with each moving object [m]."""
        found = Obstacles()
        rows: dict[tuple[float, ...], int] = {}
        for index in sorted(self.model.obstacle_margins):
            partners = self.model.obstacle_margins[index]
            row = tuple(partners[m] + extra_margin if m in partners else NEVER for m in range(len(self.moving_objects)))
            number = rows.setdefault(row, len(rows))
            pose = self.placements[index].placement.copy()
            pose[:3, 3] -= self.origin
            for shape in self.allowed_pairs.objects[index].shapes:
                for geometry in collision_geometries(shape.geometry):
                    found.add(geometry, pose @ shape.pose.matrix, number)
        return found, np.array(list(rows), dtype=np.float32).reshape(len(rows), len(self.moving_objects))


def _integers(rows: Sequence[tuple[int, ...]], width: int) -> NDArray[np.int64]:
    return np.array(rows, dtype=np.int64).reshape(-1, width)


def _singles(rows: list[Floats], width: int) -> NDArray[np.float32]:
    return np.array(rows, dtype=np.float32).reshape(-1, width)


def _filled(rows: Floats | Singles) -> Singles:
    """Return rows padded with zeros to a multiple of LANES."""
    width = max(-(-rows.shape[1] // LANES), 1) * LANES
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1]))).astype(np.float32)


def _single_rows(parts: list[Floats], width: int) -> NDArray[np.float32]:
    return np.concatenate([np.empty((0, width)), *parts]).astype(np.float32)
