"""Convex hulls divided into parts of few edges at each vertex, as coal requires."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import GeometryError
from .loading import MeshData, convex_hull, quickhull
from .planar_faces import neighbour_counts
from .triangle_clipping import triangles_below

Floats = NDArray[np.float64]


def divided_hull(points: Floats, resolution: float) -> tuple[MeshData, ...]:
    """Return convex meshes whose union is the convex hull of points (n, 3).

    A hull with more than 255 edges at a vertex, such as the tip of a cone, is cut in two through that vertex.

    Args:
        points: Of a hull with a volume.
        resolution: Points that are that close to each other are one [m].

    Raises:
        GeometryError: The points are in a plane or too few.
    """
    points = distinct_points(points, resolution)
    try:
        return (convex_hull(points, "a piece"),)
    except GeometryError:
        faces = quickhull(points, "a piece").simplices.astype(np.intp)  # also raises if the points are in a plane
    tip = int(neighbour_counts(faces).argmax())
    around = np.unique(faces[(faces == tip).any(axis=1)])
    triangles = points[faces] - points[tip]
    heights = triangles @ _normal_of_cut(points[around] - points[tip])
    sides = (triangles_below(triangles, signed).reshape(-1, 3) for signed in (heights, -heights))
    return tuple(part for side in sides for part in divided_hull(side + points[tip], resolution))


def distinct_points(points: Floats, resolution: float) -> Floats:
    """Return one of those points (n, 3) that are close to each other; Quickhull needs distinct points."""
    _, chosen = np.unique(np.round(points / resolution), axis=0, return_index=True)
    return points[chosen]


def _normal_of_cut(edges: Floats) -> Floats:
    """Return the normal (3,) of a plane through the common start of edges (n, 3) with edges on both of its sides: it
    contains their mean, and is normal to it in the direction in which they differ most."""
    mean = edges.mean(axis=0)
    across = edges - np.outer(edges @ mean, mean) / (mean @ mean)
    return np.asarray(np.linalg.svd(across, full_matrices=False)[2][0])
