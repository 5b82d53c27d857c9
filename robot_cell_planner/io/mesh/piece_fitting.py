"""Convex pieces of a decomposition, reduced to the part of the mesh that they contain.

V-HACD works on voxels: its pieces extend beyond the surface by up to two of them, which closes narrow gaps, such as
that between a fork and what turns in it. The hull of the part of the mesh in a piece lies within the piece and within
the hull of the mesh.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import GeometryError
from .loading import MeshData, convex_hull
from .planar_faces import face_planes

Floats = NDArray[np.float64]

# Both as fractions of the size of a mesh: points at most that far beyond a plane are below it, and points that are that
# close to each other are one, because Quickhull needs distinct points.
TOLERANCE, RESOLUTION = 1e-9, 1e-6
# Rays along z in these axes meet no edges and corners of meshes that are parallel to the axes.
_AXES = np.linalg.qr(np.array([[0.91, 0.23, 0.37], [-0.31, 0.87, 0.29], [-0.17, -0.41, 0.93]]))[0]


def fitted_pieces(pieces: tuple[MeshData, ...], data: MeshData) -> tuple[MeshData, ...]:
    """Return the convex hull of the part of a mesh in each piece.

    The part is the surface within the piece, and the corners of the piece that the mesh encloses. A piece whose part is
    flat stays as it is, and one that contains nothing of the mesh is left out.

    Args:
        pieces: Convex meshes with outward faces.
        data: The mesh. Where it is open, corners may count as not enclosed; the pieces cover its surface all the same.
    """
    triangles = data.vertices[data.faces]
    enclosed = _Enclosed(triangles)
    size = float(np.ptp(data.vertices, axis=0).max())
    found = []
    for piece in pieces:
        surface = _within(triangles, piece, TOLERANCE * size).reshape(-1, 3)
        part = np.vstack([surface, enclosed.of(piece.vertices)])
        if len(part):
            found.append(_hull_of(part, RESOLUTION * size, piece))
    return tuple(found) or pieces


def _hull_of(part: Floats, resolution: float, piece: MeshData) -> MeshData:
    """Return the hull of a part, or the piece itself where that is flat or too finely divided."""
    _, chosen = np.unique(np.round(part / resolution), axis=0, return_index=True)
    try:
        return convex_hull(part[chosen], "a piece")
    except GeometryError:
        return piece


def _within(triangles: Floats, piece: MeshData, tolerance: float) -> Floats:
    """Return triangles (k, 3, 3) that cover the part of given ones in a convex piece."""
    normals, offsets = face_planes(piece.vertices[piece.faces])
    low, high = piece.vertices.min(axis=0), piece.vertices.max(axis=0)
    reaches = (triangles.min(axis=1) <= high + tolerance) & (triangles.max(axis=1) >= low - tolerance)
    part: Floats = triangles[reaches.all(axis=1)]
    for normal, offset in zip(normals, offsets, strict=True):
        part = _below(part, part @ normal - (offset + tolerance))
    return part


def _below(triangles: Floats, heights: Floats) -> Floats:
    """Return triangles that cover the part of given ones on or below a plane; heights: of their corners (n, 3)."""
    is_below = heights <= 0.0
    count = is_below.sum(axis=1)
    parts = [triangles[count == 3]]
    for below in (1, 2):
        chosen = count == below
        # The corner that is alone on its side of the plane comes first.
        alone = np.argmax(is_below[chosen] == (below == 1), axis=1)
        order = (alone[:, None] + np.arange(3)) % 3
        first, second, third = np.take_along_axis(triangles[chosen], order[:, :, None], axis=1).transpose(1, 0, 2)
        height = np.take_along_axis(heights[chosen], order, axis=1)
        left, right = (
            first + (height[:, 0] / (height[:, 0] - height[:, i]))[:, None] * (end - first)
            for i, end in ((1, second), (2, third))
        )
        if below == 1:
            parts.append(np.stack([first, left, right], axis=1))
        else:
            parts += [np.stack([left, second, third], axis=1), np.stack([left, third, right], axis=1)]
    return np.concatenate(parts)


class _Enclosed:
    """Finds the points that triangles enclose, by the faces that a ray from each point passes inwards and outwards."""

    def __init__(self, triangles: Floats) -> None:
        self._triangles = triangles @ _AXES
        self._low, self._high = self._triangles.min(axis=1), self._triangles.max(axis=1)

    def of(self, points: Floats) -> Floats:
        """Return those of points (n, 3) that are enclosed."""
        inside = [self._crossings(point) != 0 for point in points @ _AXES]
        return points[inside]

    def _crossings(self, point: Floats) -> int:
        """Return how many more faces a ray along z passes outwards than inwards."""
        near = (self._low[:, :2] <= point[:2]).all(axis=1) & (self._high >= point).all(axis=1)
        a, b, c = (self._triangles[near] - point).transpose(1, 0, 2)
        areas = np.stack([p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0] for p, q in ((b, c), (c, a), (a, b))])
        total = areas.sum(axis=0)
        hit = ((areas > 0.0).all(axis=0) | (areas < 0.0).all(axis=0)) & (total != 0.0)
        height = np.einsum("ij,ij->j", areas[:, hit], np.stack([a, b, c])[:, hit, 2])
        outwards = np.sign(total[hit])
        return int(outwards[height * outwards > 0.0].sum())
