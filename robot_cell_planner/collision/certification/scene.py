"""Certification model of a cell in one attachment topology: moving objects as sphere trees, all others as obstacles."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence, Set
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from ...system.cache import IdentityCache
from ..checker import CollisionChecker
from ..geometry.geometry_model import GeometryModel
from ..pairs.allowed_pairs import AllowedPairs
from ..sphere_model.approximation import PROTRUSION
from ..sphere_model.resolution import spheres_of_objects
from ..sphere_model.tolerance import protrusions
from ._kernels.arrays import LANES, NEVER, MotionArrays, Packed, work_space
from ._kernels.obstacle_boxes import obstacle_boxes
from ._kernels.obstacles import UNIT, PlacedObstacles, obstacle_forms, placed_obstacles
from ._kernels.sphere_tree_kernels import bounding_sphere
from .distance_maps import LARGEST_MARGIN, DistanceMap, distance_maps, stacked_blocks
from .motion_bounds import PairGroups, motion_model
from .single_joint_gaps import single_joint_gaps
from .sphere_tree import SphereTree, moved_tree, sphere_tree

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]
SphereArrays = tuple[Singles, Integers, Integers, Singles, float]
Mapped = Set[tuple[int, int]]  # indices of collision objects
MAX_CACHED_MARGINS = 8  # with arrays, of a scene
MAX_CACHED_SCENES = 16  # of a thread
JOINT_ROUNDING = 24.0  # unit roundoffs that a joint may add to the position of an object, relative to its distance


class MotionScene:
    """Moving objects and obstacles of a checker, as the kernels read them.

    Objects that only fixed joints move count as obstacles. All objects are within `MotionModel.displacement` of where
    they are here, which is added to the margins.

    Attributes:
        moving_objects: Indices in `AllowedPairs.objects` of the objects that the variables move.
        trees: Their sphere trees.
        coarse: Spheres of moving objects by name that are coarser than requested, see `sphere_model.resolution`.

    Args:
        protrusion: Maximum protrusion of the spheres near the base of a robot [m], see `sphere_model.tolerance`.

    Raises:
        GeometryError: A collision shape cannot be read.
    """

    def __init__(self, checker: CollisionChecker, protrusion: float = PROTRUSION) -> None:
        self.checker = checker
        self._protrusions = protrusions(checker.cell, protrusion)
        self.allowed_pairs: AllowedPairs = checker.allowed_pairs
        self.model = motion_model(checker)
        self.tree, self.placements = self.model.tree, self.model.placements
        self.moving_objects, self.pairs = self.model.moving_objects, self.model.pairs
        moving = [self.allowed_pairs.objects[index] for index in self.moving_objects]
        spheres = spheres_of_objects([(obj.shapes, self._protrusions[obj.name]) for obj in moving])
        self.trees: tuple[SphereTree, ...] = tuple(
            moved_tree(sphere_tree(found.spheres), self.placements[index].placement.tobytes())
            for index, found in zip(self.moving_objects, spheres, strict=True)
        )
        self.coarse = {obj.name: found for obj, found in zip(moving, spheres, strict=True) if found.is_coarser}
        self._packed: OrderedDict[float, tuple[Packed, Packed]] = OrderedDict()

    @cached_property
    def sphere_count(self) -> int:
        """Number of spheres of all moving objects."""
        return sum(len(tree.leaves) for tree in self.trees)

    @cached_property
    def origin(self) -> Floats:
        """Origin (3,) of the single-precision coordinates, in the world frame: the position of the first joint."""
        return self.tree.joints[0].before[:3, 3].copy() if self.tree.joints else np.zeros(3)

    def packed(self, extra_margin: float = 0.0) -> tuple[Packed, Packed]:
        """Return the packed `arrays` for an extra margin [m], and a work space of the kernels, from a cache."""
        # A dictionary, since this lookup is a tenth of the duration of a sphere test.
        found = self._packed.get(extra_margin)
        if found is None:
            arrays = self.arrays(extra_margin)
            found = Packed(arrays), Packed(work_space(arrays, len(self.checker.variables)))
            self._packed[extra_margin] = found
            if len(self._packed) > MAX_CACHED_MARGINS:
                self._packed.popitem(last=False)
        return found

    def arrays(self, extra_margin: float = 0.0) -> MotionArrays:
        """Return the arrays of the kernels. extra_margin: added to every margin [m]."""
        moved = [(j.parent, j.variable, j.revolute, j.low, j.high, j.before.tobytes()) for j in self.tree.joints]
        extras = *(self.placements[index].joint for index in self.moving_objects), *moved
        found = _sphere_arrays.get(self.trees, extras, self._sphere_arrays) if self.trees else self._sphere_arrays()
        spheres, children, cores, motion_bounds, farthest = found
        # Positions of spheres have rounding errors from the joints and from their own coordinates.
        rounding = UNIT * JOINT_ROUNDING * (len(self.tree.joints) + 1) * farthest
        maps = tuple(found for found in self._maps(extra_margin) if found.least <= found.margin + extra_margin)
        mapped = self.mapped_pairs(extra_margin)
        table = self._obstacle_table(mapped)
        margins = self._margins(table, extra_margin)
        obstacles = self._placed_obstacles(table)
        shapes = obstacles.shapes.copy()
        shapes[:, 19] += rounding
        boxes, box_children = obstacle_boxes(shapes[:, 15:19], shapes[:, 19])
        joints = self.tree.joints
        pairs, pair_margins, sides, pair_groups = self._pair_arrays(extra_margin, mapped, len(spheres) - len(joints))
        return MotionArrays(
            joints=_integers([(j.parent, 0 if j.revolute else 1, j.variable) for j in joints], 3),
            frames=_singles([self._frame(j.parent, j.before) for j in joints], 12),
            couplings=np.array([(j.multiplier, j.offset) for j in joints]).reshape(-1, 2),
            spheres=spheres,
            children=children,
            parent_joints=np.array([self.placements[index].joint for index in self.moving_objects], dtype=np.int64),
            cores=cores,
            motion_bounds=_filled(motion_bounds),
            pairs=pairs,
            pair_margins=pair_margins,
            pair_groups=pair_groups,
            sides=sides,
            obstacles=obstacles.obstacles,
            shapes=shapes.astype(np.float32),
            margins=margins,
            widest_margins=margins.max(axis=0, initial=NEVER),
            boxes=boxes.astype(np.float32),
            box_children=box_children,
            nodes=obstacles.nodes.astype(np.float32),
            links=obstacles.links,
            triangles=obstacles.triangles.astype(np.float32),
            planes=obstacles.planes.astype(np.float32),
            rounding=np.array([2.0 * rounding], dtype=np.float32),
            map_joints=_integers([(*found.joints, found.bits) for found in maps], 3),
            map_margins=np.array([found.margin + extra_margin for found in maps], dtype=np.float32),
            map_bounds=stacked_blocks(maps),
        )

    def mapped_pairs(self, extra_margin: float = 0.0) -> Mapped:
        """Return the pairs of objects, by index in `AllowedPairs.objects`, that distance maps check at an additional
        margin [m]."""
        return frozenset(found.objects for found in self._maps(extra_margin))

    def _maps(self, extra_margin: float) -> tuple[DistanceMap, ...]:
        """Return the distance maps of these pairs."""
        return tuple(found for found in self._distance_maps if found.margin + extra_margin <= LARGEST_MARGIN)

    @cached_property
    def _distance_maps(self) -> tuple[DistanceMap, ...]:
        return distance_maps(self.checker)

    def joints_of(self, objects: tuple[int, int]) -> tuple[int, int]:
        """Return the joints that move two collision objects, by their indices in `AllowedPairs.objects`; -1: none."""
        first, second = (self.placements[obj].joint if obj in self.model.number else -1 for obj in objects)
        return first, second

    def _displacement(self, moving: int) -> float:
        """Return how far the moving objects of the same joint may be from where the spheres are placed [m]."""
        return float(self.model.displacements[self.placements[self.moving_objects[moving]].joint])

    @cached_property
    def _single_joint_gaps(self) -> Floats:
        return single_joint_gaps(self.checker)

    def _pair_arrays(
        self, extra_margin: float, mapped: Mapped, first_sphere: int
    ) -> tuple[Integers, Singles, Singles, Integers]:
        """Return the pairs that spheres have to check, by the joints that their objects are fixed to: `pairs`,
        `pair_margins`, `sides` and `pair_groups` of `MotionArrays`.

        mapped: pairs of objects with a distance map. first_sphere: the first sphere around all objects of a joint.
        """
        number, joints = self.model.number, [self.placements[index].joint for index in self.moving_objects]
        ends = [(number.get(one, -1), number.get(other, -1)) for one, other in mapped]
        left_out = {*ends, *((other, one) for one, other in ends)}
        groups: dict[tuple[int, int, float], list[tuple[int, int]]] = {}
        for pair, gap in zip(self.pairs, self._single_joint_gaps.tolist(), strict=True):
            both = pair.first, pair.second
            if gap < extra_margin and both not in left_out:
                groups.setdefault((joints[pair.first], joints[pair.second], pair.margin), []).append(both)
        sizes = [len(group) for group in groups.values()]
        sides, common, margins = np.zeros((len(groups), 2, len(self.tree.joints))), [], []
        for row, (first, second, margin) in enumerate(groups):
            for side, moved in enumerate(self.tree.between(first, second)):
                sides[row, side, list(moved)] = 1.0
            common.append(self.tree.common(first, second))
            # The distance that the spheres have to keep for the objects to keep their margin.
            displacements = self.model.displacements[first], self.model.displacements[second]
            margins.append(margin + float(displacements[0]) + float(displacements[1]) + extra_margin)
        last = np.cumsum(sizes, dtype=np.int64).tolist()
        rows = [
            (first_sphere + first, first_sphere + second, end - size, end)
            for (first, second, _), size, end in zip(groups, sizes, last, strict=True)
        ]
        numbers = _integers([both for group in groups.values() for both in group], 2)
        return (
            np.column_stack((numbers, np.repeat(_integers([*zip(common)], 1), sizes, axis=0))),
            np.repeat(np.array(margins), sizes).astype(np.float32),
            _filled(np.repeat(sides, sizes, axis=0).reshape(2 * len(numbers), len(self.tree.joints))),
            _integers(rows, 4),
        )

    def _obstacle_table(self, mapped: Mapped) -> _ObstacleTable:
        geometry_model = self.checker.geometry_model
        groups = self.model.groups
        make = partial(_ObstacleTable, groups, geometry_model, mapped)
        return _tables.get((groups, geometry_model.geometries), (mapped,), make)

    def _placed_obstacles(self, table: _ObstacleTable) -> PlacedObstacles:
        """Return obstacles in the world, relative to the origin."""
        poses = self.checker.geometry_model.joint_T_geometry[table.geometries]
        for joint in np.unique(table.joints[table.joints > 0]).tolist():  # joint 0 is the world
            at = table.joints == joint
            poses[at] = self.tree.placement_of(joint, poses[at]).placement
        poses[:, :3, 3] -= self.origin
        return placed_obstacles(table.forms, poses, table.margin_rows, self.model.displacements_of(table.objects))

    def _frame(self, parent: int, before: Floats) -> Floats:
        shift = before[:3, 3] - (self.origin if parent < 0 else 0.0)
        return np.array((*before[:3, :3].ravel(), *shift))

    def _sphere_arrays(self) -> SphereArrays:
        """Return spheres (n, 4), children (n, 2), cores (n,), motion bounds (n, j), and the largest centre distance.

        The distance is that from the origin [m]. The motion bounds are those of each sphere, per unit of each joint.
        """
        clusters = _begins(len(self.trees), [len(tree.clusters) for tree in self.trees])
        leaves = _begins(clusters[-1], [len(tree.leaves) for tree in self.trees])
        roots = np.array([tree.root for tree in self.trees]).reshape(-1, 4)
        joints = np.array([self.placements[index].joint for index in self.moving_objects], dtype=np.int64)
        of_joint = [joints == joint for joint in range(len(self.tree.joints))]
        spheres = np.concatenate(
            (
                roots,
                *(tree.clusters for tree in self.trees),
                *(tree.leaves for tree in self.trees),
                np.array(
                    [bounding_sphere(roots[chosen]) if chosen.any() else np.zeros(4) for chosen in of_joint]
                ).reshape(-1, 4),
            )
        )
        children, cores = np.zeros((len(spheres), 2), dtype=np.int64), np.zeros(len(spheres), dtype=np.int64)
        motion_bounds = np.zeros((len(spheres), len(self.tree.joints)))
        farthest = 0.0
        for obj, tree in enumerate(self.trees):
            centres = np.concatenate((tree.root[None], tree.clusters, tree.leaves))[:, :3]
            bounds, distances = self.tree.bounds(int(joints[obj]), centres)
            farthest = max(farthest, float(distances.max()) + float(np.linalg.norm(self.origin)))
            rows, first = slice(clusters[obj], clusters[obj + 1]), leaves[obj]
            children[obj] = rows.start, rows.stop
            children[rows] = np.column_stack((tree.starts[:-1], tree.starts[1:])) + first
            cores[rows] = np.array(tree.cores) + first
            count = len(tree.clusters)
            of_leaves = bounds[1 + count :]
            motion_bounds[obj] = bounds.max(axis=0)
            motion_bounds[rows] = np.maximum(np.maximum.reduceat(of_leaves, tree.starts[:-1]), bounds[1 : 1 + count])
            motion_bounds[first : leaves[obj + 1]] = of_leaves
        for joint, chosen in enumerate(of_joint):
            if chosen.any():
                number = leaves[-1] + joint
                around = spheres[number, :3], roots[chosen, :3]
                motion_bounds[number] = self._joint_sphere_bounds(joint, *around, motion_bounds[: len(roots)][chosen])
        spheres[:, 3] *= 1.0 + 1e-6
        found = spheres.astype(np.float32), children, cores, (motion_bounds * (1.0 + 1e-6)).astype(np.float32)
        for array in found:
            array.setflags(write=False)
        return *found, farthest

    def _joint_sphere_bounds(self, joint: int, centre: Floats, roots: Floats, bounds: Floats) -> Floats:
        """Return the motion bounds (j,) of the sphere around all objects of a joint, from the centres (n, 3) and the
        bounds (n, j) of their roots. Its own centre is bounded by way of the nearest root."""
        apart = np.linalg.norm(centre - roots, axis=1)
        turns = np.zeros(len(self.tree.joints))
        turns[[j for j in self.tree.ancestors(joint) if self.tree.joints[j].revolute]] = 1.0
        own = (bounds + apart[:, None] * turns).min(axis=0)
        return np.asarray(np.maximum(own, bounds.max(axis=0)))

    def _margins(self, table: _ObstacleTable, extra_margin: float) -> Singles:
        """Return rows (r, m) of margins of obstacles and moving objects [m]."""
        found = np.full((len(table.rows), len(self.moving_objects)), NEVER)
        for number, partners in enumerate(table.rows):
            for moving, margin in partners.items():
                found[number, moving] = margin + extra_margin + self._displacement(moving)
        return found.astype(np.float32)


class _ObstacleTable:
    """Stationary collision geometries of a scene without their poses.

    Attributes:
        geometries: (n,) indices in the geometry model, by collision object.
        objects: (n,) collision object of each.
        joints: (n,) Pinocchio joint of each.
        forms: Forms of the geometries.
        rows: Margins [m] by position of the moving object, for each distinct treatment of an obstacle.
        margin_rows: (n,) index in `rows` of each geometry.
    """

    def __init__(self, groups: PairGroups, geometry_model: GeometryModel, mapped: Mapped) -> None:
        numbers: dict[tuple[tuple[int, float], ...], int] = {}
        number_of = {id(m): numbers.setdefault(tuple(m.items()), len(numbers)) for m in groups.distinct_margins}
        of_links = {}
        for index, margins in groups.fixed_links.items():
            checked = {m: margin for m, margin in margins.items() if (groups.moving_objects[m], index) not in mapped}
            of_links[index] = numbers.setdefault(tuple(checked.items()), len(numbers))
        self.rows = tuple(dict(row) for row in numbers)
        chosen: list[int] = []
        margin_rows: list[int] = []
        for index in sorted(groups.obstacle_margins):
            members = geometry_model.geometries_of(index)
            chosen.extend(members)
            number = of_links.get(index, number_of[id(groups.obstacle_margins[index])])
            margin_rows.extend([number] * len(members))
        self.geometries = np.array(chosen, dtype=np.intp)
        self.objects = geometry_model.object_indices[self.geometries]
        self.joints = geometry_model.joints[self.geometries]
        self.forms = obstacle_forms([geometry_model.geometries[index] for index in chosen])
        self.margin_rows = np.array(margin_rows, dtype=np.int64)


class _ThreadCache(threading.local):
    """Scenes of a thread, since their work space is used by one."""

    def __init__(self) -> None:
        self.cache: IdentityCache[MotionScene] = IdentityCache(size=MAX_CACHED_SCENES)


_of_thread = _ThreadCache()
_tables: IdentityCache[_ObstacleTable] = IdentityCache(size=16)
_sphere_arrays: IdentityCache[SphereArrays] = IdentityCache(size=16)


def motion_scene(checker: CollisionChecker, protrusion: float = PROTRUSION) -> MotionScene:
    """Return the scene of a checker, shared by checkers of a thread whose fixed joints have values that differ little.

    Raises:
        GeometryError: A collision shape cannot be read.
    """
    make = partial(MotionScene, checker, protrusion)
    return _of_thread.cache.get((checker.geometry_model, motion_model(checker)), (protrusion,), make)


def has_motion_scene(checker: CollisionChecker, protrusion: float = PROTRUSION) -> bool:
    """Return whether `motion_scene` would not have to create a scene, which can take seconds."""
    objects = checker.geometry_model, motion_model(checker)
    return _of_thread.cache.find(objects, (protrusion,)) is not None


def _begins(first: int, lengths: list[int]) -> list[int]:
    """Return the begin of each of consecutive ranges, and the end of the last one."""
    return [first, *(first + np.cumsum(lengths, dtype=np.intp)).tolist()]


def _integers(rows: Sequence[tuple[int, ...]], width: int) -> NDArray[np.int64]:
    return np.array(rows, dtype=np.int64).reshape(-1, width)


def _singles(rows: list[Floats], width: int) -> NDArray[np.float32]:
    return np.array(rows, dtype=np.float32).reshape(-1, width)


def _filled(rows: Floats | Singles) -> Singles:
    """Return rows padded with zeros to a multiple of LANES."""
    found = np.zeros((len(rows), max(-(-rows.shape[1] // LANES), 1) * LANES), dtype=np.float32)
    found[:, : rows.shape[1]] = rows
    return found
