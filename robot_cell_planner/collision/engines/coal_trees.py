"""AABB trees of the coal engine for boolean checks, without per-pair work in Python.

A state takes four calls into C++ and one more for each tree of stationary geometries: joints and geometries are placed,
the dynamic AABB tree (Bergen, 1997) of the moving geometries is refitted, checked against itself, and then checked
against the trees of stationary geometries. Those are built once. There are two kinds:

- *plain* trees hold geometries that are checked against the same moving ones at one margin, as most obstacles are. They
  need no table of pairs, so that ten thousand geometries fit.
- the *listed* tree holds the rest; Pinocchio's geometry model lists its pairs, each with its own margin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ..geometry.broad_phase import StaticBlock
from ..geometry.collision_geometry import Surface
from ..geometry.geometry_model import GeometryModel
from .base import TOUCHING, Floats
from .coal_large import DEEP, EPA_TOLERANCE, LARGE, size_of, widening

Indices = NDArray[np.intp]
FEW = 4  # minimum number of geometries for a separate plain tree
MANY = 128  # maximum number of listed pairs


class TreeVerdict(Enum):
    """Result of a boolean check by the trees."""

    FREE = 0
    COLLIDES = 1
    UNSURE = 2  # triangle surfaces intersect, or a large geometry is near; the contact depth decides


@dataclass(eq=False)
class PlainTree:
    """Stationary geometries that are checked against all members of a moving set at one margin.

    reach: margin by which the boxes are inflated [m]. certain: distance below which a hit is a collision [m].
    """

    moving: MovingSet
    tree: Any
    objects: list[Any]
    callback: Any
    certain: float
    reach: float


@dataclass(eq=False)
class MovingSet:
    """Moving geometries with a tree that is refitted for each state."""

    geometry: Any
    data: Any
    manager: Any
    tree: Any
    objects: list[Any]


class CoalTrees:
    """AABB trees of a geometry model.

    geometries: coal geometry of each collision geometry. `moving`: set of all moving geometries. `sizes`: `size_of` of
    each geometry.
    """

    def __init__(self, model: Any, data: Any, geometry_model: GeometryModel, geometries: list[Any]) -> None:
        self._model = model
        self._data = data
        self.geometry_model = geometry_model
        self._geometries = geometries
        self._is_surface = np.array(
            [isinstance(geometry, Surface) for geometry in geometry_model.geometries], dtype=bool
        )
        self.sizes = [size_of(geometry) for geometry in geometry_model.geometries]
        self.moving = self._moving_set(range(geometry_model.moving_count), self._reaches())
        self._sets: list[MovingSet] = []
        self.plain: list[PlainTree] = []
        self._plain_of: dict[int, list[tuple[PlainTree, Any]]] = {}
        self._build_static()

    def show(self, geometry_model: GeometryModel) -> None:
        """Move the stationary geometries to their placements in a model that differs in these only."""
        changed = changed_placements(self.geometry_model, geometry_model)
        self.geometry_model = geometry_model
        for index in changed:
            for plain, item in self._plain_of.get(index, ()):
                item.setTransform(coal_transform(geometry_model.joint_T_geometry[index]))
                _set_box(item, plain.reach)
                plain.tree.update(item)
        if any(index in self._listed_partners for index in changed):
            self._build_listed(self._listed_partners)

    def _object(self, index: int) -> Any:
        """Return a new geometry object of Pinocchio."""
        model = self.geometry_model
        pose = pin.SE3(model.joint_T_geometry[index])
        return pin.GeometryObject(str(index), int(model.joints[index]), pose, self._geometries[index])

    def place(self, q: Floats) -> None:
        """Place the joints, the moving geometries and their tree at q (nq,)."""
        moving = self.moving
        pin.updateGeometryPlacements(self._model, self._data, moving.geometry, moving.data, q)
        moving.manager.update()

    def first_hit(self, q: Floats) -> TreeVerdict:
        """Check for any collision at q (nq,) and keep the placements.

        Moving geometries are checked against each other last: links next to each other are always near, so that this
        takes several times as long as all checks against obstacles.
        """
        moving, callback = self.moving, self._callback
        pin.updateGeometryPlacements(self._model, self._data, self._listed, self._listed_data, q)
        pin.updateGeometryPlacements(self._model, self._data, moving.geometry, moving.data)
        moving.manager.update()
        for subset in self._sets:
            pin.updateGeometryPlacements(self._model, self._data, subset.geometry, subset.data)
            subset.manager.update()
        for plain in self.plain:
            plain.moving.tree.collide(plain.tree, plain.callback)
            if plain.callback.data.result.isCollision():
                return _verdict(plain.callback.data.result, plain.certain)
        if self._listed_tree is not None:
            moving.tree.collide(self._listed_tree, callback)
        if self._listed_tree is None or not callback.collision:
            moving.manager.collide(callback)
        if callback.collision:
            row = callback.collisionPairIndex
            certain = self._certain[row]
            if certain == math.inf:
                return TreeVerdict.COLLIDES
            return _verdict(self._listed_data.collisionResults[row], certain)
        return TreeVerdict.FREE

    def _reaches(self) -> Floats:
        """Return the margin by which the boxes of each pair of moving geometries are inflated (k,) [m]."""
        model = self.geometry_model
        return np.asarray(model.moving_margins + self._widenings(model.moving_pairs))

    def _widenings(self, pairs: Indices) -> Floats:
        """Return the `widening` of pairs of geometries (k, 2): (k,) [m]."""
        if max(self.sizes, default=0.0) < LARGE:
            return np.zeros(len(pairs))
        return np.array([widening((self.sizes[i], self.sizes[j])) for i, j in pairs.tolist()])

    def _moving_set(self, indices: Sequence[int], margins: Floats | None = None) -> MovingSet:
        """Return a set of moving geometries. margins: margins of the pairs among them, if these are checked."""
        pin_geometry = pin.GeometryModel()
        for index in indices:
            pin_geometry.addGeometryObject(self._object(index))
        inflating = {} if margins is None else self._widest_pairs(margins)
        for first, second in inflating:
            pin_geometry.addCollisionPair(pin.CollisionPair(first, second))
        data = pin_geometry.createData()
        for request, margin in zip(data.collisionRequests, inflating.values(), strict=True):
            request.break_distance = 0.0
            request.security_margin = margin
        pin.updateGeometryPlacements(self._model, self._data, pin_geometry, data, pin.neutral(self._model))
        manager = pin.BroadPhaseManager_DynamicAABBTreeCollisionManager(self._model, pin_geometry, data)
        for index in indices:
            # Pinocchio skips geometries whose bounding box has no volume, such as a flat sheet of triangles.
            if self._geometries[index].aabb_local.volume() <= 0.0:
                self._geometries[index].aabb_local.expand(1e-9)
        manager.update()
        return MovingSet(pin_geometry, data, manager, manager.getManager(), list(manager.getCollisionObjects()))

    def _widest_pairs(self, margins: Floats) -> dict[tuple[int, int], float]:
        """Return the pair with the largest margin of each geometry: Pinocchio inflates both boxes by half of it."""
        widest: dict[int, tuple[float, tuple[int, int]]] = {}
        for (i, j), margin in zip(self.geometry_model.moving_pairs.tolist(), margins.tolist(), strict=True):
            for side in (i, j):
                if margin > widest.get(side, (0.0, (0, 0)))[0]:
                    widest[side] = (margin, (i, j))
        return {pair: margin for margin, pair in widest.values()}

    def _build_static(self) -> None:
        listed: dict[int, list[tuple[int, float]]] = {}
        subsets: dict[tuple[int, ...], MovingSet] = {tuple(range(self.geometry_model.moving_count)): self.moving}
        for block in self.geometry_model.blocks:
            groups, kinds = self._groups(block), [self._kind(geometry) for geometry in block.static.tolist()]
            for surface, large in ((False, False), (True, False), (False, True), (True, True)):
                static = [s for s, kind in zip(block.static.tolist(), kinds, strict=True) if kind == (surface, large)]
                plain = len(groups) == 1 and next(iter(groups.values())) in subsets and len(static) >= FEW
                if plain or len(static) > MANY:
                    self._add_plain(static, groups, surface, subsets)
                else:
                    partners = list(zip(block.moving.tolist(), block.margins.tolist(), strict=True))
                    listed.update((geometry, partners) for geometry in static)
        self._build_listed(listed)

    def _kind(self, geometry: int) -> tuple[bool, bool]:
        """Return whether a geometry is a surface, and whether it is large."""
        return bool(self._is_surface[geometry]), self.sizes[geometry] >= LARGE

    def _groups(self, block: StaticBlock) -> dict[tuple[float, bool, bool], tuple[int, ...]]:
        """Return the moving geometries of a block by margin, and by whether they are surfaces, and large."""
        groups: dict[tuple[float, bool, bool], list[int]] = {}
        for geometry, margin in zip(block.moving.tolist(), block.margins.tolist(), strict=True):
            groups.setdefault((margin, *self._kind(geometry)), []).append(geometry)
        return {key: tuple(sorted(members)) for key, members in sorted(groups.items())}

    def _add_plain(
        self,
        static: list[int],
        groups: dict[tuple[float, bool, bool], tuple[int, ...]],
        surface: bool,
        subsets: dict[tuple[int, ...], MovingSet],
    ) -> None:
        for (margin, moving_surface, _), members in groups.items():
            if members not in subsets:
                subsets[members] = self._moving_set(members)
                self._sets.append(subsets[members])
            objects = [
                coal.CollisionObject(self._geometries[s], coal_transform(self.geometry_model.joint_T_geometry[s]))
                for s in static
            ]
            callback = coal.CollisionCallBackDefault()
            with_surface = surface or moving_surface
            wider = widening(tuple(self.sizes[geometry] for geometry in (*static, *members)))
            set_boolean_request(callback.data.request, margin, with_surface, wider)
            tree = _static_tree(objects, [margin + wider] * len(objects))
            certain = _certain(margin, with_surface, wider)
            found = PlainTree(subsets[members], tree, objects, callback, certain, margin + wider)
            self.plain.append(found)
            for geometry, item in zip(static, objects, strict=True):
                self._plain_of.setdefault(geometry, []).append((found, item))

    def _build_listed(self, listed: dict[int, list[tuple[int, float]]]) -> None:
        """Build Pinocchio's geometry model of the moving and the listed geometries, with all pairs among them."""
        self._listed_partners = listed
        model, first_static = self.geometry_model, self.geometry_model.moving_count
        members = np.array((*range(first_static), *listed), dtype=np.intp)
        pin_geometry = pin.GeometryModel()
        for index in members.tolist():
            pin_geometry.addGeometryObject(self._object(index))
        counts = [len(partners) for partners in listed.values()]
        places = np.repeat(np.arange(first_static, len(members)), counts)
        movers = np.array([moving for partners in listed.values() for moving, _ in partners], dtype=np.intp)
        of_static = np.array([margin for partners in listed.values() for _, margin in partners])
        pairs = np.concatenate((model.moving_pairs, np.column_stack((movers, places))))
        margins = np.concatenate((model.moving_margins, of_static))
        surfaces = self._is_surface[members[pairs]].any(axis=1)
        wider = self._widenings(members[pairs])
        order = _add_pairs(pin_geometry, pairs)
        kinds = list(zip(margins[order].tolist(), surfaces[order].tolist(), wider[order].tolist(), strict=True))
        data = pin_geometry.createData()
        data.collisionRequests = _boolean_requests(kinds)
        self._listed, self._listed_data = pin_geometry, data
        certain = {kind: _certain(*kind) for kind in set(kinds)}
        self._certain = [certain[kind] for kind in kinds]
        self._callback = pin.CollisionCallBackDefault(pin_geometry, data, True)
        self._listed_objects = [
            pin.CollisionObject(self._geometries[geometry], pin.SE3(model.joint_T_geometry[geometry]), place)
            for place, geometry in enumerate(listed, start=first_static)
        ]
        self._listed_tree = None
        if listed:
            begins = np.cumsum([0, *counts[:-1]])
            widest = np.maximum.reduceat(of_static + wider[len(model.moving_pairs) :], begins)
            self._listed_tree = _static_tree(self._listed_objects, widest.tolist())


def _add_pairs(pin_geometry: Any, pairs: Indices) -> Indices:
    """Add pairs (k, 2) to a geometry model of Pinocchio, and return the row of each of its pairs (k,)."""
    rows = np.sort(pairs, axis=1)
    # All at once, which takes a fiftieth of the time; they are then ordered by rows of the matrix.
    checked = np.zeros((pin_geometry.ngeoms, pin_geometry.ngeoms), dtype=bool)
    checked[rows[:, 0], rows[:, 1]] = True
    pin_geometry.setCollisionPairs(checked, True)
    return np.lexsort((rows[:, 1], rows[:, 0]))


def _boolean_requests(kinds: Sequence[tuple[float, bool, float]]) -> Any:
    """Return the requests of pairs by margin, whether one is a surface, and widening."""
    requests = {kind: coal.CollisionRequest() for kind in set(kinds)}
    for kind, request in requests.items():
        set_boolean_request(request, *kind)
    found = coal.StdVec_CollisionRequest()
    found.extend([requests[kind] for kind in kinds])  # copies them, which takes less than setting each
    return found


def set_boolean_request(request: Any, margin: float, surface: bool, wider: float = 0.0) -> None:
    """Configure a request to stop at the first collision and to compute no contact data.

    wider: `widening` of a pair with a large geometry [m]; the depth is then computed too.
    """
    request.num_max_contacts = 1
    request.enable_contact = wider > 0.0
    request.security_margin = max(margin - TOUCHING, 0.0) if surface else margin - TOUCHING
    if wider > 0.0:
        request.security_margin += wider
        request.epa_tolerance = EPA_TOLERANCE
    request.distance_upper_bound = request.security_margin + 1e-6


def _certain(margin: float, surface: bool, wider: float) -> float:
    """Return the distance below which a hit is a collision [m]; others are decided by their contacts."""
    if surface:
        return -math.inf if margin < TOUCHING or wider > 0.0 else math.inf
    return margin - DEEP if wider > 0.0 else math.inf


def _verdict(result: Any, certain: float) -> TreeVerdict:
    """Return the verdict for a hit of coal."""
    if certain == math.inf or (certain > -math.inf and result.getContact(0).penetration_depth < certain):
        return TreeVerdict.COLLIDES
    return TreeVerdict.UNSURE


def coal_transform(pose: Floats) -> Any:
    """Convert a pose (4, 4) to a coal transform."""
    return coal.Transform3s(pose[:3, :3], pose[:3, 3])


def _static_tree(objects: list[Any], margins: list[float]) -> Any:
    """Return a tree of stationary objects with bounding boxes inflated by their margins."""
    for item, margin in zip(objects, margins, strict=True):
        _set_box(item, margin)
    tree = coal.DynamicAABBTreeCollisionManager()
    tree.registerObjects(objects)
    tree.setup()
    return tree


def _set_box(item: Any, margin: float) -> None:
    """Compute the bounding box of an object, inflated by its margin."""
    item.computeAABB()
    item.getAABB().expand(margin)


def changed_placements(before: GeometryModel, after: GeometryModel) -> list[int]:
    """Return the geometries that are placed differently in two models with the same geometries."""
    if before is after:
        return []
    differs = (before.joint_T_geometry != after.joint_T_geometry).any(axis=(1, 2))
    return [int(index) for index in np.flatnonzero(differs)]
