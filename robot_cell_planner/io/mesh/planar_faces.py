"""Planar faces of convex hulls: their planes, and their triangles with few edges at each vertex."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
MAX_NEIGHBOURS = 255  # of a vertex of a convex shape in coal
MAX_VALUES = 200_000  # distances at a time, which fit into the cache of a processor


def face_planes(triangles: Floats) -> tuple[Floats, Floats]:
    """Return the normals (k, 3) and offsets (k,) [m] of the planes of triangles (n, 3, 3), without those of no area.

    A point is beyond a plane if its product with the normal is above the offset.
    """
    first, second, third = triangles.transpose(1, 0, 2)
    normals = np.cross(second - first, third - first)
    lengths = np.linalg.norm(normals, axis=1)
    normals = normals[lengths > 0.0] / lengths[lengths > 0.0, None]
    return normals, np.einsum("ij,ij->i", normals, first[lengths > 0.0])


def distances_beyond(points: Floats, triangles: Floats) -> Floats:
    """Return the signed distance (n,) of points (n, 3) to the plane of a convex mesh that they are farthest beyond.

    triangles: Faces of the mesh, outward (k, 3, 3).
    """
    normals, offsets = face_planes(triangles)
    size = max(1, MAX_VALUES // len(normals))
    result: Floats = np.empty(len(points))
    for first in range(0, len(points), size):
        block = slice(first, first + size)
        result[block] = (points[block] @ normals.T - offsets).max(axis=1)
    return result


def max_neighbours(faces: Indices) -> int:
    """Return the largest number of edges that meet at a vertex of triangles (n, 3)."""
    return int(neighbour_counts(faces).max())


def neighbour_counts(faces: Indices) -> Indices:
    """Return the number of edges that meet at each vertex (k,) of triangles (n, 3)."""
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    return np.bincount(np.unique(edges, axis=0).ravel())


def with_zigzags(points: Floats, faces: Indices, equations: Floats) -> tuple[Indices, Floats]:
    """Return triangles (n, 3) of a convex hull, and their planes, with planar faces divided by a zigzag of diagonals.

    Quickhull divides a face by diagonals from one vertex, which for a disc with many vertices are too many for coal.

    Args:
        points: Vertices (k, 3).
        faces: Triangles (n, 3).
        equations: Planes (n, 4); triangles of the same face have the same.
    """
    planes, owners = np.unique(equations, axis=0, return_inverse=True)
    owners = owners.ravel()
    parts, counts = [], []
    for index, plane in enumerate(planes):
        own = faces[owners == index]
        part = own if len(own) == 1 else _zigzag(_around(points, np.unique(own), plane[:3]))
        parts.append(part)
        counts.append(len(part))
    return np.concatenate(parts), np.repeat(planes, counts, axis=0)


def _around(points: Floats, indices: Indices, normal: Floats) -> Indices:
    """Return the vertices of a planar convex face in order around it."""
    first = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
    offsets = points[indices] - points[indices].mean(axis=0)
    return np.asarray(indices[np.argsort(np.arctan2(offsets @ np.cross(normal, first), offsets @ first))])


def _zigzag(ring: Indices) -> Indices:
    """Return triangles (n - 2, 3) of a convex polygon of n vertices."""
    low, high, triangles = 0, len(ring) - 1, []
    while high - low > 1:
        triangles.append((ring[low], ring[low + 1], ring[high]))
        low += 1
        if high - low > 1:
            triangles.append((ring[low], ring[high - 1], ring[high]))
            high -= 1
    return np.array(triangles)
