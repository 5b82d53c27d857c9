"""Covers of everything in a cell that can move, and a report of them."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ...cell.cell import RobotCell
from ...cell.geometry import Shape
from ..solids import solids
from .cover import PROTRUSION, Floats, cover


@dataclass(frozen=True)
class OwnerCover:
    """The cover of one link, tool link ("tool/link") or body: how many balls, how far they stick out of its solids
    [m], and how many parts the proof looked at."""

    name: str
    spheres: int
    protrusion: float
    pieces: int


@dataclass(frozen=True)
class CoverReport:
    """The covers of a cell, and how long they took, made or read from disk [s]."""

    owners: tuple[OwnerCover, ...]
    seconds: float

    @property
    def spheres(self) -> int:
        return sum(owner.spheres for owner in self.owners)

    @property
    def protrusion(self) -> float:
        """The largest of any owner [m]."""
        return max((owner.protrusion for owner in self.owners), default=0.0)


def cover_cell(cell: RobotCell, protrusion: float = PROTRUSION) -> CoverReport:
    """Cover all links, tool links and bodies of a cell that have collision shapes, so that no request waits for it.

    Bodies that nothing carries are obstacles, which need no cover; but what stands about now may be gripped later.

    Raises:
        GeometryError: a shape cannot be read or covered.
    """
    began = time.perf_counter()
    shapes: dict[str, tuple[Shape, ...]] = {}
    for robot in cell.robots.values():
        shapes.update((link.name, link.collisions) for link in robot.mechanism.links.values())
    for tool in cell.tools.values():
        shapes.update((tool.frame_of(link.name), link.collisions) for link in tool.mechanism.links.values())
    shapes.update((body.name, body.collisions) for body in cell.bodies.values())
    owners = tuple(_owner_cover(name, found, protrusion) for name, found in shapes.items() if found)
    return CoverReport(owners, time.perf_counter() - began)


def _owner_cover(name: str, shapes: tuple[Shape, ...], protrusion: float) -> OwnerCover:
    covers = [cover(solid, protrusion) for shape in shapes for solid in solids(shape.geometry)]
    balls = sum(len(found.balls) for found in covers)
    return OwnerCover(name, balls, max(c.protrusion for c in covers), sum(c.pieces for c in covers))


def placed_balls(shapes: tuple[Shape, ...], protrusion: float) -> Floats:
    """Balls (n, 4) that hold all shapes, in the frame that they are written in."""
    found = [np.empty((0, 4))]
    for shape in shapes:
        pose = shape.pose.matrix
        for solid in solids(shape.geometry):
            balls = cover(solid, protrusion).balls
            centres = balls[:, :3] @ pose[:3, :3].T + pose[:3, 3]
            found.append(np.column_stack((centres, balls[:, 3])))
    return np.concatenate(found)
