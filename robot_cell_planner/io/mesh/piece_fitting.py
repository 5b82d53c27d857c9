"""Convex pieces of a decomposition, reduced to their part of the mesh and extended to cover its surface.

V-HACD works on voxels: its pieces extend beyond the surface by up to two of them, which closes narrow gaps, such as
that between a fork and what turns in it. The hull of the part of the mesh in a piece lies within the piece and within
the hull of the mesh. Elsewhere the surface extends beyond all pieces, and motions that are free for them would collide.
What no piece contains is added to the part of the nearest one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import GeometryError
from .hull_division import distinct_points, divided_hull
from .loading import MeshData, convex_hull
from .planar_faces import distances_beyond
from .triangle_clipping import triangles_outside, triangles_within

Floats = NDArray[np.float64]

# Both as fractions of the size of a mesh: points at most that far beyond a plane are below it, and points that are that
# close to each other are one, because Quickhull needs distinct points.
TOLERANCE, RESOLUTION = 1e-9, 1e-6
# Rays along z in these axes meet no edges and corners of meshes that are parallel to the axes.
_AXES = np.linalg.qr(np.array([[0.91, 0.23, 0.37], [-0.31, 0.87, 0.29], [-0.17, -0.41, 0.93]]))[0]


def fitted_pieces(pieces: tuple[MeshData, ...], data: MeshData) -> tuple[MeshData, ...]:
    """Return convex meshes that together contain the surface of a mesh, each the hull of a part of it.

    The part of a piece is the surface within the piece, the corners of the piece that the mesh encloses, and the
    surface that no piece contains, if this piece is the nearest. A piece whose part is flat contains its part and the
    piece as it was, one whose hull has too many edges at a point is divided, and one without a part is left out.

    Args:
        pieces: Convex meshes with outward faces.
        data: The mesh. Where it is open, corners may count as not enclosed; the pieces cover its surface all the same.
    """
    triangles = data.vertices[data.faces]
    enclosed = _Enclosed(triangles)
    size = float(np.ptp(triangles.reshape(-1, 3), axis=0).max())  # of its surface: faces may not use all vertices
    found: list[MeshData] = []
    for piece, missing in zip(pieces, _missing(pieces, triangles, TOLERANCE * size), strict=True):
        surface = triangles_within(triangles, piece, TOLERANCE * size).reshape(-1, 3)
        part = np.vstack([surface, enclosed.of(piece.vertices), missing])
        if len(part):
            found.extend(_hulls_of(part, RESOLUTION * size, piece))
    return tuple(found)


def _missing(pieces: tuple[MeshData, ...], triangles: Floats, tolerance: float) -> list[Floats]:
    """Return for each piece corners (k, 3) of the surface that no piece contains and to which it is the nearest."""
    missing = triangles
    for piece in pieces:
        missing = triangles_outside(missing, piece, tolerance)
    if not len(missing):
        return [np.empty((0, 3)) for _ in pieces]
    beyond = [distances_beyond(missing.reshape(-1, 3), piece.vertices[piece.faces]) for piece in pieces]
    nearest = np.stack(beyond).reshape(len(pieces), -1, 3).max(axis=2).argmin(axis=0)
    return [missing[nearest == index].reshape(-1, 3) for index in range(len(pieces))]


def _hulls_of(part: Floats, resolution: float, piece: MeshData) -> tuple[MeshData, ...]:
    """Return the hull of a part, or of the part and the piece where that is flat or too finely divided. It is divided
    if it is too finely divided as well."""
    try:
        return (convex_hull(distinct_points(part, resolution), "a piece"),)
    except GeometryError:
        outside = distances_beyond(part, piece.vertices[piece.faces]) > resolution
    return divided_hull(np.vstack([piece.vertices, part[outside]]), resolution) if outside.any() else (piece,)


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
