"""Collision checks by Bullet, in a client of PyBullet without a display.

Every solid is a body of its own, so that each pair of the rule book can be asked for by itself, margins
included, and no flag or filter of Bullet decides what is checked. Poses come from Pinocchio. PyBullet finds
no contact between two surfaces of triangles: of such a pair, one is decomposed into convex pieces.
"""

from __future__ import annotations

import weakref
from typing import Any

import pinocchio as pin
import pybullet

from ..errors import InternalError
from .bullet_shapes import bullet_body
from .decomposition import convex_pieces
from .engine import TOUCHING, Floats, Witness
from .shape_table import ShapeTable
from .solids import ConvexSolid, Surface

FAR = 1e5  # [m], beyond any two things of a cell


class BulletEngine:
    """Bullet on the solids of a table; `model` is the Pinocchio model whose joints the table names."""

    name = "bullet"

    def __init__(self, model: Any, table: ShapeTable) -> None:
        self._model = model
        self._data = model.createData()
        self._table = table
        self._client = pybullet.connect(pybullet.DIRECT)
        if self._client < 0:
            raise InternalError("PyBullet has no client left", stage="collision")
        weakref.finalize(self, pybullet.disconnect, self._client)
        self._bodies: list[tuple[int, ...]] = [(bullet_body(self._client, solid),) for solid in table.solids]
        self._is_surface = [isinstance(solid, Surface) for solid in table.solids]
        self._pieces: dict[int, tuple[int, ...]] = {}
        self._decompose_surfaces()
        self.decomposed = tuple(sorted({table.book.owners[table.owners[solid]].name for solid in self._pieces}))
        for solid in range(table.moving_count, len(table.solids)):
            self._put(solid, pin.SE3(table.joint_T_solid[solid]))
        self._always = self._rigid_pairs_collide()

    def _decompose_surfaces(self) -> None:
        """Convex pieces for one side of each pair of surfaces: one that moves."""
        if not any(self._is_surface):
            return
        table = self._table
        pairs = [*table.moving_pairs.tolist(), *table.rigid_pairs.tolist()]
        for block in table.blocks:
            static = [solid for solid in block.static.tolist() if self._is_surface[solid]]
            pairs.extend((moving, static[0]) for moving in block.moving.tolist() if static)
        for first, second in pairs:
            if self._is_surface[first] and self._is_surface[second] and first not in self._pieces:
                surface = table.solids[first]
                assert isinstance(surface, Surface)
                pieces = convex_pieces(surface.source)
                self._pieces[first] = tuple(bullet_body(self._client, ConvexSolid(piece)) for piece in pieces)

    def _rigid_pairs_collide(self) -> bool:
        table = self._table
        if not len(table.rigid_pairs):
            return False
        self.place(pin.neutral(self._model))
        pairs = zip(table.rigid_pairs.tolist(), table.rigid_margins.tolist(), strict=True)
        return any(self.contact(i, j, margin) is not None for (i, j), margin in pairs)

    def _put(self, solid: int, pose: Any) -> None:
        numbers = pin.SE3ToXYZQUAT(pose).tolist()
        for body in (*self._bodies[solid], *self._pieces.get(solid, ())):
            pybullet.resetBasePositionAndOrientation(body, numbers[:3], numbers[3:], physicsClientId=self._client)

    def collides(self, q: Floats) -> bool:
        if self._always:
            return True
        near = self._table.candidates(self.place(q))
        pairs = zip(near.first.tolist(), near.second.tolist(), near.margins.tolist(), strict=True)
        return any(self._closest(i, j, margin) is not None for i, j, margin in pairs)

    def place(self, q: Floats) -> Floats:
        pin.forwardKinematics(self._model, self._data, q)
        poses = self._table.poses(self._data.oMi)
        self.place_at(poses)
        return poses

    def place_at(self, poses: Floats) -> None:
        self._poses = poses
        self._elsewhere = set(range(self._table.moving_count))

    def _ensure_placed(self, solid: int) -> None:
        """Bring Bullet's body to where its solid is; most are near nothing, and never asked about."""
        if solid in self._elsewhere:
            self._elsewhere.remove(solid)
            self._put(solid, pin.SE3(self._poses[solid]))

    def _closest(self, first: int, second: int, margin: float) -> Any:
        """Bullet's deepest point of two solids if they collide at a margin [m], else None."""
        points = self._points(first, second, margin)
        deepest = min(points, key=_distance, default=None)
        return deepest if deepest is not None and _distance(deepest) < margin - TOUCHING else None

    def _points(self, first: int, second: int, within: float) -> list[Any]:
        self._ensure_placed(first)
        self._ensure_placed(second)
        firsts, seconds = self._bodies[first], self._bodies[second]
        if self._is_surface[first] and self._is_surface[second]:
            firsts, seconds = self._pieces.get(first, firsts), self._pieces.get(second, seconds)
        found: list[Any] = []
        for one in firsts:
            for other in seconds:
                found.extend(pybullet.getClosestPoints(one, other, within, physicsClientId=self._client))
        return found

    def contact(self, first: int, second: int, margin: float) -> Witness | None:
        point = self._closest(first, second, margin)
        return None if point is None else _witness(point)

    def distance(self, first: int, second: int) -> Witness:
        return _witness(min(self._points(first, second, FAR), key=_distance))


def _distance(point: Any) -> float:
    return float(point[8])


def _witness(point: Any) -> Witness:
    """Bullet's normal points from the second to the first body already."""
    return Witness(point[8], point[5], point[6], point[7])
