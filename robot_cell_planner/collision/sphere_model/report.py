"""Sphere models of all objects of a cell that can move, and a report of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ...model.cell import RobotCell
from ...model.geometry import Shape
from ...model.state import RobotCellState
from ..geometry.collision_geometry import collision_geometries, local_bounds
from .approximation import FINE_PROTRUSION, PROTRUSION
from .resolution import object_spheres
from .tolerance import protrusions

LONGEST_GRASPABLE = 0.4  # [m]
Progress = Callable[[str, int, int], None]  # an object that comes next, how many are done, and how many there are


def _silent(name: str, done: int, count: int) -> None:
    """Discard the progress."""


@dataclass(frozen=True)
class ObjectSphereModel:
    """Sphere model of one link, tool link ("tool/link") or body.

    Attributes:
        name: frame of the object.
        spheres: number of spheres.
        protrusion: maximum distance by which a sphere exceeds the collision geometries [m].
        pieces: number of parts checked by the proof.
        warning: reason if the spheres are coarser than requested, else "".
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


def prepare_sphere_models(
    cell: RobotCell,
    protrusion: float = PROTRUSION,
    bodies: Collection[str] | None = None,
    on_progress: Progress = _silent,
) -> SphereModelReport:
    """Prepare the sphere models of all links, tool links and bodies with collision shapes, so that no request waits.

    Fine models, with `FINE_PROTRUSION`, are prepared too; the report is about the others.

    Args:
        cell: cell with the shapes.
        protrusion: maximum protrusion for links near the base [m], see `tolerance.protrusions`.
        bodies: names of bodies to include; None: all. Stationary bodies are obstacles, which need no spheres, but they
            may be grasped later, see `graspable`.
        on_progress: called before each object with its name, the number of those that are done, and of all.

    Raises:
        GeometryError: a collision shape cannot be read.
    """
    began = time.perf_counter()
    shapes: dict[str, tuple[Shape, ...]] = {}
    for robot in cell.robots.values():
        shapes.update((link.name, link.collisions) for link in robot.mechanism.links.values())
    for tool in cell.tools.values():
        shapes.update((tool.frame_of(link.name), link.collisions) for link in tool.mechanism.links.values())
    wanted = cell.bodies if bodies is None else bodies
    shapes.update((body.name, body.collisions) for body in cell.bodies.values() if body.name in wanted)
    allowed, fine = protrusions(cell, protrusion), protrusions(cell, FINE_PROTRUSION)
    shapes = {name: found for name, found in shapes.items() if found}
    objects: list[ObjectSphereModel] = []
    # Kernels release the interpreter lock.
    with ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="sphere models") as threads:
        made = [
            (name, threads.submit(_sphere_models, name, found, allowed[name], fine[name]))
            for name, found in shapes.items()
        ]
        try:
            for name, future in made:
                on_progress(name, len(objects), len(shapes))
                objects.append(future.result())
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
    return SphereModelReport(tuple(objects), time.perf_counter() - began)


def graspable(cell: RobotCell, state: RobotCellState) -> tuple[str, ...]:
    """Return the bodies that are attached, and those small enough for a gripper: at most 0.4 m."""
    found = []
    for name, body in cell.bodies.items():
        if state.bodies[name].attached_to or _extent(body.collisions) <= LONGEST_GRASPABLE:
            found.append(name)
    return tuple(found)


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
