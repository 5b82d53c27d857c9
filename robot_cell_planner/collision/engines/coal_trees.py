"""AABB trees of the coal engine for boolean checks, without per-pair work in Python.

A state takes four calls into C++, and one or two more for each tree of stationary geometries: joints and geometries are
placed, the dynamic AABB tree (Bergen, 1997) of the moving geometries is refitted, checked against the trees of
stationary geometries, and then against itself. Those are built once. There are two kinds:

- *plain* trees hold geometries that are checked against the same moving ones at one margin, as most obstacles are. They
  need no table of pairs, so that ten thousand geometries fit.
- *listed* trees hold the rest; Pinocchio's geometry model lists their pairs, each with its own margin. There is one for
  bodies, and one for links and tools with all pairs of moving geometries, which the engines of a thread for cells with
  the same robot share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ..geometry.broad_phase import StaticBlock
from ..geometry.collision_geometry import Surface
from ..geometry.geometry_model import GeometryModel
from ..pairs.objects import ObjectKind
from .base import Floats
from .coal_large import LARGE, size_of, widening
from .coal_moving import (
    ListedTree,
    MovingGeometries,
    MovingSet,
    Partners,
    TreeVerdict,
    certain_distance,
    hit_verdict,
    set_boolean_request,
    widenings,
)

Indices = NDArray[np.intp]
FEW = 4  # minimum number of geometries for a separate plain tree
MANY = 128  # maximum number of listed pairs


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


class CoalTrees:
    """AABB trees of a geometry model.

    moving: data of its moving geometries, which other trees may share. geometries: coal geometry of each collision
    geometry, moving ones first. `sizes`: `size_of` of each geometry.
    """

    def __init__(
        self, model: Any, moving: MovingGeometries, geometry_model: GeometryModel, geometries: list[Any]
    ) -> None:
        self._model = model
        self._data = moving.joint_data
        self.moving = moving
        self.geometry_model = geometry_model
        self._geometries = geometries
        self._is_surface = np.array(
            [isinstance(geometry, Surface) for geometry in geometry_model.geometries], dtype=bool
        )
        static = geometry_model.geometries[geometry_model.moving_count :]
        self.sizes = [*moving.sizes, *map(size_of, static)]
        self._sets: list[MovingSet] = []
        self.plain: list[PlainTree] = []
        self._plain_of: dict[int, list[tuple[PlainTree, Any]]] = {}
        self._models: ListedTree | None = None  # None before the first check of all pairs
        self._bodies: ListedTree | None = None

    def show(self, geometry_model: GeometryModel) -> None:
        """Move the stationary geometries to their placements in a model that differs in these only."""
        changed = changed_placements(self.geometry_model, geometry_model)
        self.geometry_model = geometry_model
        for index in changed:
            for plain, item in self._plain_of.get(index, ()):
                item.setTransform(coal_transform(geometry_model.joint_T_geometry[index]))
                _set_box(item, plain.reach)
                plain.tree.update(item)
        if self._bodies is not None and any(index in self._bodies.partners for index in changed):
            self._bodies = self._listed_tree(self._bodies.partners)

    def place(self, q: Floats) -> None:
        """Place the joints, the moving geometries and their tree at q (nq,)."""
        self.moving.place(q, self.geometry_model)

    def first_hit(self, q: Floats) -> TreeVerdict:
        """Check for any collision at q (nq,) and keep the placements.

        Moving geometries are checked against each other last: links next to each other are always near, so that this
        takes several times as long as all checks against obstacles.
        """
        self.place(q)
        # Not before: checks of single pairs need no trees, whose pairs of many convex pieces take seconds to build.
        models = self._models or self._built()
        for subset in self._sets:
            pin.updateGeometryPlacements(self._model, self._data, subset.geometry, subset.data)
            subset.manager.update()
        for plain in self.plain:
            plain.moving.tree.collide(plain.tree, plain.callback)
            if plain.callback.data.result.isCollision():
                return hit_verdict(plain.callback.data.result, plain.certain)
        if self._bodies is not None and self._hits(self._bodies):
            return self._bodies.verdict()
        if self._hits(models):
            return models.verdict()
        self.moving.whole.manager.collide(models.callback)
        return models.verdict() if models.callback.collision else TreeVerdict.FREE

    def _hits(self, listed: ListedTree) -> bool:
        """Place the geometries of a listed tree, and return whether a moving one collides with a stationary one."""
        pin.updateGeometryPlacements(self._model, self._data, listed.geometry, listed.data)
        if listed.tree is None:
            return False
        self.moving.whole.tree.collide(listed.tree, listed.callback)
        return bool(listed.callback.collision)

    def _built(self) -> ListedTree:
        """Build the trees of stationary geometries; return that of links and tools with the pairs of moving ones."""
        of_models, of_bodies = dict[int, Partners](), dict[int, Partners]()
        subsets: dict[tuple[int, ...], MovingSet] = {tuple(range(self.geometry_model.moving_count)): self.moving.whole}
        for block in self.geometry_model.blocks:
            groups, kinds = self._groups(block), [self._kind(geometry) for geometry in block.static.tolist()]
            for surface, large in ((False, False), (True, False), (False, True), (True, True)):
                static = [s for s, kind in zip(block.static.tolist(), kinds, strict=True) if kind == (surface, large)]
                plain = len(groups) == 1 and next(iter(groups.values())) in subsets and len(static) >= FEW
                if plain or len(static) > MANY:
                    self._add_plain(static, groups, surface, subsets)
                else:
                    partners = tuple(zip(block.moving.tolist(), block.margins.tolist(), strict=True))
                    for geometry in static:
                        listed = of_bodies if self._is_of_body(geometry) else of_models
                        listed[geometry] = partners
        self._bodies = self._listed_tree(of_bodies) if of_bodies else None
        self._models = self._shared_tree(of_models)
        return self._models

    def _is_of_body(self, geometry: int) -> bool:
        model = self.geometry_model
        return model.allowed_pairs.objects[int(model.object_indices[geometry])].kind is ObjectKind.BODY

    def _shared_tree(self, partners: dict[int, Partners]) -> ListedTree:
        """Return the tree of stationary links and tools with all pairs of moving geometries, shared by all trees of
        these in which the former, their placements, partners and margins are equal."""
        model, members = self.geometry_model, list(partners)
        geometries = tuple(model.geometries[index] for index in members)
        key = (geometries, model.joint_T_geometry[members].tobytes(), tuple(partners.values()))
        make = partial(self._listed_tree, partners, among=True)
        return self.moving.listed_trees.get((self.moving.template,), key, make)

    def _listed_tree(self, partners: dict[int, Partners], among: bool = False) -> ListedTree:
        geometries = [self._geometries[index] for index in partners]
        return listed_tree(self.moving, self.geometry_model, geometries, partners, among)

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
                subsets[members] = self.moving.subset(members)
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
            certain = certain_distance(margin, with_surface, wider)
            found = PlainTree(subsets[members], tree, objects, callback, certain, margin + wider)
            self.plain.append(found)
            for geometry, item in zip(static, objects, strict=True):
                self._plain_of.setdefault(geometry, []).append((found, item))


def listed_tree(
    moving: MovingGeometries,
    model: GeometryModel,
    geometries: Sequence[Any],
    partners: dict[int, Partners],
    among: bool,
) -> ListedTree:
    """Return a listed tree of stationary geometries of a model. geometries: those of coal. among: Also list the pairs
    of moving geometries."""
    first_static = model.moving_count
    pin_geometry = moving.template.copy()
    for index, geometry in zip(partners, geometries, strict=True):
        pose = pin.SE3(model.joint_T_geometry[index])
        pin_geometry.addGeometryObject(pin.GeometryObject(str(index), int(model.joints[index]), pose, geometry))
    counts = [len(each) for each in partners.values()]
    places = np.repeat(np.arange(first_static, first_static + len(partners)), counts)
    movers = np.array([index for each in partners.values() for index, _ in each], dtype=np.intp)
    margins = np.array([margin for each in partners.values() for _, margin in each])
    is_surface = np.array([isinstance(model.geometries[index], Surface) for index in partners], dtype=bool)
    sizes = [*moving.sizes, *(size_of(model.geometries[index]) for index in partners)]
    pairs = np.column_stack((movers, places))
    all_pairs = np.concatenate((model.moving_pairs, pairs)) if among else pairs
    all_margins = np.concatenate((model.moving_margins, margins)) if among else margins
    surfaces = np.asarray(np.concatenate((moving.is_surface, is_surface))[all_pairs].any(axis=1))
    wider = widenings(sizes, all_pairs)
    objects = [
        pin.CollisionObject(geometry, pin.SE3(model.joint_T_geometry[index]), place)
        for place, (index, geometry) in enumerate(zip(partners, geometries, strict=True), start=first_static)
    ]
    tree = None
    if partners:
        widest = np.maximum.reduceat(margins + wider[len(wider) - len(margins) :], np.cumsum([0, *counts[:-1]]))
        tree = _static_tree(objects, widest.tolist())
    return ListedTree(pin_geometry, all_pairs, all_margins, surfaces, wider, partners, objects, tree)


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
