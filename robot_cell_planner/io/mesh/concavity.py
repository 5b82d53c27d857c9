"""Concavity of meshes: how much of a convex hull is not solid, and what a convex decomposition leaves of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...model.geometry import Mesh, Triangles
from .decomposition import convex_pieces
from .loading import MeshData, hull, load_mesh


@dataclass(frozen=True)
class Concavity:
    """Convex hull and convex pieces of a mesh.

    Attributes:
        volume: Volume of the hull [m3].
        filled: Fraction of the hull that the pieces leave free [0 to 1].
        pieces: Number of convex pieces.
    """

    volume: float
    filled: float
    pieces: int

    @property
    def gain(self) -> float:
        """Volume that the pieces leave free in the hull [m3]."""
        return self.filled * self.volume


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
    return Concavity(volume, max(filled, 0.0), len(pieces))


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
