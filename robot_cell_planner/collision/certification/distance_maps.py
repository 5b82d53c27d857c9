"""Distance maps: distances of pairs of links over all values of the two revolute joints between them.

Links that are two joints apart pass each other more closely than spheres resolve, such as the forearm and the second
wrist link of a UR5, or its base and its upper arm. For such a pair, lower bounds of the distance in small cells of both
joint values are computed from exact distances once, and stored on disk. A motion is then proven for the pair by the
bounds of the cells that it passes, see `_kernels.distance_maps`.
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...io.mesh.cache import Arrays, cached_or_computed
from ...model.geometry import Shape
from ...system.cache import IdentityCache
from ..checker import CollisionChecker
from ..geometry.broad_phase import Candidates
from ..geometry.collision_geometry import ConvexGeometry, Surface, collision_geometries
from ..geometry.geometry_model import GeometryModel
from ..pairs.objects import CollisionObject, ObjectKind
from ..sphere_model.resolution import corners_of, moved_spheres
from ._kernels.distance_map_kernels import bound_in_cell, turned
from ._kernels.distance_maps import BITS_OF_CELLS, SIZE, TURN
from .joint_tree import TreeJoint
from .motion_bounds import MotionModel, motion_model

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Singles = NDArray[np.float32]
Indices = NDArray[np.intp]
LARGEST_MARGIN = 0.03  # [m], up to which motions are proven by maps
ENOUGH = 0.04  # [m], larger distances are not distinguished
SHARE = 0.7  # of the distance at the middle of a block of cells, above which its bound is accurate enough
BLOCKS = 8  # that are evaluated at first along each joint
MIN_BITS, MAX_BITS = 6, BITS_OF_CELLS - 6  # of the number of cells along a joint
SAMPLES = 32  # along each joint, from which the number of cells along each is chosen
STEP = 1e-6  # [m] of stored bounds
SLACK = 2e-6  # [m] for rounding of transforms and bounds
GRID = 1e-8  # [m], and for the entries of rotations, to which transforms are rounded in keys
MAX_GEOMETRIES = 400  # pairs of geometries of a map
CONFIRMED = 64  # cells of a stored map that are computed again, near contact and elsewhere
AT_ONCE = 1024  # configurations evaluated together
MAX_CACHED = 128
VERSION, KIND = 1, "distances"


@dataclass(frozen=True, eq=False)
class DistanceMap:
    """Distance map of a pair of links.

    Attributes:
        objects: Indices in `AllowedPairs.objects` of the link that both joints move, and of the other one.
        margin: Their minimum distance [m].
        joints: Inner and outer joint, indices in the tree.
        bounds: Lower bounds (r, c) of the distance in cells of both joint values [m]; read-only.
    """

    objects: tuple[int, int]
    margin: float
    joints: tuple[int, int]
    bounds: Singles

    @cached_property
    def least(self) -> float:
        """Minimum of the bounds [m]."""
        return float(self.bounds.min())


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two links with both joints between them, from the inner one (0) to the outer one (1).

    placement (4, 4): of the moving link in the inner joint. outer (4, 4): the outer joint in the frame of the other
    link.
    """

    objects: tuple[int, int]
    margin: float
    joints: tuple[int, int]
    placement: Floats
    inner: Floats
    outer: Floats


_maps: IdentityCache[tuple[DistanceMap, ...]] = IdentityCache(size=64)
_bounds: OrderedDict[tuple[object, ...], Singles] = OrderedDict()


def distance_maps(checker: CollisionChecker) -> tuple[DistanceMap, ...]:
    """Return the distance maps of a checker. Missing ones are computed, in some tenths of a second each, and stored.

    Only links count whose relative placement depends on nothing but two joints that are variables of the checker.
    """
    if checker.engine != "coal":
        return ()
    model = motion_model(checker)
    return _maps.get((model,), (), lambda: tuple(_computed(checker, model)))


def _computed(checker: CollisionChecker, model: MotionModel) -> Iterator[DistanceMap]:
    for pair in _pairs(model):
        key = _key(model, pair)
        if key not in _bounds:
            _bounds[key] = _stored(checker, model, pair, key)
            if len(_bounds) > MAX_CACHED:
                _bounds.popitem(last=False)
        yield DistanceMap(pair.objects, pair.margin, pair.joints, _bounds[key])


def _pairs(model: MotionModel) -> Iterator[_Pair]:
    """Yield the pairs that have maps."""
    objects, moving = model.allowed_pairs.objects, model.moving_objects
    candidates = [((moving[pair.first], moving[pair.second]), pair.margin) for pair in model.pairs]
    for index, margins in model.groups.fixed_links.items():
        of_robot = objects[index].model
        numbers = [number for number in margins if objects[moving[number]].model == of_robot]
        candidates.extend(((moving[number], index), margins[number]) for number in numbers)
    for ends, margin in candidates:
        if _is_of_one_robot(*(objects[index] for index in ends)):
            found = _pair(model, ends, margin)
            if found is not None and _is_simple(model, ends):
                yield found


def _is_of_one_robot(first: CollisionObject, second: CollisionObject) -> bool:
    """Return whether two objects are links of one robot or of a tool, whose placements in their joints do not depend on
    the state."""
    kinds = {first.kind, second.kind}
    return ObjectKind.BODY not in kinds and (first.model == second.model or ObjectKind.TOOL in kinds)


def _pair(model: MotionModel, ends: tuple[int, int], margin: float) -> _Pair | None:
    """Return a pair of links if two revolute joints move one of them relative to the other."""
    first, second = (model.placements[index] for index in ends)
    one, other = model.tree.between(first.joint, second.joint)
    if other:
        first, second, one, other, ends = second, first, other, one, ends[::-1]
    joints = [model.tree.joints[number] for number in one]
    if other or len(joints) != 2 or first.varies or second.varies or not all(map(_is_free, joints)):
        return None
    if joints[0].variable == joints[1].variable:
        return None
    outer = np.linalg.inv(second.placement) @ joints[1].before
    return _Pair(ends, margin, (one[0], one[1]), first.placement, joints[0].before, outer)


def _is_free(joint: TreeJoint) -> bool:
    """Return whether a joint is revolute, and nothing but its own value depends on the state."""
    return joint.revolute and not joint.varies and abs(joint.multiplier) > 1e-3


def _is_simple(model: MotionModel, ends: tuple[int, int]) -> bool:
    """Return whether exact distances of two links take little time: few geometries, and none is a surface."""
    count = 1
    for index in ends:
        parts = [
            part for shape in model.allowed_pairs.objects[index].shapes for part in collision_geometries(shape.geometry)
        ]
        if any(isinstance(part, Surface) for part in parts):
            return False
        count *= len(parts)
    return count <= MAX_GEOMETRIES


def _key(model: MotionModel, pair: _Pair) -> tuple[object, ...]:
    shapes = (model.allowed_pairs.objects[index].shapes for index in pair.objects)
    placements = (pair.placement, pair.inner, pair.outer)
    return (*shapes, *((np.round(matrix / GRID) + 0.0).tobytes() for matrix in placements))


@lru_cache(maxsize=1024)
def _digest(shapes: tuple[Shape, ...]) -> bytes:
    """Return a digest of the collision geometries of an object."""
    found = hashlib.sha256()
    for shape in shapes:
        found.update(shape.pose.matrix.tobytes())
        for part in collision_geometries(shape.geometry):
            mesh = part.mesh if isinstance(part, ConvexGeometry | Surface) else None
            found.update(repr(part if mesh is None else type(part)).encode())
            if mesh is not None:
                found.update(mesh.vertices.tobytes() + mesh.faces.tobytes())
    return found.digest()


def _stored(checker: CollisionChecker, model: MotionModel, pair: _Pair, key: tuple[object, ...]) -> Singles:
    """Return the bounds of a map from disk, or compute and store them."""
    settings = (VERSION, BITS_OF_CELLS, ENOUGH, SHARE, SLACK)
    digest = hashlib.sha256(repr(settings).encode())
    for part in key:
        digest.update(part if isinstance(part, bytes) else _digest(part))

    def accept(arrays: Arrays) -> Singles | None:
        numbers = arrays[1].ravel()
        if len(numbers) < 1 + (1 << BITS_OF_CELLS) or not MIN_BITS <= numbers[0] <= MAX_BITS:
            return None
        bounds = _read_only(numbers[1 : 1 + (1 << BITS_OF_CELLS)].reshape(1 << int(numbers[0]), -1) * STEP)
        return bounds if _Search(checker, model, pair).confirms(bounds) else None

    def compute() -> tuple[Singles, Arrays]:
        bounds = _Search(checker, model, pair).bounds()
        numbers = np.zeros((-(-(1 + bounds.size) // 3), 3), dtype=np.int32)
        numbers.flat[0] = len(bounds).bit_length() - 1
        numbers.flat[1 : 1 + bounds.size] = steps = np.floor(bounds / STEP).ravel()
        return _read_only(steps.reshape(bounds.shape) * STEP), (np.empty((0, 3)), numbers)

    return cached_or_computed(digest.hexdigest(), KIND, accept, compute)


def _read_only(bounds: Floats) -> Singles:
    found = bounds.astype(np.float32)
    found.setflags(write=False)
    return found


class _Geometry(NamedTuple):
    """Convex geometry of a link.

    Attributes:
        corners: Spheres (k, 4) whose convex hull contains it, in the frame of its joint.
        reach: Maximum distances (k, 2) of their centres from the axes of the inner and the outer joint [m].
    """

    corners: Floats
    reach: Floats


class _Search:
    """Computes a map by bisection of both joints' values, as far as the distance requires."""

    def __init__(self, checker: CollisionChecker, model: MotionModel, pair: _Pair) -> None:
        self._checker, self._pair = checker, pair
        self._joints = tuple(model.tree.joints[joint] for joint in pair.joints)
        inner, outer = self._joints
        self._transforms = np.array((inner.before, outer.before))
        self._turn = _rotation(model, outer.parent, checker.default).T.copy()
        self._geometries = {
            number: _geometry(model, checker.geometry_model, number, pair.joints)
            for index in pair.objects
            for number in checker.geometry_model.geometries_of(index)
        }
        moving = [self._geometries[number] for number in checker.geometry_model.geometries_of(pair.objects[0])]
        self._speeds = np.max([(part.reach + part.corners[:, 3:]).max(axis=0) for part in moving], axis=0)

    def bounds(self) -> Floats:
        """Return the bounds (r, c) of cells [m]."""
        bits = self._bits()
        shape = np.array((1 << bits, 1 << (BITS_OF_CELLS - bits)))
        found, size = np.empty(shape), shape // BLOCKS
        cells = np.stack(np.meshgrid(*(np.arange(BLOCKS) * size[:, None]), indexing="ij"), axis=-1).reshape(-1, 2)
        while len(cells):
            half = 0.5 * size * TURN / shape
            middles = (cells + 0.5 * size) * (TURN / shape)
            distances, bounds, _ = self._within(middles, half)
            done = (bounds >= ENOUGH) | ((bounds >= SHARE * distances) & (bounds > 0.0))
            done |= (distances < -half @ self._speeds) | (size == 1).all()  # collides everywhere, or is one cell
            _fill(found, cells[done], size, bounds[done])
            steps = [(0, part // 2) if part > 1 else (0,) for part in size.tolist()]
            size = np.maximum(size // 2, 1)
            cells = (cells[~done][:, None] + np.array([*product(*steps)])).reshape(-1, 2)
        return found

    def confirms(self, bounds: Floats | Singles) -> bool:
        """Return whether stored bounds (r, c) hold in some cells, most of them among those nearest to contact."""
        ranked = np.argsort(np.where(bounds > 0.0, bounds, np.inf).ravel())
        chosen = np.concatenate((ranked[:CONFIRMED], np.arange(0, bounds.size, bounds.size // CONFIRMED)))
        shape = np.array(bounds.shape)
        middles = (np.column_stack(np.unravel_index(chosen, bounds.shape)) + 0.5) * (TURN / shape)
        _, computed, _ = self._within(middles, 0.5 * TURN / shape)
        return bool((bounds.ravel()[chosen] <= np.maximum(computed, 0.0) + SLACK).all())

    def _bits(self) -> int:
        """Return the bits of the number of cells along the inner joint. Near contact, the distance should change along
        both joints by as much from one cell to the next."""
        spacing = TURN / SAMPLES
        middles = (
            np.stack(np.meshgrid(*2 * [np.arange(SAMPLES)], indexing="ij"), axis=-1).reshape(-1, 2) + 0.5
        ) * spacing
        distances, _, speeds = self._within(middles, np.zeros(2))
        near = (distances > 0.0) & (distances < ENOUGH)
        if not near.any():
            return BITS_OF_CELLS // 2
        inner, outer = np.maximum(speeds[near].mean(axis=0), 1e-3).tolist()
        return int(np.clip(round(0.5 * (BITS_OF_CELLS + math.log2(inner / outer))), MIN_BITS, MAX_BITS))

    def _within(self, middles: Floats, half: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the distances at the middles (n, 2) of blocks of a half size (2,) [rad], lower bounds (n,) of the
        distances in each [m], and how fast the joints change these (n, 2) [m/rad]."""
        parts = [self._some_within(middles[k : k + AT_ONCE], half) for k in range(0, len(middles), AT_ONCE)]
        distances, bounds, speeds = (np.concatenate(part) for part in zip(*parts, strict=True))
        return distances, bounds, speeds

    def _some_within(self, middles: Floats, half: Floats) -> tuple[Floats, Floats, Floats]:
        approach = float(half @ self._speeds)
        configurations = np.tile(self._checker.default, (len(middles), 1))
        for column, joint in enumerate(self._joints):
            configurations[:, joint.variable] = (middles[:, column] - joint.offset) / joint.multiplier
        states, near, poses = self._checker.near_candidates_along(configurations, ENOUGH + approach)
        distances, bounds = np.full((2, len(middles)), ENOUGH)
        speeds, placed = np.zeros((len(middles), 2)), -1
        for state, gap, first, second in self._rows(states, near):
            if gap - approach >= bounds[state]:
                continue
            if state != placed:
                self._checker.place_at(poses[state])
                placed = state
            distance, bound, *own = self._bound(first, second, middles[state], half)
            distances[state] = min(distances[state], distance)
            if bound < bounds[state]:
                bounds[state], speeds[state] = bound, own
        return distances, bounds, speeds

    def _rows(self, states: Indices, near: Candidates) -> Iterator[tuple[int, float, int, int]]:
        """Yield candidates of the pair, nearest first for each configuration: configuration, lower bound of the
        distance [m], and both geometries."""
        objects = self._checker.geometry_model.object_indices
        firsts, seconds = objects[near.first], objects[near.second]
        one, other = self._pair.objects
        mine = np.flatnonzero(((firsts == one) & (seconds == other)) | ((firsts == other) & (seconds == one)))
        order = mine[np.lexsort((near.gaps[mine], states[mine]))]
        columns = (part[order].tolist() for part in (states, near.min_distances, near.first, near.second))
        yield from zip(*columns, strict=True)

    def _bound(self, first: int, second: int, middle: Floats, half: Floats) -> tuple[float, float, float, float]:
        """Return the distance of two geometries as they are placed, and `bound_in_cell` of a block around it."""
        distance, normal = self._checker.geometry_separation(first, second)
        if normal is None:
            return min(distance, 0.0), min(distance, 0.0) - SLACK, 0.0, 0.0
        if self._checker.geometry_model.object_indices[first] != self._pair.objects[0]:
            first, second, normal = second, first, -normal
        moving, other = self._geometries[first], self._geometries[second]
        arguments = moving.corners, moving.reach, other.corners, self._transforms, middle, half
        bound, inner, outer = bound_in_cell(*arguments, self._turn @ normal)
        return distance, bound - SLACK, inner, outer


def _rotation(model: MotionModel, joint: int, q: Floats) -> Floats:
    """Return the rotation (3, 3) of a joint of the tree in the world (-1) at a configuration (dof,)."""
    found = np.eye(3)
    for number in reversed(model.tree.ancestors(joint)):
        moving = model.tree.joints[number]
        value = moving.multiplier * float(q[moving.variable]) + moving.offset
        found = found @ (turned(moving.before, value) if moving.revolute else moving.before)[:3, :3]
    return found


def _geometry(model: MotionModel, geometry_model: GeometryModel, number: int, joints: tuple[int, int]) -> _Geometry:
    placed = geometry_model.joints[number], geometry_model.joint_T_geometry[number]
    at = model.tree.placement_of(*placed)
    corners = np.ascontiguousarray(moved_spheres(corners_of(geometry_model.geometries[number]), at.placement))
    reach, _ = model.tree.bounds(at.joint, np.ascontiguousarray(corners[:, :3]))
    return _Geometry(corners, np.ascontiguousarray(reach[:, list(joints)]))


def _fill(found: Floats, cells: Integers, size: Integers, bounds: Floats) -> None:
    """Set the bounds of blocks of `size` (2,) cells, which begin at cells (n, 2)."""
    rows, columns = (cells[:, axis, None] + np.arange(size[axis]) for axis in (0, 1))
    found[rows[:, :, None], columns[:, None, :]] = bounds[:, None, None]


def of_all_blocks(bounds: Singles) -> Singles:
    """Return the minima of a map in blocks of all levels, in the layout of the kernels (2 r, 2 c)."""
    rows, columns = bounds.shape
    found = np.full((2 * rows, 2 * columns), -np.inf, dtype=np.float32)
    while True:
        part, first = bounds, 2 * (rows - len(bounds))
        while True:
            column = 2 * (columns - part.shape[1])
            found[first : first + len(part), column : column + part.shape[1]] = part
            if part.shape[1] == 1:
                break
            part = np.minimum(part[:, ::2], part[:, 1::2])
        if len(bounds) == 1:
            return found
        bounds = np.minimum(bounds[::2], bounds[1::2])


@lru_cache(maxsize=32)
def map_bounds(maps: tuple[DistanceMap, ...]) -> Singles:
    """Return the bounds of maps in all blocks (d, SIZE); read-only."""
    found = np.array([of_all_blocks(found.bounds).ravel() for found in maps], dtype=np.float32).reshape(-1, SIZE)
    found.setflags(write=False)
    return found
