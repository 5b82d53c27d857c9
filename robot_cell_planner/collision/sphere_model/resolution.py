"""Sphere approximations of whole objects, with a resolution that bounds the number of spheres.

A sphere that exceeds a sheet by p covers about p^2 of it, so a panel of 3 m2 would need 25,000 spheres at 10 mm. The
number of spheres is estimated from surface and volume before any sphere is computed; equal objects have equal spheres
in any process, independent of its speed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...errors import GeometryError
from ...model.geometry import Capsule, Shape, Sphere
from ..geometry.collision_geometry import CollisionGeometry, collision_geometries
from .approximation import SLACK, Floats, SphereApproximation, approximate, is_stored
from .polytopes import polytope_around

MAX_SPHERES = 1_000  # maximum estimated number of spheres of one object
SPHERES_PER_GEOMETRY = 16  # additional spheres for each of its collision geometries
MAX_PROTRUSION = 0.1  # [m], maximum of coarser spheres; beyond, a single sphere encloses the object
COARSER = 1.25  # ratio of one protrusion to the next finer one
# Spheres per area in units of protrusion², for thin geometries and for surfaces without interior. Measured: 0.33 to
# 0.43 for sheets, 0.05 for a cube of 60 protrusions.
DENSITY, SURFACE_DENSITY = 0.45, 0.75
DEPTH_FRACTION = 0.2  # fraction of the depth, in units of protrusion, by which deep geometries need fewer spheres


@dataclass(frozen=True, eq=False)
class ObjectSpheres:
    """Spheres of an object: centres and radii (n, 4) [m] in its frame; read-only.

    Attributes:
        spheres: The spheres.
        requested: Requested maximum protrusion [m].
        protrusion: Actual maximum protrusion [m].
        pieces: Number of parts checked by the proof.
        estimated: Estimated number of spheres at the requested protrusion.
        enclosed: Whether a single sphere encloses the object.
    """

    spheres: Floats
    requested: float
    protrusion: float
    pieces: int
    estimated: int
    enclosed: bool

    @property
    def is_coarser(self) -> bool:
        """Whether the spheres are coarser than requested."""
        return self.enclosed or self.protrusion > self.requested

    def description(self, name: str) -> str:
        """Return how far the spheres of an object with that name protrude."""
        if self.enclosed:
            return f"one sphere of radius {self.spheres[0, 3]:.2f} m represents {name}"
        return f"spheres of {name} protrude by up to {1000.0 * self.protrusion:.0f} mm"

    def warning(self, name: str) -> str:
        """Return a warning about coarse spheres of an object with that name; "" if there is none."""
        if not self.is_coarser:
            return ""
        return (
            f"{self.description(name)}, not {1000.0 * self.requested:g} mm, for which about {self.estimated} would be "
            f"needed (limit {MAX_SPHERES}); motions nearer to other objects are certified by exact distances alone, "
            "which takes longer; divided into several links or bodies, it would have finer spheres"
        )


@dataclass(eq=False)
class _Slot:
    """Place of the spheres of an object in memory; None until they are made."""

    found: ObjectSpheres | None = None


@lru_cache(maxsize=1024)
def _slot(shapes: tuple[Shape, ...], requested: float) -> _Slot:
    """Return the place of the spheres of shapes, one for equal arguments."""
    return _Slot()


def spheres_of_objects(objects: Sequence[tuple[tuple[Shape, ...], float]]) -> list[ObjectSpheres]:
    """Return `object_spheres` of the shapes and requested protrusion [m] of each object. Those that are not in memory
    are made on all processors: kernels release the interpreter lock.

    Raises:
        GeometryError: A collision shape cannot be read.
    """
    missing = [each for each in dict.fromkeys(objects) if _slot(*each).found is None]
    if len(missing) > 1:
        count = min(len(os.sched_getaffinity(0)), len(missing))
        with ThreadPoolExecutor(count, thread_name_prefix="sphere models") as threads:
            try:
                list(threads.map(lambda each: object_spheres(*each), missing))
            finally:
                threads.shutdown(wait=False, cancel_futures=True)
    return [object_spheres(*each) for each in objects]


def object_spheres(shapes: tuple[Shape, ...], requested: float) -> ObjectSpheres:
    """Return spheres that contain all shapes and exceed them by at most `requested` [m], or more for large objects.

    The protrusion is increased until the estimated number of spheres is at most 1,000, plus 16 for each collision
    geometry. If that requires more than 0.1 m, a single sphere encloses the object.

    Raises:
        GeometryError: A collision shape cannot be read.
    """
    slot = _slot(shapes, requested)
    if slot.found is None:
        slot.found = _object_spheres(shapes, requested)
    return slot.found


def _object_spheres(shapes: tuple[Shape, ...], requested: float) -> ObjectSpheres:
    placed = [(shape.pose.matrix, geometry) for shape in shapes for geometry in collision_geometries(shape.geometry)]
    parts = tuple(geometry for _, geometry in placed)
    poses = [pose for pose, _ in placed]
    approximations = _approximations(parts, requested)
    if approximations is not None:
        spheres = [moved_spheres(found.spheres, pose) for found, pose in zip(approximations, poses, strict=True)]
        protrusion = max((found.protrusion for found in approximations), default=0.0)
        pieces = sum(found.pieces for found in approximations)
    else:
        spheres = [_enclosing([moved_spheres(corners_of(geometry), pose) for pose, geometry in placed])]
        protrusion, pieces = float(spheres[0][0, 3]), len(parts)
    rows = np.concatenate([np.empty((0, 4)), *spheres])
    rows.setflags(write=False)
    return ObjectSpheres(
        rows, requested, protrusion, pieces, estimated_spheres(parts, requested), approximations is None
    )


@lru_cache(maxsize=1024)
def _approximations(parts: tuple[CollisionGeometry, ...], requested: float) -> tuple[SphereApproximation, ...] | None:
    """Return the approximations at the finest protrusion that bounds the number of spheres.

    None means that a single sphere should enclose the object.
    """
    allowed = MAX_SPHERES + SPHERES_PER_GEOMETRY * len(parts)
    protrusion = requested
    while True:
        if estimated_spheres(parts, protrusion) <= allowed:
            try:
                return tuple(approximate(geometry, protrusion) for geometry in parts)
            except GeometryError:  # the geometry needs many more spheres than estimated
                protrusion *= COARSER
        if protrusion * COARSER > MAX_PROTRUSION:
            return None
        protrusion = round(protrusion * COARSER, 6)


def has_stored_spheres(shapes: tuple[Shape, ...], requested: float) -> bool:
    """Return whether the spheres of an object only have to be loaded, not computed.

    Raises:
        GeometryError: A collision shape cannot be read.
    """
    parts = tuple(geometry for shape in shapes for geometry in collision_geometries(shape.geometry))
    protrusion = requested
    while estimated_spheres(parts, protrusion) > MAX_SPHERES + SPHERES_PER_GEOMETRY * len(parts):
        if protrusion * COARSER > MAX_PROTRUSION:
            return True  # one sphere
        protrusion = round(protrusion * COARSER, 6)
    return all(is_stored(geometry, protrusion) for geometry in parts)


def estimated_spheres(parts: tuple[CollisionGeometry, ...], protrusion: float) -> int:
    """Return the approximate number of spheres that contain geometries at a protrusion [m]."""
    return sum(_estimated(geometry, protrusion) for geometry in parts)


def _estimated(geometry: CollisionGeometry, protrusion: float) -> int:
    if isinstance(geometry, Sphere):
        return 1
    if isinstance(geometry, Capsule):
        return len(approximate(geometry, protrusion).spheres)
    area, depth, density = _measures(geometry)
    return math.ceil(density * area / (protrusion * (protrusion + DEPTH_FRACTION * depth)))


@lru_cache(maxsize=4096)
def _measures(geometry: CollisionGeometry) -> tuple[float, float, float]:
    """Return surface [m2], mean depth (3 volumes per surface) [m] and sphere density of a geometry."""
    polytope = polytope_around(geometry)
    simplices = polytope.simplices
    edges = simplices[:, 1:] - simplices[:, :1]
    area = 0.5 * float(np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1).sum())
    if polytope.is_surface:
        return area, 0.0, SURFACE_DENSITY
    volume = float(np.abs(np.linalg.det(edges)).sum()) / 6.0
    return area, 3.0 * volume / area if area > 0.0 else 0.0, DENSITY


def moved_spheres(spheres: Floats, pose: Floats) -> Floats:
    """Return spheres (n, 4) at a pose (4, 4)."""
    return np.column_stack((spheres[:, :3] @ pose[:3, :3].T + pose[:3, 3], spheres[:, 3]))


def corners_of(geometry: CollisionGeometry) -> Floats:
    """Return spheres (n, 4) whose convex hull contains a geometry; the radius of a corner is 0."""
    if isinstance(geometry, Sphere):
        return np.array([[0.0, 0.0, 0.0, geometry.radius]])
    if isinstance(geometry, Capsule):
        return np.array([[0.0, 0.0, side * 0.5 * geometry.length, geometry.radius] for side in (-1.0, 1.0)])
    corners = polytope_around(geometry).corners
    return np.column_stack((corners, np.zeros(len(corners))))


def _enclosing(corners: list[Floats]) -> Floats:
    """Return the sphere (1, 4) around the centre of the bounds that contains all corners, and so their hull."""
    points = np.concatenate(corners)
    middle = 0.5 * (points[:, :3].min(axis=0) + points[:, :3].max(axis=0))
    radius = float((np.linalg.norm(points[:, :3] - middle, axis=1) + points[:, 3]).max()) + SLACK
    return np.array([[*middle, radius]])
