"""Parts of triangles within and outside a convex mesh (Sutherland and Hodgman, 1974)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .loading import MeshData
from .planar_faces import face_planes

Floats = NDArray[np.float64]


def triangles_within(triangles: Floats, piece: MeshData, tolerance: float) -> Floats:
    """Return triangles (k, 3, 3) that cover the part of given ones (n, 3, 3) in a convex mesh with outward faces.

    tolerance: Points at most that far beyond a face are within the mesh [m].
    """
    normals, offsets = face_planes(piece.vertices[piece.faces])
    part: Floats = triangles[_may_touch(triangles, piece, tolerance)]
    for normal, offset in zip(normals, offsets, strict=True):
        part = triangles_below(part, part @ normal - (offset + tolerance))
    return part


def triangles_outside(triangles: Floats, piece: MeshData, tolerance: float) -> Floats:
    """Return triangles (k, 3, 3) that cover the part of given ones that `triangles_within` leaves out."""
    normals, offsets = face_planes(piece.vertices[piece.faces])
    touches = _may_touch(triangles, piece, tolerance)
    outside, left = [triangles[~touches]], triangles[touches]
    for normal, offset in zip(normals, offsets, strict=True):
        heights = left @ normal - (offset + tolerance)
        crosses = heights.max(axis=1) > 0.0
        outside.append(triangles_below(left[crosses], -heights[crosses]))
        left = np.concatenate([left[~crosses], triangles_below(left[crosses], heights[crosses])])
    return np.concatenate(outside)


def _may_touch(triangles: Floats, piece: MeshData, tolerance: float) -> NDArray[np.bool_]:
    """Return which triangles (n,) have a bounding box that meets that of a mesh."""
    low, high = piece.vertices.min(axis=0) - tolerance, piece.vertices.max(axis=0) + tolerance
    found: NDArray[np.bool_] = ((triangles.min(axis=1) <= high) & (triangles.max(axis=1) >= low)).all(axis=1)
    return found


def triangles_below(triangles: Floats, heights: Floats) -> Floats:
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
