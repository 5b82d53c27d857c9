"""Obstacles in the form of the kernels: primitives by their dimensions, meshes as trees of triangles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ....model.geometry import Box, Capsule, Cone, Cylinder, Sphere
from ...geometry.collision_geometry import CollisionGeometry, ConvexGeometry, Surface, local_bounds
from ...sphere_model.polytopes import polytope_around
from .arrays import BOX, CAPSULE, CONE, CONVEX, CYLINDER, SURFACE
from .mesh_tree_kernels import triangle_tree
from .obstacle_boxes import spatial_order

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
UNIT = 2.0**-24  # unit roundoff of single precision
ROUNDINGS = 16.0  # number of roundings of an obstacle's own numbers that its allowance covers
NO_AREA = 1e-20  # [m4], threshold of the area of degenerate triangles
NO_PLANES = np.empty((0, 4))
FEW_TRIANGLES = 2000  # of meshes whose placements are shared by cells
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
    nodes, links = triangle_tree(np.ascontiguousarray(corners, dtype=np.float64))
    planes = _diverse_first(polytope_around(geometry).planes) if isinstance(geometry, ConvexGeometry) else NO_PLANES
    return MeshTree(corners, nodes, links, planes)


def _diverse_first(planes: Floats) -> Floats:
    """Return planes (p, 4), beginning with those whose normals are farthest from all previous ones."""
    first = [0]
    nearest = planes[:, :3] @ planes[0, :3]
    while len(first) < min(DIVERSE_PLANES, len(planes)):
        first.append(int(np.argmin(nearest)))
        nearest = np.maximum(nearest, planes[:, :3] @ planes[first[-1], :3])
    return np.concatenate((planes[first], np.delete(planes, first, axis=0)))


@dataclass(frozen=True, eq=False)
class _PlacedMesh:
    """A mesh at a pose: nodes, triangles and planes for the kernel, in double precision."""

    pose: bytes
    nodes: Floats
    triangles: Floats
    planes: Floats

    @classmethod
    def at(cls, tree: MeshTree, pose: bytes) -> _PlacedMesh:
        """Place a mesh at the numbers of a pose (4, 4)."""
        matrix = np.frombuffer(pose).reshape(4, 4)
        rotation, shift = matrix[:3, :3], matrix[:3, 3]
        nodes = np.column_stack((tree.nodes[:, :3] @ rotation.T + shift, tree.nodes[:, 3] * (1.0 + 1e-6) + 1e-6))
        normals = tree.planes[:, :3] @ rotation.T
        planes = np.column_stack((normals, tree.planes[:, 3] + normals @ shift))
        return cls(pose, nodes, triangle_numbers(tree.corners @ rotation.T + shift), planes)


@lru_cache(maxsize=64)
def _small_mesh_at(tree: MeshTree, pose: bytes) -> _PlacedMesh:
    """Return `_PlacedMesh.at`, cached: the base of a robot has the same pose in many cells."""
    return _PlacedMesh.at(tree, pose)


@dataclass(frozen=True, eq=False)
class ObstacleForms:
    """Obstacles without their poses.

    Attributes:
        kinds: (n,) kind of each obstacle.
        sizes: (n, 3) dimensions of primitives.
        spheres: (n, 4) bounding spheres in the frame of the obstacle.
        rounded_by: (n,) radius of capsules [m].
        trees: Tree of each obstacle that is a mesh, by index.
    """

    kinds: Integers
    sizes: Floats
    spheres: Floats
    rounded_by: Floats
    trees: dict[int, MeshTree]
    _placed: dict[int, _PlacedMesh] = field(default_factory=dict)

    def placed_mesh(self, index: int, pose: Floats) -> _PlacedMesh:
        """Return a mesh at a pose (4, 4). The latest pose is cached, since most obstacles stay where they are."""
        found, at = self._placed.get(index), pose.tobytes()
        if found is None or found.pose != at:
            tree = self.trees[index]
            place = _small_mesh_at if len(tree.corners) <= FEW_TRIANGLES else _PlacedMesh.at
            found = self._placed[index] = place(tree, at)
        return found


@dataclass(frozen=True, eq=False)
class PlacedObstacles:
    """Obstacles at their poses; the attributes are those of `arrays.MotionArrays`, in double precision."""

    obstacles: Integers
    shapes: Floats
    nodes: Floats
    links: Integers
    triangles: Floats
    planes: Floats


def obstacle_forms(geometries: Sequence[CollisionGeometry]) -> ObstacleForms:
    """Return the forms of collision geometries."""
    kinds, sizes, rounded_by = np.zeros(len(geometries), dtype=np.int64), [], np.zeros(len(geometries))
    trees: dict[int, MeshTree] = {}
    bounds = np.empty((len(geometries), 2, 3))
    for index, geometry in enumerate(geometries):
        bounds[index] = local_bounds(geometry)
        kinds[index], size, rounded_by[index] = _form(geometry)
        sizes.append(size)
        if isinstance(geometry, ConvexGeometry | Surface):
            trees[index] = mesh_tree(geometry)
    radii = 0.5 * np.linalg.norm(bounds[:, 1] - bounds[:, 0], axis=1)
    spheres = np.column_stack((0.5 * (bounds[:, 0] + bounds[:, 1]), radii))
    return ObstacleForms(kinds, np.array(sizes).reshape(-1, 3), spheres, rounded_by, trees)


def _form(geometry: CollisionGeometry) -> tuple[int, tuple[float, float, float], float]:
    """Return the kind, sizes and rounding radius of an obstacle."""
    if isinstance(geometry, Box):
        return BOX, (0.5 * geometry.size[0], 0.5 * geometry.size[1], 0.5 * geometry.size[2]), 0.0
    if isinstance(geometry, Sphere):
        return CAPSULE, (0.0, 0.0, 0.0), geometry.radius
    if isinstance(geometry, Capsule):
        return CAPSULE, (0.0, 0.5 * geometry.length, 0.0), geometry.radius
    if isinstance(geometry, Cylinder | Cone):
        kind = CYLINDER if isinstance(geometry, Cylinder) else CONE
        return kind, (geometry.radius, 0.5 * geometry.length, 0.0), 0.0
    return CONVEX if isinstance(geometry, ConvexGeometry) else SURFACE, (0.0, 0.0, 0.0), 0.0


def placed_obstacles(
    forms: ObstacleForms, poses: Floats, margin_rows: Integers, displacements: Floats
) -> PlacedObstacles:
    """Return obstacles within displacements (n,) [m] of poses (n, 4, 4), with the number (n,) of the row of margins of
    each.

    Obstacles near each other are made neighbours, see `obstacle_boxes`.
    """
    rotations, shifts = poses[:, :3, :3], poses[:, :3, 3]
    middles = np.einsum("ijk,ik->ij", rotations, forms.spheres[:, :3]) + shifts
    radii = forms.spheres[:, 3]
    back = -np.einsum("ikj,ik->ij", rotations, shifts)
    allowances = ROUNDINGS * UNIT * (np.linalg.norm(middles, axis=1) + 2.0 * radii) + forms.rounded_by
    allowances += displacements
    spheres = np.column_stack((middles, radii * (1.0 + 1e-6)))
    turned = rotations.transpose(0, 2, 1).reshape(-1, 9)
    shapes = np.column_stack((turned, back, forms.sizes, spheres, allowances))
    obstacles = np.full((len(poses), 5), -1, dtype=np.int64)
    obstacles[:, 0], obstacles[:, 1], obstacles[:, 3:] = forms.kinds, margin_rows, 0
    meshes = _Meshes()
    for index, tree in forms.trees.items():
        obstacles[index, 2:] = meshes.add(tree, forms.placed_mesh(index, poses[index]))
    order = spatial_order(middles)
    return PlacedObstacles(obstacles[order], shapes[order], *meshes.arrays())


class _Meshes:
    """Collect meshes at their poses."""

    def __init__(self) -> None:
        self._nodes: list[Floats] = [np.empty((0, 4))]
        self._links: list[Integers] = [np.empty((0, 3), dtype=np.int64)]
        self._triangles: list[Floats] = [np.empty((0, 33))]
        self._planes: list[Floats] = [np.empty((0, 4))]
        self._counts = [0, 0, 0]  # numbers of nodes, triangles and planes

    def add(self, tree: MeshTree, placed: _PlacedMesh) -> tuple[int, int, int]:
        """Add a mesh; return its first node, first plane, and the end of its planes."""
        first_node, first_triangle, first_plane = self._counts
        links = tree.links.copy()
        inner = links[:, 1] >= 0
        links[inner, :2] += first_node
        links[~inner, 2] += first_triangle
        self._nodes.append(placed.nodes)
        self._links.append(links)
        self._triangles.append(placed.triangles)
        self._planes.append(placed.planes)
        self._counts = [first_node + len(links), first_triangle + len(tree.corners), first_plane + len(tree.planes)]
        return first_node, first_plane, self._counts[2]

    def arrays(self) -> tuple[Floats, Integers, Floats, Floats]:
        """Return nodes, links, triangles and planes."""
        nodes, triangles, planes = (np.concatenate(parts) for parts in (self._nodes, self._triangles, self._planes))
        return nodes, np.concatenate(self._links), triangles, planes


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
