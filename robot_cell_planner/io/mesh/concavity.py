"""Concavity of meshes: how much of a convex hull is not solid, and what a convex decomposition leaves of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.geometry import Mesh, Triangles
from .decomposition import convex_pieces
from .loading import MeshData, hull, load_mesh
from .planar_faces import face_planes

MAX_POINTS = 5_000  # of the surface that are compared with the pieces
MAX_VALUES = 200_000  # distances at a time, which fit into the cache of a processor


@dataclass(frozen=True)
class Concavity:
    """Convex hull and convex pieces of a mesh.

    Attributes:
        volume: Volume of the hull [m3].
        filled: Fraction of the hull that the pieces leave free [0 to 1].
        pieces: Number of convex pieces.
        shortfall: Largest distance of a point of the surface from the pieces [m], an upper bound.
    """

    volume: float
    filled: float
    pieces: int
    shortfall: float


def concavity(mesh: Mesh | Triangles) -> Concavity:
    """Compare the hull of a mesh with its convex decomposition.

    The volumes of pieces are added, so that `filled` is a lower bound where they overlap. Hollow spaces that are closed
    count as solid, because the decomposition fills them.

    Raises:
        GeometryError: The mesh is flat, cannot be read, or cannot be decomposed.
    """
    whole, pieces = hull(mesh), convex_pieces(mesh)
    volume = mesh_volume(whole)
    filled = 1.0 - sum(mesh_volume(piece) for piece in pieces) / volume
    return Concavity(volume, max(filled, 0.0), len(pieces), _shortfall(load_mesh(mesh), pieces))


def closed_volume_fraction(mesh: Mesh | Triangles) -> float | None:
    """Return the volume of a mesh as a fraction of that of its hull; None if the mesh is not closed.

    Raises:
        GeometryError: The mesh is flat or cannot be read.
    """
    data = load_mesh(mesh)
    edges = np.vstack([data.faces[:, [i, (i + 1) % 3]] for i in range(3)]).astype(np.int64)
    size = len(data.vertices)
    forward, backward = edges[:, 0] * size + edges[:, 1], edges[:, 1] * size + edges[:, 0]
    if not np.array_equal(np.sort(forward), np.sort(backward)):
        return None
    return mesh_volume(data) / mesh_volume(hull(mesh))


def mesh_volume(data: MeshData) -> float:
    """Return the volume that the faces of a closed mesh enclose [m3]; positive if they point outwards."""
    corners = data.vertices[data.faces]
    return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))) / 6.0


def _shortfall(data: MeshData, pieces: tuple[MeshData, ...]) -> float:
    """Return the largest distance of vertices and centres of faces to the planes of the nearest piece."""
    points = np.vstack([data.vertices, data.vertices[data.faces].mean(axis=1)])
    if len(points) > MAX_POINTS:
        points = points[np.random.default_rng(0).choice(len(points), MAX_POINTS, replace=False)]
    outside = np.full(len(points), np.inf)
    for piece in pieces:
        left = np.flatnonzero(outside > 0.0)  # a point in a piece is not beyond all of them
        outside[left] = np.minimum(outside[left], _beyond(points[left], piece))
    return max(float(outside.max()), 0.0)


def _beyond(points: NDArray[np.float64], piece: MeshData) -> NDArray[np.float64]:
    """Return the signed distance (n,) of points to the plane of a convex piece that they are farthest beyond."""
    normals, offsets = face_planes(piece.vertices[piece.faces])
    size = max(1, MAX_VALUES // len(normals))
    result: NDArray[np.float64] = np.empty(len(points))
    for first in range(0, len(points), size):
        block = slice(first, first + size)
        result[block] = (points[block] @ normals.T - offsets).max(axis=1)
    return result
