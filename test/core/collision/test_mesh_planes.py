"""Planes in all directions of convex meshes of many triangles: bounds against exact distances."""

import numpy as np
import pytest
from test_separating_planes import faceted_sphere

from robot_cell_planner.collision.certification._kernels.lanes import CLOSENESS
from robot_cell_planner.collision.certification._kernels.obstacles import MANY_TRIANGLES, mesh_tree
from robot_cell_planner.collision.geometry.collision_geometry import ConvexGeometry, collision_geometries
from robot_cell_planner.io.mesh.loading import hull
from robot_cell_planner.model.geometry import MeshUse, Triangles


def disc(sides=60):
    """The hull of a flat cylinder: sharp edges between large faces."""
    angles = 2.0 * np.pi * np.arange(sides) / sides
    rim = 0.2 * np.column_stack((np.cos(angles), np.sin(angles)))
    points = [(x, y, z) for x, y in rim.tolist() for z in (-0.02, 0.02)]
    return ConvexGeometry(hull(Triangles(tuple(points), _any_faces(points), MeshUse.HULL)))


def _any_faces(points):
    return tuple((0, k, k + 1) for k in range(1, len(points) - 1))


def distance(geometry, point):
    """The distance from a convex mesh by the projection onto its triangles, edges and corners."""
    corners = geometry.mesh.vertices[geometry.mesh.faces]
    best = np.inf
    for first in range(3):
        a, edge = corners[:, first], corners[:, (first + 1) % 3] - corners[:, first]
        share = np.clip(np.einsum("ij,ij->i", point - a, edge) / np.einsum("ij,ij->i", edge, edge), 0.0, 1.0)
        best = min(best, np.linalg.norm(point - a - share[:, None] * edge, axis=1).min())
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    heights = np.einsum("ij,ij->i", point - corners[:, 0], normals)
    on_plane = point - heights[:, None] * normals
    sides = [
        np.einsum("ij,ij->i", np.cross(corners[:, (k + 1) % 3] - corners[:, k], on_plane - corners[:, k]), normals)
        for k in range(3)
    ]
    above = np.min(sides, axis=0) >= 0.0
    return min(best, np.abs(heights[above]).min(initial=np.inf))


@pytest.mark.parametrize("geometry", [disc(), collision_geometries(faceted_sphere(200, MeshUse.HULL))[0]])
@pytest.mark.parametrize("far", [0.005, 0.02, 0.06])
def test_planes_bound_distances_from_below_and_closely(geometry, far):
    assert len(geometry.mesh.faces) >= MANY_TRIANGLES
    tree = mesh_tree(geometry)
    assert tree.many_sided
    rng = np.random.default_rng(7)
    directions = rng.normal(size=(400, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    farthest = geometry.mesh.vertices[np.argmax(geometry.mesh.vertices @ directions.T, axis=0)]
    for point in farthest + far * directions:
        exact = distance(geometry, point)
        bound = (tree.planes[:, :3] @ point - tree.planes[:, 3]).max()
        assert bound <= exact + 1e-9
        assert exact <= float(CLOSENESS) * bound


def test_few_triangles_get_no_planes():
    geometry = disc(sides=12)
    assert len(geometry.mesh.faces) < MANY_TRIANGLES
    assert not mesh_tree(geometry).many_sided
