"""Visual geometry of a cell: the visible parts of every link, tool link and body, with their colours."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError, GeometryError, LimitExceededError
from ..io.mesh.content import mesh_content
from ..io.mesh.loading import load_mesh
from ..io.mesh.process import parse_painted
from ..model.cell import RobotCell
from ..model.geometry import Geometry, Mesh, Rgba, Shape, Triangles
from ..model.mechanism import Link

LINK_COLOUR: Rgba = (0.74, 0.76, 0.79, 1.0)
BODY_COLOUR: Rgba = (0.60, 0.63, 0.68, 1.0)
MAX_TRIANGLES = 60_000  # per mesh; finer meshes are simplified
FORMATS_WITH_MATERIALS = (".dae", ".glb", ".gltf", ".obj")

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles of one colour.

    Attributes:
        vertices: (n, 3) [m].
        faces: (m, 3) vertex indices.
        rgba: Colour; None if the file specifies none.
    """

    vertices: NDArray[np.float64]
    faces: NDArray[np.int32]
    rgba: Rgba | None = None


@dataclass(frozen=True)
class VisibleObject:
    """Object that moves as a unit.

    Attributes:
        frame: Its frame in the cell.
        object_name: Robot, tool or body that it belongs to.
        kind: "link", "tool link" or "body".
        shapes: Visual shapes, each in the frame and with a colour; the collision shapes if there are none.
        collisions: Collision shapes, in the frame.
    """

    frame: str
    object_name: str
    kind: str
    shapes: tuple[tuple[Shape, Rgba | None], ...]
    collisions: tuple[Shape, ...] = ()


def visible_objects(cell: RobotCell) -> Iterator[VisibleObject]:
    """Return all links, tool links and bodies with shapes, in the order of the cell."""
    for robot in cell.robots.values():
        for link in robot.mechanism.links.values():
            if shapes := _link_shapes(link):
                yield VisibleObject(link.name, robot.name, "link", shapes, link.collisions)
    for tool in cell.tools.values():
        for link in tool.mechanism.links.values():
            if shapes := _link_shapes(link):
                yield VisibleObject(tool.frame_of(link.name), tool.name, "tool link", shapes, link.collisions)
    for body in cell.bodies.values():
        shapes = _coloured(body.visuals or body.collisions, BODY_COLOUR)
        yield VisibleObject(body.name, body.name, "body", shapes, body.collisions)


def _link_shapes(link: Link) -> tuple[tuple[Shape, Rgba | None], ...]:
    return _coloured(link.visuals or link.collisions, LINK_COLOUR)


def _coloured(shapes: tuple[Shape, ...], default: Rgba) -> tuple[tuple[Shape, Rgba | None], ...]:
    """Return a colour for each shape; None for the materials of a mesh file."""

    def colour(geometry: Geometry) -> Rgba | None:
        return None if isinstance(geometry, Mesh) else default

    return tuple((shape, shape.rgba or colour(shape.geometry)) for shape in shapes)


@lru_cache(maxsize=256)
def surfaces(mesh: Mesh | Triangles) -> tuple[Surface, ...]:
    """Return the triangles of a mesh, grouped by colour; none of a file that cannot be read, with a warning in the log,
    since the rest of the cell can be shown without it."""
    try:
        return _read_surfaces(mesh)
    except (GeometryError, FileError, LimitExceededError) as error:
        log.warning("%s; the mesh is not shown", error)
        return ()


def _read_surfaces(mesh: Mesh | Triangles) -> tuple[Surface, ...]:
    data = load_mesh(mesh)  # refuses malformed or changed files
    if isinstance(mesh, Triangles) or Path(mesh.path).suffix.lower() not in FORMATS_WITH_MATERIALS:
        return (coarsened(Surface(data.vertices, data.faces)),)
    return tuple(coarsened(surface) for surface in _painted(mesh))


def _painted(mesh: Mesh) -> Iterator[Surface]:
    content = mesh_content(mesh.path)
    if hashlib.sha256(content).hexdigest() != mesh.digest:
        raise GeometryError(f"{mesh.path} has changed since the cell was read", subjects=(mesh.path,))
    inside_out = np.prod(mesh.scale) < 0.0
    for vertices, faces, colour in parse_painted(content, Path(mesh.path).suffix[1:].lower(), mesh.path):
        yield Surface(vertices * np.array(mesh.scale), faces[:, ::-1] if inside_out else faces, colour)


def coarsened(surface: Surface, max_triangles: int = MAX_TRIANGLES) -> Surface:
    """Simplify a surface to at most `max_triangles` triangles, by merging vertices on a grid of increasing size.

    Source: Rossignac and Borrel, Multi-resolution 3D approximations for rendering complex scenes, 1993.
    """
    vertices, faces = surface.vertices, surface.faces
    step = float(np.ptp(surface.vertices, axis=0).max()) / 1024.0
    while len(faces) > max_triangles:
        cells = np.round(surface.vertices / step).astype(np.int64)
        _, first, inverse = np.unique(cells, axis=0, return_index=True, return_inverse=True)
        vertices = surface.vertices[first]
        faces = inverse.reshape(-1)[surface.faces].astype(np.int32)
        a, b, c = faces.T
        faces = faces[(a != b) & (b != c) & (c != a)]
        step *= 1.5
    return Surface(vertices, faces, surface.rgba)
