"""Collision engine Bullet, in a PyBullet client without display.

Every collision geometry is a body of its own, so that each allowed pair is queried separately with its margin, and no
collision flag or filter of Bullet applies. Poses are computed by Pinocchio. PyBullet finds no contact between two
triangle surfaces: one surface of such a pair is decomposed into convex pieces.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin
import pybullet

from ...errors import InternalError
from ...io.mesh.decomposition import convex_pieces
from ..geometry.collision_geometry import ConvexGeometry, Surface
from ..geometry.geometry_model import GeometryModel
from ..geometry.placements import GeometryPlacements
from .base import TOUCHING, DistanceResult, Floats
from .bullet_poses import pose_numbers
from .bullet_shapes import bullet_body

FAR = 1e5  # [m], larger than any distance in a cell


class BulletEngine:
    """Bullet engine for the geometries of a `GeometryModel`. model: Pinocchio model of the joints."""

    name = "bullet"

    def __init__(self, model: Any, table: GeometryModel) -> None:
        self._model = model
        self._table = table
        self._poses = GeometryPlacements(
            model, table.joints[: table.moving_count], table.joint_T_solid[: table.moving_count]
        )
        self._client = pybullet.connect(pybullet.DIRECT)
        if self._client < 0:
            raise InternalError("PyBullet has no client left", stage="collision")
        weakref.finalize(self, pybullet.disconnect, self._client)
        numbers = pose_numbers(table.joint_T_solid).tolist()
        self._bodies: list[tuple[int, ...]] = [
            (bullet_body(self._client, solid, where),) for solid, where in zip(table.solids, numbers, strict=True)
        ]
        self._is_surface = [isinstance(solid, Surface) for solid in table.solids]
        self._pieces: dict[int, tuple[int, ...]] = {}
        self._decompose_surfaces()
        self.decomposed = tuple(sorted({table.name_of(solid) for solid in self._pieces}))
        self._always = self._rigid_pairs_collide()

    def _decompose_surfaces(self) -> None:
        """Decompose one surface, a moving one, of each pair of two surfaces into convex pieces."""
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
                where = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
                self._pieces[first] = tuple(bullet_body(self._client, ConvexGeometry(piece), where) for piece in pieces)

    def _rigid_pairs_collide(self) -> bool:
        table = self._table
        if not len(table.rigid_pairs):
            return False
        self.place(pin.neutral(self._model))
        pairs = zip(table.rigid_pairs.tolist(), table.rigid_margins.tolist(), strict=True)
        return any(self.contact(i, j, margin) is not None for (i, j), margin in pairs)

    def _put(self, solid: int, numbers: list[float]) -> None:
        for body in (*self._bodies[solid], *self._pieces.get(solid, ())):
            pybullet.resetBasePositionAndOrientation(body, numbers[:3], numbers[3:], physicsClientId=self._client)

    def collides(self, q: Floats) -> bool:
        if self._always:
            return True
        near = self._table.candidates(self.place(q))
        # Check overlapping boxes first, since these pairs are likely to collide.
        order = np.argsort(near.gaps, kind="stable")
        pairs = zip(near.first[order].tolist(), near.second[order].tolist(), near.margins[order].tolist(), strict=True)
        return any(self._closest(i, j, margin) is not None for i, j, margin in pairs)

    def place(self, q: Floats) -> Floats:
        poses = self._poses.at(q)
        self.place_at(poses)
        return poses

    def poses(self, configurations: Floats) -> Floats:
        return self._poses.along(configurations)

    def place_at(self, poses: Floats) -> None:
        # Bodies are placed lazily when they are queried, since most are never near another one.
        self._numbers: list[list[float] | None] = [None] * len(self._bodies)
        self._numbers[: len(poses)] = pose_numbers(poses).tolist()

    def _closest(self, first: int, second: int, margin: float) -> Any:
        """Return Bullet's deepest point of two geometries if they collide at a margin [m], else None."""
        deepest, least = None, margin - TOUCHING
        for point in self._points(first, second, margin):
            if point[8] < least:
                deepest, least = point, point[8]
        return deepest

    def _points(self, first: int, second: int, within: float) -> Sequence[Any]:
        """Return Bullet's closest points of two geometries that are at most `within` [m] apart."""
        for solid in (first, second):
            numbers = self._numbers[solid]
            if numbers is not None:
                self._put(solid, numbers)
                self._numbers[solid] = None
        firsts, seconds = self._bodies[first], self._bodies[second]
        if self._pieces and self._is_surface[first] and self._is_surface[second]:
            firsts, seconds = self._pieces.get(first, firsts), self._pieces.get(second, seconds)
        found = [
            pybullet.getClosestPoints(one, other, within, physicsClientId=self._client)
            for one in firsts
            for other in seconds
        ]
        return found[0] if len(found) == 1 else [point for points in found for point in points]

    def contact(self, first: int, second: int, margin: float) -> DistanceResult | None:
        point = self._closest(first, second, margin)
        return None if point is None else _witness(point)

    def separation(self, first: int, second: int) -> float:
        return self.distance(first, second).distance

    def distance(self, first: int, second: int) -> DistanceResult:
        points = self._points(first, second, FAR)
        if not points:
            names = tuple(self._table.name_of(solid) for solid in (first, second))
            raise InternalError(f"Bullet has no distance of {' and '.join(names)}", stage="collision", subjects=names)
        return _witness(min(points, key=_distance))


def _distance(point: Any) -> float:
    return float(point[8])


def _witness(point: Any) -> DistanceResult:
    """Convert a point; Bullet's normal already points from the second to the first body."""
    return DistanceResult(point[8], point[5], point[6], point[7])
