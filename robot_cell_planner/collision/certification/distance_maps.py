"""Distance maps: distances of pairs of links over all values of the two revolute joints between them.

Links that are two joints apart pass each other more closely than spheres resolve, such as the forearm and the second
wrist link of a UR5, or its base and its upper arm. For such a pair, lower bounds of the distance in small cells of both
joint values are computed from exact distances once, and stored on disk. A motion is then proven for the pair by the
bounds of the cells that it passes, see `_kernels.distance_maps`.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...io.mesh.cache import Arrays, cached_or_computed
from ...model.geometry import Shape
from ...system.cache import IdentityCache
from ..checker import CollisionChecker
from ..geometry.collision_geometry import ConvexGeometry, Surface, collision_geometries
from ..pairs.objects import CollisionObject, ObjectKind
from ._kernels.distance_maps import BITS_OF_CELLS, SIZE
from .distance_search import ENOUGH, MAX_BITS, MIN_BITS, SHARE, SLACK, DistanceSearch, LinkPair
from .joint_tree import TreeJoint
from .motion_bounds import MotionModel, checker_at, motion_model

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
LARGEST_MARGIN = 0.03  # [m], up to which motions are proven by maps
STEP = 1e-6  # [m] of stored bounds
GRID = 1e-8  # [m], and for the entries of rotations, to which transforms are rounded in keys
MAX_GEOMETRIES = 400  # pairs of geometries of a map
MAX_CACHED = 128
VERSION, KIND = 1, "distances"


@dataclass(frozen=True, eq=False)
class DistanceMap:
    """Distance map of a pair of links.

    Attributes:
        objects: Indices in `AllowedPairs.objects` of the link that both joints move, and of the other one.
        margin: Their minimum distance [m].
        joints: Inner and outer joint, indices in the tree.
        blocks: Lower bounds (2 r, 2 c) of the distance in cells of both joint values and in blocks of these [m], as
            `of_all_blocks` returns them; read-only.
    """

    objects: tuple[int, int]
    margin: float
    joints: tuple[int, int]
    blocks: Singles

    @property
    def bounds(self) -> Singles:
        """Lower bounds (r, c) of the distance in cells [m]."""
        rows, columns = self.blocks.shape
        return self.blocks[: rows // 2, : columns // 2]

    @property
    def bits(self) -> int:
        """Bits of the number of cells along the inner joint."""
        return len(self.bounds).bit_length() - 1

    @property
    def least(self) -> float:
        """Minimum of the bounds [m]."""
        rows, columns = self.blocks.shape
        return float(self.blocks[rows - 2, columns - 2])


_maps: IdentityCache[tuple[DistanceMap, ...]] = IdentityCache(size=64)
_blocks: OrderedDict[tuple[object, ...], Singles] = OrderedDict()
_stacks: IdentityCache[Singles] = IdentityCache(size=32)


def distance_maps(checker: CollisionChecker) -> tuple[DistanceMap, ...]:
    """Return the distance maps of a checker. Missing ones are computed, in some tenths of a second each, and stored.

    Only links count whose relative placement depends on nothing but two joints that are variables of the checker.
    """
    if checker.engine != "coal":
        return ()
    model = motion_model(checker)
    # Joints that are no variables do not matter. While another robot moves, their values differ in each state.
    return _maps.get((model.groups,), (), lambda: tuple(_computed(checker, model)))


def _computed(checker: CollisionChecker, model: MotionModel) -> Iterator[DistanceMap]:
    for pair in link_pairs(model):
        key = _key(model, pair)
        blocks = _blocks.get(key)
        if blocks is None:
            blocks = _blocks[key] = of_all_blocks(_stored(checker, model, pair, key))
            while len(_blocks) > MAX_CACHED:
                _blocks.popitem(last=False)
        yield DistanceMap(pair.objects, pair.margin, pair.joints, blocks)


def link_pairs(model: MotionModel) -> Iterator[LinkPair]:
    """Yield the pairs that have maps."""
    objects, moving = model.allowed_pairs.objects, model.moving_objects
    candidates = [((moving[pair.first], moving[pair.second]), pair.margin) for pair in model.pairs]
    for index, margins in model.groups.fixed_links.items():
        of_robot = objects[index].model
        numbers = [number for number in margins if objects[moving[number]].model == of_robot]
        candidates.extend(((moving[number], index), margins[number]) for number in numbers)
    joints = {index: model.placements[index].joint for ends, _ in candidates for index in ends}
    for ends, margin in candidates:
        one, other = model.tree.between(*(joints[index] for index in ends))
        # Few pairs are; all others cost no more than this lookup.
        of_two_joints = (len(one), len(other)) in ((2, 0), (0, 2))
        if of_two_joints and _is_of_one_robot(*(objects[index] for index in ends)):
            found = _pair(model, ends, margin)
            if found is not None and _is_simple(model, ends):
                yield found


def _is_of_one_robot(first: CollisionObject, second: CollisionObject) -> bool:
    """Return whether two objects are links of one robot or of a tool, whose placements in their joints do not depend on
    the state."""
    kinds = {first.kind, second.kind}
    return ObjectKind.BODY not in kinds and (first.model == second.model or ObjectKind.TOOL in kinds)


def _pair(model: MotionModel, ends: tuple[int, int], margin: float) -> LinkPair | None:
    """Return a pair of links if two revolute joints move one of them relative to the other."""
    first, second = (model.placements[index] for index in ends)
    one, other = model.tree.between(first.joint, second.joint)
    if other:
        first, second, one, other, ends = second, first, other, one, ends[::-1]
    if other or len(one) != 2 or first.varies or second.varies:
        return None
    joints = [model.tree.joints[number] for number in one]
    if not all(map(_is_free, joints)):
        return None
    if joints[0].variable == joints[1].variable:
        return None
    outer = np.linalg.inv(second.placement) @ joints[1].before
    return LinkPair(ends, margin, (one[0], one[1]), first.placement, joints[0].before, outer)


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


def _key(model: MotionModel, pair: LinkPair) -> tuple[object, ...]:
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


def _stored(checker: CollisionChecker, model: MotionModel, pair: LinkPair, key: tuple[object, ...]) -> Singles:
    """Return the bounds of a map from disk, or compute and store them."""
    # Other joints do not matter, except for rounding errors: the same ones for all states.
    checker = checker_at(checker, np.zeros(len(model.values)))
    model = motion_model(checker)
    settings = (VERSION, BITS_OF_CELLS, ENOUGH, SHARE, SLACK)
    digest = hashlib.sha256(repr(settings).encode())
    for part in key:
        digest.update(part if isinstance(part, bytes) else _digest(part))

    def accept(arrays: Arrays) -> Singles | None:
        numbers = arrays[1].ravel()
        if len(numbers) < 1 + (1 << BITS_OF_CELLS) or not MIN_BITS <= numbers[0] <= MAX_BITS:
            return None
        bounds = _read_only(numbers[1 : 1 + (1 << BITS_OF_CELLS)].reshape(1 << int(numbers[0]), -1) * STEP)
        return bounds if DistanceSearch(checker, model, pair).confirms(bounds) else None

    def compute() -> tuple[Singles, Arrays]:
        bounds = DistanceSearch(checker, model, pair).bounds()
        numbers = np.zeros((-(-(1 + bounds.size) // 3), 3), dtype=np.int32)
        numbers.flat[0] = len(bounds).bit_length() - 1
        numbers.flat[1 : 1 + bounds.size] = steps = np.floor(bounds / STEP).ravel()
        return _read_only(steps.reshape(bounds.shape) * STEP), (np.empty((0, 3)), numbers)

    return cached_or_computed(digest.hexdigest(), KIND, accept, compute)


def _read_only(bounds: Floats | Singles) -> Singles:
    found = bounds.astype(np.float32)
    found.setflags(write=False)
    return found


def of_all_blocks(bounds: Singles) -> Singles:
    """Return the minima of bounds (r, c) in blocks of all levels, in the layout of the kernels (2 r, 2 c)."""
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
            found.setflags(write=False)
            return found
        bounds = np.minimum(bounds[::2], bounds[1::2])


def stacked_blocks(maps: Sequence[DistanceMap]) -> Singles:
    """Return the bounds of maps in all blocks (d, SIZE), as the kernels read them; read-only."""
    if not maps:
        return np.empty((0, SIZE), dtype=np.float32)
    parts = tuple(found.blocks for found in maps)
    return _stacks.get(parts, (), lambda: _read_only(np.stack([part.ravel() for part in parts])))
