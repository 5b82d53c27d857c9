"""Obstacles in the form of the kernels: primitives by their dimensions, meshes as trees of triangles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ....model.geometry import Box, Capsule, Cone, Cylinder, Sphere
from ...geometry.collision_geometry import CollisionGeometry, ConvexGeometry, Surface, local_bounds
from ...sphere_model.polytopes import polytope_around
from .arrays import BOX, CAPSULE, CONE, CONVEX, CYLINDER, SURFACE

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
UNIT = 2.0**-24  # unit roundoff of single precision
ROUNDINGS = 16.0  # number of roundings of an obstacle's own numbers that its allowance covers
NO_AREA = 1e-20  # [m4], threshold of the area of degenerate triangles
DIVERSE_PLANES = 48  # number of planes at the beginning of a convex mesh that differ most in direction


@dataclass(frozen=True, eq=False)
class MeshTree:
    """Binary bounding-sphere tree of the triangles of a mesh, in the frame of the mesh.

    Attributes:
        corners: (t, 3, 3) corners of the triangles.
        nodes: (m, 4) bounding spheres, the root first.
        links: (m, 3) left and right child, -1 for a leaf, and the triangle of a leaf.
        planes: (p, 4) of a convex geometry, else none; the first DIVERSE_PLANES differ most in direction.
    """

    corners: Floats
    nodes: Floats
    links: Integers
    planes: Floats


@lru_cache(maxsize=512)
def mesh_tree(geometry: ConvexGeometry | Surface) -> MeshTree:
    """Return the bounding-sphere tree of a convex geometry or surface; trees are cached."""
    corners = geometry.mesh.vertices[geometry.mesh.faces]
    middles = corners.mean(axis=1)
    nodes: list[Floats] = []
    links: list[tuple[int, int, int]] = []
    pending = [(np.arange(len(corners)), -1, 0)]
    while pending:
        group, parent, side = pending.pop()
        number = len(nodes)
        if parent >= 0:
            changed = list(links[parent])
            changed[side] = number
            links[parent] = (changed[0], changed[1], changed[2])
        nodes.append(_bounding_sphere(corners[group].reshape(-1, 3)))
        if len(group) == 1:
            links.append((-1, -1, int(group[0])))
            continue
        links.append((0, 0, -1))
        broadcast = np.ptp(middles[group], axis=0)
        order = np.argsort(middles[group][:, int(np.argmax(broadcast))], kind="stable")
        half = len(group) // 2
        pending.extend(((group[order[half:]], number, 1), (group[order[:half]], number, 0)))
    planes = (
        _diverse_first(polytope_around(geometry).planes) if isinstance(geometry, ConvexGeometry) else np.empty((0, 4))
    )
    return MeshTree(corners, np.array(nodes), np.array(links, dtype=np.int64), planes)


def _diverse_first(planes: Floats) -> Floats:
    """Return planes (p, 4), beginning with those whose normals are farthest from all previous ones."""
    first = [0]
    nearest = planes[:, :3] @ planes[0, :3]
    while len(first) < min(DIVERSE_PLANES, len(planes)):
        first.append(int(np.argmin(nearest)))
        nearest = np.maximum(nearest, planes[:, :3] @ planes[first[-1], :3])
    return np.concatenate((planes[first], np.delete(planes, first, axis=0)))


def _bounding_sphere(points: Floats) -> Floats:
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    return np.array((*middle, np.linalg.norm(points - middle, axis=1).max()))


class Obstacles:
    """Collect obstacles; the attributes are those of `arrays.MotionArrays`."""

    def __init__(self) -> None:
        self.obstacles: list[tuple[int, int, int, int, int]] = []
        self.shapes: list[Floats] = []
        self.nodes: list[Floats] = []
        self.links: list[Integers] = []
        self.triangles: list[Floats] = []
        self.planes: list[Floats] = []
        self._counts = [0, 0, 0]  # numbers of nodes, triangles and planes

    def add(self, geometry: CollisionGeometry, pose: Floats, row: int) -> None:
        """Add a collision geometry at a pose (4, 4), with the number of its row of margins."""
        low, high = local_bounds(geometry)
        middle = pose[:3, :3] @ (0.5 * (low + high)) + pose[:3, 3]
        radius = 0.5 * float(np.linalg.norm(high - low))
        sizes, kind, first, planes, round_by = (0.0, 0.0, 0.0), SURFACE, -1, (0, 0), 0.0
        if isinstance(geometry, Box):
            kind, sizes = BOX, (0.5 * geometry.size[0], 0.5 * geometry.size[1], 0.5 * geometry.size[2])
        elif isinstance(geometry, Sphere):
            kind, round_by = CAPSULE, geometry.radius
        elif isinstance(geometry, Capsule):
            kind, round_by, sizes = CAPSULE, geometry.radius, (0.0, 0.5 * geometry.length, 0.0)
        elif isinstance(geometry, Cylinder | Cone):
            kind = CYLINDER if isinstance(geometry, Cylinder) else CONE
            sizes = (geometry.radius, 0.5 * geometry.length, 0.0)
        else:
            kind = CONVEX if isinstance(geometry, ConvexGeometry) else SURFACE
            first, planes = self._add_mesh(mesh_tree(geometry), pose)
        back = np.linalg.inv(pose)
        allowance = ROUNDINGS * UNIT * (float(np.linalg.norm(middle)) + 2.0 * radius)
        sphere = (*middle, radius * (1.0 + 1e-6))
        self.shapes.append(np.array((*back[:3, :3].ravel(), *back[:3, 3], *sizes, *sphere, allowance + round_by)))
        self.obstacles.append((kind, row, first, *planes))

    def _add_mesh(self, tree: MeshTree, pose: Floats) -> tuple[int, tuple[int, int]]:
        first_node, first_triangle, first_plane = self._counts
        rotation, shift = pose[:3, :3], pose[:3, 3]
        nodes = np.column_stack((tree.nodes[:, :3] @ rotation.T + shift, tree.nodes[:, 3] * (1.0 + 1e-6) + 1e-6))
        links = tree.links.copy()
        inner = links[:, 1] >= 0
        links[inner, :2] += first_node
        links[~inner, 2] += first_triangle
        normals = tree.planes[:, :3] @ rotation.T
        self.nodes.append(nodes)
        self.links.append(links)
        self.triangles.append(triangle_numbers(tree.corners @ rotation.T + shift))
        self.planes.append(np.column_stack((normals, tree.planes[:, 3] + normals @ shift)))
        self._counts = [first_node + len(nodes), first_triangle + len(tree.corners), first_plane + len(tree.planes)]
        return first_node, (first_plane, self._counts[2])


def triangle_numbers(corners: Floats) -> Floats:
    """Return the numbers of triangles (t, 3, 3) for the kernel: (t, 33).

    They are corners, edges, inward unit normals of the edges, unit normal, and inverse squared lengths of the edges.
    The normals of a triangle without area are zero.
    """
    edges = np.roll(corners, -1, axis=1) - corners
    normal = np.cross(edges[:, 0], edges[:, 1])
    square = np.einsum("ij,ij->i", normal, normal)
    has_area = square > NO_AREA * np.maximum(1.0, np.einsum("ij,ij->i", edges[:, 0], edges[:, 0]))
    normal = np.where(has_area[:, None], normal / np.sqrt(np.maximum(square, 1e-300))[:, None], 0.0)
    lengths = np.einsum("ijk,ijk->ij", edges, edges)
    inverse = np.where(lengths > 0.0, 1.0 / np.maximum(lengths, 1e-300), 0.0)
    inner = np.cross(np.broadcast_to(normal[:, None], edges.shape), edges) * np.sqrt(inverse)[..., None]
    count = len(corners)
    parts = (corners.reshape(count, 9), edges.reshape(count, 9), inner.reshape(count, 9), normal, inverse)
    found = np.concatenate(parts, axis=1)
    if not np.isfinite(found).all():
        raise ValueError("a triangle is not finite")
    return np.asarray(np.clip(found, -1e30, 1e30))
