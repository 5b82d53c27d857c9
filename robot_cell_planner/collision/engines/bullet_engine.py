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
from ...kinematics._kernels.chain_kernels import positions_and_quaternions
from ..geometry.collision_geometry import ConvexGeometry, Surface
from ..geometry.geometry_model import GeometryModel
from ..geometry.placements import GeometryPlacements
from .base import TOUCHING, DistanceResult, Floats
from .bullet_shapes import bullet_body

FAR = 1e5  # [m], larger than any distance in a cell
SHORTEST = 1e-5  # [m], distance whose normal is that of a plane between two geometries


class BulletEngine:
    """Bullet engine for the geometries of a `GeometryModel`. model: Pinocchio model of the joints."""

    name = "bullet"
    is_exact = False

    def __init__(self, model: Any, geometry_model: GeometryModel) -> None:
        self._model = model
        self._geometry_model = geometry_model
        self._poses = GeometryPlacements(
            model,
            geometry_model.joints[: geometry_model.moving_count],
            geometry_model.joint_T_geometry[: geometry_model.moving_count],
        )
        self._client = pybullet.connect(pybullet.DIRECT)
        if self._client < 0:
            raise InternalError("PyBullet has no client left", stage="collision")
        weakref.finalize(self, pybullet.disconnect, self._client)
        numbers = positions_and_quaternions(geometry_model.joint_T_geometry).tolist()
        self._bodies: list[tuple[int, ...]] = [
            (bullet_body(self._client, geometry, where),)
            for geometry, where in zip(geometry_model.geometries, numbers, strict=True)
        ]
        self._is_surface = [isinstance(geometry, Surface) for geometry in geometry_model.geometries]
        self._pieces: dict[int, tuple[int, ...]] = {}
        self._decompose_surfaces()
        self.decomposed = tuple(sorted({geometry_model.name_of(geometry) for geometry in self._pieces}))
        self._always = self._rigid_pairs_collide()

    def of_geometries(self, geometry_model: GeometryModel, rows: Sequence[int]) -> BulletEngine:
        return BulletEngine(self._model, geometry_model)

    def _decompose_surfaces(self) -> None:
        """Decompose one surface, a moving one, of each pair of two surfaces into convex pieces."""
        if not any(self._is_surface):
            return
        geometry_model = self._geometry_model
        pairs = [*geometry_model.moving_pairs.tolist(), *geometry_model.rigid_pairs.tolist()]
        for block in geometry_model.blocks:
            static = [geometry for geometry in block.static.tolist() if self._is_surface[geometry]]
            pairs.extend((moving, static[0]) for moving in block.moving.tolist() if static)
        for first, second in pairs:
            if self._is_surface[first] and self._is_surface[second] and first not in self._pieces:
                surface = geometry_model.geometries[first]
                assert isinstance(surface, Surface)
                pieces = convex_pieces(surface.source)
                where = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
                self._pieces[first] = tuple(bullet_body(self._client, ConvexGeometry(piece), where) for piece in pieces)

    def _rigid_pairs_collide(self) -> bool:
        geometry_model = self._geometry_model
        if not len(geometry_model.rigid_pairs):
            return False
        self.place(pin.neutral(self._model))
        pairs = zip(geometry_model.rigid_pairs.tolist(), geometry_model.rigid_margins.tolist(), strict=True)
        return any(self.contact(i, j, margin) is not None for (i, j), margin in pairs)

    def _put(self, geometry: int, numbers: list[float]) -> None:
        for body in (*self._bodies[geometry], *self._pieces.get(geometry, ())):
            pybullet.resetBasePositionAndOrientation(body, numbers[:3], numbers[3:], physicsClientId=self._client)

    def collides(self, q: Floats) -> bool:
        if self._always:
            return True
        near = self._geometry_model.candidates(self.place(q))
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
        self._numbers[: len(poses)] = positions_and_quaternions(poses).tolist()

    def _closest(self, first: int, second: int, margin: float) -> Any:
        """Return Bullet's deepest point of two geometries if they collide at a margin [m], else None."""
        deepest, lowest = None, margin - TOUCHING
        for point in self._points(first, second, margin):
            if point[8] < lowest:
                deepest, lowest = point, point[8]
        return deepest

    def _points(self, first: int, second: int, within: float) -> Sequence[Any]:
        """Return Bullet's closest points of two geometries that are at most `within` [m] apart."""
        for geometry in (first, second):
            numbers = self._numbers[geometry]
            if numbers is not None:
                self._put(geometry, numbers)
                self._numbers[geometry] = None
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
        return None if point is None else _distance_result(point)

    def separation(self, first: int, second: int, poses: Floats | None = None) -> tuple[float, Floats | None]:
        if poses is not None:
            self.place_at(poses[self._poses.rows])
        found = self.distance(first, second)
        # The pieces of a surface are not bounded by planes between the surfaces.
        is_plane = found.distance > SHORTEST and not (first in self._pieces or second in self._pieces)
        return found.distance, np.array(found.normal) if is_plane else None

    def distance(self, first: int, second: int) -> DistanceResult:
        points = self._points(first, second, FAR)
        if not points:
            names = tuple(self._geometry_model.name_of(geometry) for geometry in (first, second))
            raise InternalError(f"Bullet has no distance of {' and '.join(names)}", stage="collision", subjects=names)
        return _distance_result(min(points, key=_distance))


def _distance(point: Any) -> float:
    return float(point[8])


def _distance_result(point: Any) -> DistanceResult:
    """Convert a point; Bullet's normal already points from the second to the first body."""
    return DistanceResult(point[8], point[5], point[6], point[7])
