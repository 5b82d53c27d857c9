"""Check of collision meshes that are used by their triangles, or decomposed: whether their surfaces are closed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePath

import numpy as np

from ..errors import RobotCellError
from ..io.mesh.loading import load_mesh
from ..model.cell import RobotCell
from ..model.geometry import Mesh, MeshUse, Shape, Triangles
from ..model.name_suggestions import listed
from ..system.physics import beyond_bullet
from .finding import WARNING, Finding

CONSEQUENCES = {
    MeshUse.DECOMPOSITION: "convex pieces may leave parts of its inside free or fill hollows",
    MeshUse.EXACT: "neither its inside nor the direction of its faces is known",
}
FEWER = "Its simulation does not start: use a mesh with fewer faces, or its hull (use: hull)."
REMEDY = "Repair the mesh: close its holes, merge its vertices and delete doubled faces; or check it as its hull."


def surface_findings(cell: RobotCell) -> Iterator[Finding]:
    """Find meshes that are not hulls and have edges of three, five or more faces, or if they are decomposed, edges of
    one face. An open surface is of use by its triangles, as a sheet. Meshes that cannot be read are left out."""
    for use, consequence in CONSEQUENCES.items():
        found = []
        for name, shapes in _collision_shapes(cell):
            for geometry in (shape.geometry for shape in shapes):
                if isinstance(geometry, Mesh | Triangles) and geometry.use is use and (count := _wrong_edges(geometry)):
                    mesh = PurePath(geometry.uri).name if isinstance(geometry, Mesh) else "triangles"
                    found.append(f"{mesh} of {name} ({count} edges)")
        if found:
            text = f"meshes of use `{use.value}` whose surface is not closed or branches, so that {consequence}"
            yield Finding(WARNING, "meshes", f"{text}: {listed(found)}", REMEDY)


def size_findings(cell: RobotCell) -> Iterator[Finding]:
    """Find bodies with meshes of use `exact` that are too large to be simulated by PyBullet."""
    for body in cell.bodies.values():
        for geometry in (shape.geometry for shape in body.collisions):
            if not isinstance(geometry, Mesh | Triangles) or geometry.use is not MeshUse.EXACT:
                continue
            if excess := beyond_bullet(*_counts(geometry)):
                yield Finding(WARNING, "simulation", f"a mesh of body {body.name} {excess}", FEWER)


def _counts(mesh: Mesh | Triangles) -> tuple[int, int]:
    """Return the numbers of vertices and faces of a mesh; 0 of one that cannot be read."""
    try:
        data = load_mesh(mesh)
    except RobotCellError:
        return 0, 0  # reported with the state
    return len(data.vertices), len(data.faces)


def _collision_shapes(cell: RobotCell) -> Iterator[tuple[str, tuple[Shape, ...]]]:
    """Yield the names and collision shapes of all links, tool links and bodies."""
    for robot in cell.robots.values():
        yield from ((link.name, link.collisions) for link in robot.mechanism.links.values())
    for tool in cell.tools.values():
        yield from ((tool.frame_of(link.name), link.collisions) for link in tool.mechanism.links.values())
    yield from ((body.name, body.collisions) for body in cell.bodies.values())


@lru_cache(maxsize=1024)
def _wrong_edges(mesh: Mesh | Triangles) -> int:
    """Return the number of edges with an odd number of faces; an edge of one face counts only in a decomposition.

    Solids that touch at an edge have four faces there. Equal points are one vertex.
    """
    try:
        data = load_mesh(mesh)
    except RobotCellError:
        return 0  # reported with the state
    vertex = np.unique(data.vertices, axis=0, return_inverse=True)[1].reshape(-1)
    faces = vertex[data.faces]
    edges = np.sort(np.concatenate((faces[:, :2], faces[:, 1:], faces[:, ::2])), axis=1)
    counts = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0, return_counts=True)[1]
    wrong = counts % 2 == 1
    return int(np.count_nonzero(wrong if mesh.use is MeshUse.DECOMPOSITION else wrong & (counts > 1)))
