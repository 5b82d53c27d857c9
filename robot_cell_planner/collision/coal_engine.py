"""Collision checks by coal, with Pinocchio's kinematics; Python does none of the work on single pairs.

A state costs five calls into C++ and one more for each tree of things that never move:
the joints and solids are placed, the dynamic AABB tree (Bergen, 1997) of the moving solids is refitted and
held against itself, and then against trees of what never moves. Those trees are built once. There are two
sorts of them:

- *plain* trees hold solids that are checked against all the same moving ones at one margin, which is what
  most
  obstacles are. No table of pairs exists for them, so ten thousand of them fit.
- the *listed* tree holds the rest; Pinocchio's geometry model lists its pairs, each with a margin of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import coal
import pinocchio as pin

from .box_search import StaticBlock
from .coal_shapes import coal_geometry
from .engine import TOUCHING, Floats, Witness
from .shape_table import ShapeTable
from .solids import Surface

FEW = 4  # below, a plain tree of its own is not worth a call
MANY = 128  # above, pairs are too many to be listed
MAX_CONTACTS = 256
MAX_KEPT = 10_000  # solvers of single pairs, each with its own work space


@dataclass(eq=False)
class _PlainTree:
    """Static solids that all members of a moving set are held against at one margin."""

    moving: _MovingSet
    tree: Any
    objects: list[Any]
    callback: Any
    verify: bool


@dataclass(eq=False)
class _MovingSet:
    """Some moving solids with a tree that is refitted for each state."""

    geometry: Any
    data: Any
    manager: Any
    tree: Any
    objects: list[Any]
    no_transforms: list[None]


class CoalEngine:
    """Coal on the solids of a table; `model` is the Pinocchio model whose joints the table names."""

    name = "coal"
    decomposed: tuple[str, ...] = ()

    def __init__(self, model: Any, table: ShapeTable) -> None:
        self._model = model
        self._data = model.createData()
        self._table = table
        self._geometries = [coal_geometry(solid) for solid in table.solids]
        self._is_surface = [isinstance(solid, Surface) for solid in table.solids]
        self._objects = [
            pin.GeometryObject(str(i), int(table.joints[i]), pin.SE3(table.joint_T_solid[i]), geometry)
            for i, geometry in enumerate(self._geometries)
        ]
        self._transforms: list[Any] = [_transform(pose) for pose in table.joint_T_solid]
        self._checks: dict[tuple[int, int, float], tuple[Any, Any, bool]] = {}
        self._measures: dict[tuple[int, int], Any] = {}
        self._all = self._moving_set(range(table.moving_count), table.moving_margins)
        self._sets: list[_MovingSet] = []
        self._plain: list[_PlainTree] = []
        self._build_static()
        self._contacts = coal.CollisionResult()
        self._nearest = coal.DistanceResult()
        self._distance_request = coal.DistanceRequest()
        self._distance_request.enable_signed_distance = True
        self._placed_at: Floats | None = None
        self._always = self._rigid_pairs_collide()

    def _moving_set(self, solids: Any, margins: Floats | None = None) -> _MovingSet:
        """A set of moving solids. margins: of the moving pairs, if they are held against one another."""
        geometry = pin.GeometryModel()
        for solid in solids:
            geometry.addGeometryObject(self._objects[solid])
        inflating = {} if margins is None else self._widest_pairs(margins)
        for first, second in inflating:
            geometry.addCollisionPair(pin.CollisionPair(first, second))
        data = geometry.createData()
        for request, margin in zip(data.collisionRequests, inflating.values(), strict=True):
            request.break_distance = 0.0
            request.security_margin = margin
        pin.updateGeometryPlacements(self._model, self._data, geometry, data, pin.neutral(self._model))
        manager = pin.BroadPhaseManager_DynamicAABBTreeCollisionManager(self._model, geometry, data)
        for solid in solids:
            # Pinocchio leaves out what has no volume, such as a flat sheet of triangles.
            if self._geometries[solid].aabb_local.volume() <= 0.0:
                self._geometries[solid].aabb_local.expand(1e-9)
        manager.update()
        objects = list(manager.getCollisionObjects())
        return _MovingSet(geometry, data, manager, manager.getManager(), objects, [None] * len(solids))

    def _widest_pairs(self, margins: Floats) -> dict[tuple[int, int], float]:
        """For each solid its pair with the widest margin: Pinocchio inflates both boxes by half of it."""
        widest: dict[int, tuple[float, tuple[int, int]]] = {}
        for (i, j), margin in zip(self._table.moving_pairs.tolist(), margins.tolist(), strict=True):
            for side in (i, j):
                if margin > widest.get(side, (0.0, (0, 0)))[0]:
                    widest[side] = (margin, (i, j))
        return {pair: margin for margin, pair in widest.values()}

    def _build_static(self) -> None:
        listed: dict[int, list[tuple[int, float]]] = {}
        subsets: dict[tuple[int, ...], _MovingSet] = {tuple(range(self._table.moving_count)): self._all}
        for block in self._table.blocks:
            for surface in (False, True):
                static = [int(s) for s in block.static if self._is_surface[s] is surface]
                groups = self._groups(block)
                plain = len(groups) == 1 and next(iter(groups.values())) in subsets and len(static) >= FEW
                if plain or len(static) > MANY:
                    self._add_plain(static, groups, surface, subsets)
                else:
                    partners = list(zip(block.moving.tolist(), block.margins.tolist(), strict=True))
                    listed.update((solid, partners) for solid in static)
        self._build_listed(listed)

    def _groups(self, block: StaticBlock) -> dict[tuple[float, bool], tuple[int, ...]]:
        """The moving solids of a block by margin, and by whether they are surfaces."""
        groups: dict[tuple[float, bool], list[int]] = {}
        for solid, margin in zip(block.moving.tolist(), block.margins.tolist(), strict=True):
            groups.setdefault((margin, self._is_surface[solid]), []).append(solid)
        return {key: tuple(sorted(members)) for key, members in sorted(groups.items())}

    def _add_plain(
        self,
        static: list[int],
        groups: dict[tuple[float, bool], tuple[int, ...]],
        surface: bool,
        subsets: dict[tuple[int, ...], _MovingSet],
    ) -> None:
        for (margin, moving_surface), members in groups.items():
            if members not in subsets:
                subsets[members] = self._moving_set(members)
                self._sets.append(subsets[members])
            objects = [coal.CollisionObject(self._geometries[s], self._transforms[s]) for s in static]
            callback = coal.CollisionCallBackDefault()
            with_surface = surface or moving_surface
            _set_boolean_request(callback.data.request, margin, with_surface)
            tree = _static_tree(objects, [margin] * len(objects))
            verify = with_surface and margin < TOUCHING
            self._plain.append(_PlainTree(subsets[members], tree, objects, callback, verify))

    def _build_listed(self, listed: dict[int, list[tuple[int, float]]]) -> None:
        """Pinocchio's geometry model of the moving and the listed solids, with all pairs among them."""
        geometry = pin.GeometryModel()
        for solid in (*range(self._table.moving_count), *listed):
            geometry.addGeometryObject(self._objects[solid])
        pairs = [(i, j) for i, j in self._table.moving_pairs.tolist()]
        margins = self._table.moving_margins.tolist()
        surfaces = [self._is_surface[i] or self._is_surface[j] for i, j in pairs]
        for place, (solid, partners) in enumerate(listed.items(), start=self._table.moving_count):
            pairs.extend((moving, place) for moving, _ in partners)
            margins.extend(margin for _, margin in partners)
            surfaces.extend(self._is_surface[moving] or self._is_surface[solid] for moving, _ in partners)
        for first, second in pairs:
            geometry.addCollisionPair(pin.CollisionPair(first, second))
        data = geometry.createData()
        for request, margin, surface in zip(data.collisionRequests, margins, surfaces, strict=True):
            _set_boolean_request(request, margin, surface)
        self._listed, self._listed_data = geometry, data
        self._verify_pair = [surface and margin < TOUCHING for margin, surface in zip(margins, surfaces, strict=True)]
        self._callback = pin.CollisionCallBackDefault(geometry, data, True)
        self._listed_objects = [
            pin.CollisionObject(self._geometries[solid], pin.SE3(self._table.joint_T_solid[solid]), place)
            for place, solid in enumerate(listed, start=self._table.moving_count)
        ]
        widest = [max(margin for _, margin in partners) for partners in listed.values()]
        self._listed_tree = _static_tree(self._listed_objects, widest) if listed else None

    def _rigid_pairs_collide(self) -> bool:
        """Whether two solids collide that are fixed to each other: then so does every configuration."""
        table = self._table
        if not len(table.rigid_pairs):
            return False
        self.place(pin.neutral(self._model))
        pairs = zip(table.rigid_pairs.tolist(), table.rigid_margins.tolist(), strict=True)
        return any(self.contact(i, j, margin) is not None for (i, j), margin in pairs)

    def collides(self, q: Floats) -> bool:
        if self._always:
            return True
        if not self._table.moving_count:
            return False
        moving, callback = self._all, self._callback
        pin.updateGeometryPlacements(self._model, self._data, self._listed, self._listed_data, q)
        pin.updateGeometryPlacements(self._model, self._data, moving.geometry, moving.data)
        moving.manager.update()
        self._placed_at = q
        moving.manager.collide(callback)
        if callback.collision:
            return self._listed_hit(q)
        if self._listed_tree is not None:
            moving.tree.collide(self._listed_tree, callback)
            if callback.collision:
                return self._listed_hit(q)
        for subset in self._sets:
            pin.updateGeometryPlacements(self._model, self._data, subset.geometry, subset.data)
            subset.manager.update()
        for plain in self._plain:
            plain.moving.tree.collide(plain.tree, plain.callback)
            if plain.callback.data.result.isCollision():
                return self._verified(q) if plain.verify else True
        return False

    def _listed_hit(self, q: Floats) -> bool:
        return self._verified(q) if self._verify_pair[self._callback.collisionPairIndex] else True

    def _verified(self, q: Floats) -> bool:
        """The exact verdict where surfaces of triangles met: coal knows no negative margin for them, so that
        a touch within the tolerance has to be told from a collision by its depth."""
        near = self._table.candidates(self.place(q))
        pairs = zip(near.first.tolist(), near.second.tolist(), near.margins.tolist(), strict=True)
        return any(self.contact(i, j, margin) is not None for i, j, margin in pairs)

    def place(self, q: Floats) -> Floats:
        moving = self._all
        if self._placed_at is not q:
            # The very placements of `collides`, so that both come to the same verdict to the last bit.
            pin.updateGeometryPlacements(self._model, self._data, moving.geometry, moving.data, q)
            moving.manager.update()
            self._placed_at = q
        self._transforms[: self._table.moving_count] = moving.no_transforms
        return self._table.poses(self._data.oMi)

    def place_at(self, poses: Floats) -> None:
        self._transforms[: self._table.moving_count] = [_transform(pose) for pose in poses]

    def _transform(self, solid: int) -> Any:
        found = self._transforms[solid]
        if found is None:
            found = self._transforms[solid] = self._all.objects[solid].getTransform()
        return found

    def contact(self, first: int, second: int, margin: float) -> Witness | None:
        found = self._checks.get((first, second, margin))
        check, request, surface = found or self._make_check(first, second, margin)
        result = self._contacts
        result.clear()
        check(self._transform(first), self._transform(second), request, result)
        if not result.isCollision():
            return None
        deepest = result.getContact(0)
        for place in range(1, result.numContacts()):
            contact = result.getContact(place)
            if contact.penetration_depth < deepest.penetration_depth:
                deepest = contact
        # What coal calls the penetration depth is the signed distance.
        distance = deepest.penetration_depth
        if surface and not distance < margin - TOUCHING:
            return None
        return _witness(distance, deepest)

    def _make_check(self, first: int, second: int, margin: float) -> tuple[Any, Any, bool]:
        surface = self._is_surface[first] or self._is_surface[second]
        request = coal.CollisionRequest()
        _set_boolean_request(request, margin, surface)
        request.enable_contact = True
        request.num_max_contacts = MAX_CONTACTS if surface else 1
        check = coal.ComputeCollision(self._geometries[first], self._geometries[second])
        if len(self._checks) >= MAX_KEPT:
            self._checks.clear()
        self._checks[first, second, margin] = check, request, surface
        return check, request, surface

    def distance(self, first: int, second: int) -> Witness:
        measure = self._measures.get((first, second))
        if measure is None:
            measure = coal.ComputeDistance(self._geometries[first], self._geometries[second])
            if len(self._measures) >= MAX_KEPT:
                self._measures.clear()
            self._measures[first, second] = measure
        result = self._nearest
        result.clear()
        distance = measure(self._transform(first), self._transform(second), self._distance_request, result)
        if distance <= 0.0 and (self._is_surface[first] or self._is_surface[second]):
            contact = self.contact(first, second, 2.0 * TOUCHING)
            if contact is not None:
                return contact
        return _witness(distance, result)


def _witness(distance: float, found: Any) -> Witness:
    """The numbers of a contact or distance of coal, whose normal points from the first to the second."""
    x, y, z = found.normal.tolist()
    first, second = found.getNearestPoint1().tolist(), found.getNearestPoint2().tolist()
    return Witness(distance, tuple(first), tuple(second), (-x, -y, -z))


def _transform(pose: Floats) -> Any:
    return coal.Transform3s(pose[:3, :3], pose[:3, 3])


def _set_boolean_request(request: Any, margin: float, surface: bool) -> None:
    """The first hit is enough, and nothing is computed about it."""
    request.num_max_contacts = 1
    request.enable_contact = False
    request.security_margin = max(margin - TOUCHING, 0.0) if surface else margin - TOUCHING
    request.distance_upper_bound = request.security_margin + 1e-6


def _static_tree(objects: list[Any], margins: list[float]) -> Any:
    """A tree of objects that never move, their boxes inflated by their margins."""
    for item, margin in zip(objects, margins, strict=True):
        item.computeAABB()
        item.getAABB().expand(margin)
    tree = coal.DynamicAABBTreeCollisionManager()
    tree.registerObjects(objects)
    tree.setup()
    return tree
