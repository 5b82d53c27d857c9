"""Covers of everything in a cell that can move, and a report of them."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ...model.cell import RobotCell
from ...model.geometry import Shape
from ...model.state import RobotCellState
from ..geometry.collision_geometry import local_bounds, solids
from .approximation import PROTRUSION
from .resolution import object_spheres
from .tolerance import protrusions

LONGEST_GRASPABLE = 0.4  # [m]


@dataclass(frozen=True)
class ObjectSphereModel:
    """The cover of one link, tool link ("tool/link") or body: how many balls, how far they stick out of its solids
    [m], how many parts the proof looked at, and a warning where they are coarser than requested, else ""."""

    name: str
    spheres: int
    protrusion: float
    pieces: int
    warning: str = ""


@dataclass(frozen=True)
class SphereModelReport:
    """The covers of a cell, and how long they took, made or read from disk [s]."""

    owners: tuple[ObjectSphereModel, ...]
    seconds: float

    @property
    def spheres(self) -> int:
        return sum(owner.spheres for owner in self.owners)

    @property
    def protrusion(self) -> float:
        """The largest of any owner [m]."""
        return max((owner.protrusion for owner in self.owners), default=0.0)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Which objects have coarser spheres than requested, and why."""
        return tuple(owner.warning for owner in self.owners if owner.warning)


def cover_cell(
    cell: RobotCell, protrusion: float = PROTRUSION, bodies: Collection[str] | None = None
) -> SphereModelReport:
    """Cover all links, tool links and bodies of a cell that have collision shapes, so that no request waits for it.

    protrusion: of links near the base [m], see `fineness`. bodies: those to cover; None: all. Bodies that nothing
    carries are obstacles, which need no cover; but what stands about now may be gripped
    later, see `graspable`.

    Raises:
        GeometryError: a shape cannot be read.
    """
    began = time.perf_counter()
    shapes: dict[str, tuple[Shape, ...]] = {}
    for robot in cell.robots.values():
        shapes.update((link.name, link.collisions) for link in robot.mechanism.links.values())
    for tool in cell.tools.values():
        shapes.update((tool.frame_of(link.name), link.collisions) for link in tool.mechanism.links.values())
    wanted = cell.bodies if bodies is None else bodies
    shapes.update((body.name, body.collisions) for body in cell.bodies.values() if body.name in wanted)
    fineness = protrusions(cell, protrusion)
    owners = tuple(_owner_cover(name, found, fineness[name]) for name, found in shapes.items() if found)
    return SphereModelReport(owners, time.perf_counter() - began)


def graspable(cell: RobotCell, state: RobotCellState) -> tuple[str, ...]:
    """Bodies that something carries, and those that a gripper may come to carry: no longer than 0.4 m."""
    found = []
    for name, body in cell.bodies.items():
        if state.bodies[name].attached_to or _extent(body.collisions) <= LONGEST_GRASPABLE:
            found.append(name)
    return tuple(found)


def _extent(shapes: tuple[Shape, ...]) -> float:
    """Diagonal of the box around shapes, in the frame that they are written in [m]."""
    corners = [np.zeros((0, 3))]
    for shape in shapes:
        for solid in solids(shape.geometry):
            box = np.stack(np.meshgrid(*zip(*local_bounds(solid), strict=True)), axis=-1).reshape(-1, 3)
            corners.append(box @ shape.pose.matrix[:3, :3].T + shape.pose.matrix[:3, 3])
    points = np.concatenate(corners)
    return float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0


def _owner_cover(name: str, shapes: tuple[Shape, ...], protrusion: float) -> ObjectSphereModel:
    found = object_spheres(shapes, protrusion)
    return ObjectSphereModel(name, len(found.balls), found.protrusion, found.pieces, found.warning(name))
