"""Hulls of discs with many vertices have few edges at each vertex, and the same shape."""

import coal
import numpy as np
import pytest

from robot_cell_planner.collision.engines.coal_shapes import coal_geometry
from robot_cell_planner.collision.geometry.collision_geometry import ConvexGeometry
from robot_cell_planner.errors import GeometryError
from robot_cell_planner.io.mesh.loading import hull
from robot_cell_planner.io.mesh.planar_faces import MAX_NEIGHBOURS, max_neighbours
from robot_cell_planner.model.geometry import Triangles

COUNT = 700


def ring(z, radius=0.1):
    turn = np.linspace(0.0, 2.0 * np.pi, COUNT, endpoint=False)
    return [(float(x), float(y), z) for x, y in zip(radius * np.cos(turn), radius * np.sin(turn), strict=True)]


def shape(points):
    """A mesh that is used as a hull."""
    faces = tuple((i, i + 1, i + 2) for i in range(len(points) - 2))
    return Triangles(tuple(points), faces)


def volume(mesh):
    return float(np.linalg.det(mesh.vertices[mesh.faces]).sum()) / 6.0


def test_a_disc_keeps_its_shape_with_few_edges_at_each_vertex():
    found = hull(shape([*ring(0.0), *ring(0.05)]))
    assert max_neighbours(found.faces) < 10
    area = 0.5 * COUNT * 0.1**2 * np.sin(2.0 * np.pi / COUNT)
    assert volume(found) == pytest.approx(area * 0.05, rel=1e-9), "faces point outwards"
    edges = {frozenset(edge) for face in found.faces.tolist() for edge in zip(face, np.roll(face, 1), strict=True)}
    assert len(found.vertices) - len(edges) + len(found.faces) == 2, "Euler's formula"


def test_distances_to_a_disc_are_those_of_a_cylinder():
    disc = coal_geometry(ConvexGeometry(hull(shape([*ring(0.0), *ring(0.05)]))))
    for place, expected in (((0.3, 0.0, 0.02), 0.19), ((0.0, 0.05, 0.1), 0.04), ((0.0, -0.3, 0.05), 0.19)):
        pose = coal.Transform3s(np.eye(3), np.array(place))
        found = coal.DistanceResult()
        coal.distance(disc, coal.Transform3s(), coal.Sphere(0.01), pose, coal.DistanceRequest(), found)
        assert found.min_distance == pytest.approx(expected, abs=1e-5)


def test_a_cone_with_too_many_edges_at_its_tip_is_refused_with_a_remedy():
    with pytest.raises(GeometryError, match=f"{COUNT} edges, expected at most {MAX_NEIGHBOURS}; use a coarser mesh"):
        hull(shape([*ring(0.0), (0.0, 0.0, 0.1)]))
