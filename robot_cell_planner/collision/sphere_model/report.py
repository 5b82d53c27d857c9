"""Sphere models of all objects of a cell that can move, and a report of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ...model.bodies import RigidBody
from ...model.cell import RobotCell
from ...model.geometry import Mesh, Shape, Triangles
from ...model.state import RobotCellState
from ...system.cache import IdentityCache
from ..geometry.collision_geometry import collision_geometries, local_bounds
from .approximation import FINE_PROTRUSION, PROTRUSION
from .resolution import estimated_spheres, has_stored_spheres, object_spheres
from .tolerance import protrusions

LONGEST_GRASPABLE = 0.4  # [m]
QUICK_SPHERES = 400  # maximum estimated number of spheres of a primitive whose model is computed within about 0.1 s
MAX_BODIES = 20_000  # whose extents are cached
Progress = Callable[[str, int, int], None]  # an object that comes next, how many are done, and how many there are


def _silent(name: str, done: int, count: int) -> None:
    """Discard the progress."""


@dataclass(frozen=True)
class ObjectSphereModel:
    """Sphere model of one link, tool link ("tool/link") or body.

    Attributes:
        name: Frame of the object.
        spheres: Number of spheres.
        protrusion: Maximum distance by which a sphere exceeds the collision geometries [m].
        pieces: Number of parts checked by the proof.
        warning: Reason if the spheres are coarser than requested, else "".
    """

    name: str
    spheres: int
    protrusion: float
    pieces: int
    warning: str = ""


@dataclass(frozen=True)
class SphereModelReport:
    """Sphere models of a cell, and the time to compute or load them [s]."""

    objects: tuple[ObjectSphereModel, ...]
    seconds: float

    @property
    def spheres(self) -> int:
        """Number of spheres of all objects."""
        return sum(obj.spheres for obj in self.objects)

    @property
    def protrusion(self) -> float:
        """Maximum protrusion of all objects [m]."""
        return max((obj.protrusion for obj in self.objects), default=0.0)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about objects whose spheres are coarser than requested, with the reason."""
        return tuple(obj.warning for obj in self.objects if obj.warning)


class PreparedObjects:
    """Objects that were prepared before: a change of a cell leaves most of them as they are."""

    def __init__(self) -> None:
        self._models: IdentityCache[ObjectSphereModel] = IdentityCache(size=MAX_BODIES, owners=MAX_BODIES)

    def model_of(
        self, name: str, shapes: tuple[Shape, ...], protrusion: float, fine: float
    ) -> ObjectSphereModel | None:
        """Return the model of an object; None if it was not prepared."""
        return self._models.find((shapes,), (name, protrusion, fine))

    def add(self, shapes: tuple[Shape, ...], protrusion: float, fine: float, model: ObjectSphereModel) -> None:
        """Note an object that was prepared."""
        self._models.get((shapes,), (model.name, protrusion, fine), lambda: model)


def prepare_sphere_models(
    cell: RobotCell,
    protrusion: float = PROTRUSION,
    bodies: Collection[str] | None = None,
    on_progress: Progress = _silent,
    prepared: PreparedObjects | None = None,
) -> SphereModelReport:
    """Prepare the sphere models of all links, tool links and bodies with collision shapes, so that no request waits.

    Fine models, with `FINE_PROTRUSION`, are prepared too; the report is about the others.

    Args:
        cell: Cell with the shapes.
        protrusion: Maximum protrusion for links near the base [m], see `tolerance.protrusions`.
        bodies: Names of bodies to include; None: all. Stationary bodies are obstacles, which need no spheres, but they
            may be grasped later, see `graspable`.
        on_progress: Called before each object with its name, the number of those that are done, and of all; not for
            those that were prepared before.
        prepared: Objects that were prepared before, which are only reported; the others are added.

    Raises:
        GeometryError: A collision shape cannot be read.
    """
    began = time.perf_counter()
    shapes = _shapes(cell, bodies)
    known = PreparedObjects() if prepared is None else prepared
    allowed, fine = protrusions(cell, protrusion), protrusions(cell, FINE_PROTRUSION)
    models = {name: known.model_of(name, found, allowed[name], fine[name]) for name, found in shapes.items()}
    done = sum(model is not None for model in models.values())
    # Kernels release the interpreter lock.
    with ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="sphere models") as threads:
        made = [
            (name, threads.submit(_sphere_models, name, shapes[name], allowed[name], fine[name]))
            for name, model in models.items()
            if model is None
        ]
        try:
            for name, future in made:
                on_progress(name, done, len(shapes))
                models[name] = model = future.result()
                known.add(shapes[name], allowed[name], fine[name], model)
                done += 1
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
    return SphereModelReport(tuple(filter(None, models.values())), time.perf_counter() - began)


def missing_sphere_models(
    cell: RobotCell, bodies: Collection[str] | None = None, prepared: PreparedObjects | None = None
) -> tuple[str, ...]:
    """Return the objects whose sphere models have to be computed, which takes up to a second for each.

    Arguments and errors are as in `prepare_sphere_models`. Primitives of few spheres do not count.
    """
    known = PreparedObjects() if prepared is None else prepared
    allowed, fine = protrusions(cell, PROTRUSION), protrusions(cell, FINE_PROTRUSION)
    return tuple(
        name
        for name, shapes in _shapes(cell, bodies).items()
        if known.model_of(name, shapes, allowed[name], fine[name]) is None
        and not all(has_stored_spheres(shapes, each) for each in (allowed[name], fine[name]))
        and not _is_quickly_computed(shapes, fine[name])
    )


def _is_quickly_computed(shapes: tuple[Shape, ...], protrusion: float) -> bool:
    if any(isinstance(shape.geometry, Mesh | Triangles) for shape in shapes):
        return False
    parts = tuple(geometry for shape in shapes for geometry in collision_geometries(shape.geometry))
    return estimated_spheres(parts, protrusion) <= QUICK_SPHERES


def _shapes(cell: RobotCell, bodies: Collection[str] | None) -> dict[str, tuple[Shape, ...]]:
    """Return the collision shapes of all links, tool links and the given bodies (None: all) that have any."""
    shapes: dict[str, tuple[Shape, ...]] = {}
    for robot in cell.robots.values():
        shapes.update((link.name, link.collisions) for link in robot.mechanism.links.values())
    for tool in cell.tools.values():
        shapes.update((tool.frame_of(link.name), link.collisions) for link in tool.mechanism.links.values())
    requested = cell.bodies if bodies is None else frozenset(bodies)
    shapes.update((body.name, body.collisions) for body in cell.bodies.values() if body.name in requested)
    return {name: found for name, found in shapes.items() if found}


def graspable(cell: RobotCell, state: RobotCellState) -> tuple[str, ...]:
    """Return the bodies that are attached, and those small enough for a gripper: at most 0.4 m."""
    found = []
    for name, body in cell.bodies.items():
        if state.bodies[name].attached_to or _extent_of(body) <= LONGEST_GRASPABLE:
            found.append(name)
    return tuple(found)


_extents: IdentityCache[float] = IdentityCache(size=MAX_BODIES, owners=MAX_BODIES)


def _extent_of(body: RigidBody) -> float:
    return _extents.get((body.collisions,), (), lambda: _extent(body.collisions))


def _extent(shapes: tuple[Shape, ...]) -> float:
    """Return the diagonal of the bounding box of shapes, in their parent frame [m]."""
    corners = [np.zeros((0, 3))]
    for shape in shapes:
        for geometry in collision_geometries(shape.geometry):
            box = np.stack(np.meshgrid(*zip(*local_bounds(geometry), strict=True)), axis=-1).reshape(-1, 3)
            corners.append(box @ shape.pose.matrix[:3, :3].T + shape.pose.matrix[:3, 3])
    points = np.concatenate(corners)
    return float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0


def _sphere_models(name: str, shapes: tuple[Shape, ...], protrusion: float, fine: float) -> ObjectSphereModel:
    """Compute both sphere models of an object, and describe the first."""
    found = object_spheres(shapes, protrusion)
    object_spheres(shapes, fine)
    return ObjectSphereModel(name, len(found.spheres), found.protrusion, found.pieces, found.warning(name))
