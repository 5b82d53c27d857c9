"""Coal's data of moving geometries: their shapes, their tree, and the pairs among them.

They depend on robots, tools, attached bodies and margins, not on stationary objects: the engines of a thread for cells
with the same robot share them.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ...system.cache import IdentityCache
from ..geometry.collision_geometry import Surface
from ..geometry.geometry_model import GeometryModel
from ..geometry.placements import GeometryPlacements
from .base import TOUCHING, Floats
from .coal_large import DEEP, EPA_TOLERANCE, LARGE, size_of, widening
from .coal_shapes import coal_geometry

Indices = NDArray[np.intp]
Partners = tuple[tuple[int, float], ...]  # moving geometries and margins [m]
MAX_CACHED = 8  # sets of moving geometries per thread
MAX_LISTED = 4  # trees of stationary links per set of moving geometries


class TreeVerdict(Enum):
    """Result of a boolean check by the trees."""

    FREE = 0
    COLLIDES = 1
    UNSURE = 2  # triangle surfaces intersect, or a large geometry is near; the contact depth decides


@dataclass(eq=False)
class MovingSet:
    """Moving geometries with a tree that is refitted for each state."""

    geometry: Any
    data: Any
    manager: Any
    tree: Any
    objects: list[Any]


class MovingGeometries:
    """Coal's data of the moving geometries of a geometry model.

    model: Pinocchio model of the joints. geometries: those of coal, if there are some already.

    Attributes:
        geometries: Coal geometry of each moving geometry.
        sizes: `size_of` of each.
        is_surface: Whether each is a triangle surface (m,).
        joint_data: Pinocchio's data of the joints.
        template: Pinocchio's geometry model of all moving geometries, without pairs; to be copied.
        placements: Their forward kinematics.
        whole: The set of all of them.
        placed_by: Geometry model of the engine that placed `whole` last.
        listed_trees: Trees of stationary links and tools that are checked against these geometries.
    """

    def __init__(self, model: Any, geometry_model: GeometryModel, geometries: list[Any] | None = None) -> None:
        count = geometry_model.moving_count
        self._model = model
        self._joints = geometry_model.joints[:count]
        self._poses = geometry_model.joint_T_geometry[:count]
        own = geometry_model.geometries[:count]
        self.geometries = geometries or [coal_geometry(geometry) for geometry in own]
        self.sizes = [size_of(geometry) for geometry in own]
        self.joint_data = model.createData()
        self.template = pin.GeometryModel()
        for index in range(count):
            self.template.addGeometryObject(self._object(index))
        self.placements = GeometryPlacements(model, self._joints, self._poses)
        wider = widenings(self.sizes, geometry_model.moving_pairs)
        widest = _widest_pairs(geometry_model.moving_pairs, geometry_model.moving_margins + wider)
        self.whole = self.subset(range(count), widest)
        self.placed_by: GeometryModel | None = None
        self.listed_trees: IdentityCache[ListedTree] = IdentityCache(size=MAX_LISTED)
        self.is_surface = np.array([isinstance(geometry, Surface) for geometry in own], dtype=bool)

    def _object(self, index: int) -> Any:
        """Return a new geometry object of Pinocchio."""
        pose = pin.SE3(self._poses[index])
        return pin.GeometryObject(str(index), int(self._joints[index]), pose, self.geometries[index])

    def subset(self, indices: Sequence[int], inflating: dict[tuple[int, int], float] | None = None) -> MovingSet:
        """Return a set of some moving geometries.

        inflating: Pairs with a margin [m] by half of which the boxes of both are inflated.
        """
        pin_geometry = pin.GeometryModel()
        for index in indices:
            pin_geometry.addGeometryObject(self.template.geometryObjects[index])
        for first, second in inflating or ():
            pin_geometry.addCollisionPair(pin.CollisionPair(first, second))
        data = pin_geometry.createData()
        for request, margin in zip(data.collisionRequests, (inflating or {}).values(), strict=True):
            request.break_distance = 0.0
            request.security_margin = margin
        pin.updateGeometryPlacements(self._model, self.joint_data, pin_geometry, data, pin.neutral(self._model))
        manager = pin.BroadPhaseManager_DynamicAABBTreeCollisionManager(self._model, pin_geometry, data)
        for index in indices:
            # Pinocchio skips geometries whose bounding box has no volume, such as a flat sheet of triangles.
            if self.geometries[index].aabb_local.volume() <= 0.0:
                self.geometries[index].aabb_local.expand(1e-9)
        manager.update()
        return MovingSet(pin_geometry, data, manager, manager.getManager(), list(manager.getCollisionObjects()))

    def place(self, q: Floats, user: GeometryModel) -> None:
        """Place the joints, the moving geometries and their tree at q (nq,), for the engine of a geometry model."""
        whole = self.whole
        pin.updateGeometryPlacements(self._model, self.joint_data, whole.geometry, whole.data, q)
        whole.manager.update()
        self.placed_by = user


class ListedTree:
    """Stationary geometries in a tree, and pairs with moving geometries and of these, each with its own margin.

    Args:
        geometry: Pinocchio's model of the geometries without pairs, which is changed.
        pairs: Pairs (k, 2) of its geometries.
        margins, wider: Margin and `widening` of each pair (k,) [m].
        surfaces: Whether one of a pair is a triangle surface (k,).
        partners: Those of each stationary geometry, by its index in the geometry model.
        objects, tree: Stationary geometries and their tree, None if there are none.

    Attributes:
        data: Pinocchio's data of `geometry`.
        callback: Checks the pairs in trees.
    """

    def __init__(
        self,
        geometry: Any,
        pairs: Indices,
        margins: Floats,
        surfaces: NDArray[np.bool_],
        wider: Floats,
        partners: dict[int, Partners],
        objects: list[Any],
        tree: Any | None,
    ) -> None:
        self.geometry, self.partners, self.tree = geometry, partners, tree
        self._objects = objects  # which the tree does not keep alive
        order = _add_pairs(geometry, pairs)
        kinds = list(zip(margins[order].tolist(), surfaces[order].tolist(), wider[order].tolist(), strict=True))
        self.data = geometry.createData()
        self.data.collisionRequests = _boolean_requests(kinds)
        certain = {kind: certain_distance(*kind) for kind in set(kinds)}
        self._certain = [certain[kind] for kind in kinds]
        self.callback = pin.CollisionCallBackDefault(geometry, self.data, True)

    def verdict(self) -> TreeVerdict:
        """Return the verdict for the hit that the callback found last."""
        row = self.callback.collisionPairIndex
        certain = self._certain[row]
        return TreeVerdict.COLLIDES if certain == math.inf else hit_verdict(self.data.collisionResults[row], certain)


class _ThreadCache(threading.local):
    """Cache of each thread, since a tree has the placements of the last check."""

    def __init__(self) -> None:
        self.cache: IdentityCache[MovingGeometries] = IdentityCache(size=MAX_CACHED)


_of_thread = _ThreadCache()


def moving_geometries(model: Any, geometry_model: GeometryModel) -> MovingGeometries:
    """Return the moving geometries of a geometry model, shared by the geometry models of a thread in which these, their
    placements, their pairs and the margins of these are equal."""
    count = geometry_model.moving_count
    arrays = (
        geometry_model.joints[:count],
        geometry_model.joint_T_geometry[:count],
        geometry_model.moving_pairs,
        geometry_model.moving_margins,
    )
    key = (tuple(geometry_model.geometries[:count]), *(array.tobytes() for array in arrays))
    return _of_thread.cache.get((model,), key, partial(MovingGeometries, model, geometry_model))


def widenings(sizes: list[float], pairs: Indices) -> Floats:
    """Return the `widening` of pairs of geometries (k, 2) with these sizes [m]: (k,) [m]."""
    if max(sizes, default=0.0) < LARGE:
        return np.zeros(len(pairs))
    return np.array([widening((sizes[i], sizes[j])) for i, j in pairs.tolist()]).reshape(-1)


def _widest_pairs(pairs: Indices, margins: Floats) -> dict[tuple[int, int], float]:
    """Return the pair with the largest margin of each geometry: Pinocchio inflates both boxes by half of it."""
    widest: dict[int, tuple[float, tuple[int, int]]] = {}
    for (i, j), margin in zip(pairs.tolist(), margins.tolist(), strict=True):
        for side in (i, j):
            if margin > widest.get(side, (0.0, (0, 0)))[0]:
                widest[side] = (margin, (i, j))
    return {pair: margin for margin, pair in widest.values()}


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


def certain_distance(margin: float, surface: bool, wider: float) -> float:
    """Return the distance below which a hit is a collision [m]; others are decided by their contacts."""
    if surface:
        return -math.inf if margin < TOUCHING or wider > 0.0 else math.inf
    return margin - DEEP if wider > 0.0 else math.inf


def hit_verdict(result: Any, certain: float) -> TreeVerdict:
    """Return the verdict for a hit of coal."""
    if certain == math.inf or (certain > -math.inf and result.getContact(0).penetration_depth < certain):
        return TreeVerdict.COLLIDES
    return TreeVerdict.UNSURE
