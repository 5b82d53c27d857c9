"""Objects that lie inside a closed surface of triangles, which is checked as a surface without interior."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..io.mesh.loading import MeshData, load_mesh
from ..kinematics.transforms import WorldTransforms
from ..model.cell import RobotCell
from ..model.geometry import Geometry, Mesh, MeshUse, Triangles
from ..model.state import RobotCellState
from .pairs.allowed_pairs import AllowedPairs, CheckedPair
from .pairs.objects import CollisionObject

Array = NDArray[np.float64]
AT_ONCE = 100_000  # faces whose angles are computed together, so that little memory is needed


def enclosed_objects(cell: RobotCell, state: RobotCellState, pairs: AllowedPairs) -> Iterator[tuple[str, str]]:
    """Yield the names of objects of which a point lies inside a closed surface of another one, with that, of the
    checked pairs. The engines only report those that touch the surface, too.

    Surfaces that are open, or whose faces are not all turned to one side, have no inside; the hollow of one with walls
    is outside.

    Raises:
        GeometryError: A mesh cannot be read.
    """
    transforms = WorldTransforms(cell, state)
    shown = [obj for obj in pairs.objects if not obj.hidden]
    points = np.array([_point(obj, transforms) for obj in shown]).reshape(-1, 3)
    for outer in shown:
        for shape in outer.shapes:
            geometry = shape.geometry
            if not (isinstance(geometry, Mesh | Triangles) and geometry.use is MeshUse.EXACT):
                continue
            mesh, placement = load_mesh(geometry), transforms.matrix(outer.name) @ shape.pose.matrix
            local = (points - placement[:3, 3]) @ placement[:3, :3]
            lower, upper = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
            for index in np.flatnonzero(((local > lower) & (local < upper)).all(axis=1)):
                inner = shown[index]
                if inner is outer or not isinstance(pairs.pair(inner.name, outer.name), CheckedPair):
                    continue
                if _is_closed(geometry) and winding_number(mesh, local[index]) > 0.5:
                    yield inner.name, outer.name


def _point(obj: CollisionObject, transforms: WorldTransforms) -> Array:
    """Return a point of an object in the world frame (3,) [m]."""
    shape = obj.shapes[0]
    point = np.append(_point_of(shape.geometry), 1.0)
    found: Array = (transforms.matrix(obj.name) @ shape.pose.matrix @ point)[:3]
    return found


def _point_of(geometry: Geometry) -> Array:
    """Return a point of a geometry in its frame (3,) [m]: the centre of a primitive, a corner of a mesh."""
    return load_mesh(geometry).vertices[0] if isinstance(geometry, Mesh | Triangles) else np.zeros(3)


@lru_cache(maxsize=1024)
def _is_closed(mesh: Mesh | Triangles) -> bool:
    """Return whether each edge of a mesh has two faces, turned to the same side. Equal points are one vertex."""
    data = load_mesh(mesh)
    vertex = np.unique(data.vertices, axis=0, return_inverse=True)[1].reshape(-1)
    faces = vertex[data.faces]
    edges = np.concatenate((faces[:, (0, 1)], faces[:, (1, 2)], faces[:, (2, 0)]))
    edges = edges[edges[:, 0] != edges[:, 1]]
    there, back = (np.unique(each, axis=0, return_counts=True) for each in (edges, edges[:, ::-1]))
    return bool(np.array_equal(there[0], back[0]) and np.array_equal(there[1], back[1]))


def winding_number(mesh: MeshData, point: Array) -> float:
    """Return how often a closed surface encloses a point (3,): 1 inside, 0 outside, -1 inside a surface whose faces are
    turned inwards. It is the sum of the solid angles of the faces (Van Oosterom and Strackee, IEEE Transactions on
    Biomedical Engineering, 1983)."""
    total = 0.0
    for begin in range(0, len(mesh.faces), AT_ONCE):
        corners = mesh.vertices[mesh.faces[begin : begin + AT_ONCE]] - point
        a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
        la, lb, lc = (np.linalg.norm(each, axis=1) for each in (a, b, c))
        volume = np.einsum("ij,ij->i", a, np.cross(b, c))
        dot_ab, dot_bc, dot_ca = (np.einsum("ij,ij->i", *each) for each in ((a, b), (b, c), (c, a)))
        total += 2.0 * float(np.arctan2(volume, la * lb * lc + dot_ab * lc + dot_bc * la + dot_ca * lb).sum())
    return total / (4.0 * math.pi)
