"""Two triangle surfaces: what touches does not collide, what passes through does, and depths are those of motions that
separate them."""

import itertools

import coal
import numpy as np
import pytest
import trimesh
from collision_cells import at, body, free_body, make_cell, place

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.engines.base import TOUCHING
from robot_cell_planner.collision.engines.surface_overlap import triangle_overlaps
from robot_cell_planner.model.geometry import MeshUse, Shape, Triangles
from robot_cell_planner.model.pose import Pose

SIZE = (0.37, 0.21, 0.1)
TURNS = [(0.0, 0.0, 0.0), (0.3, -0.7, 1.9)]
Q = np.zeros(1)


def surface(size, divisions=0, centre=(0.0, 0.0, 0.0)):
    mesh = trimesh.creation.box(size)
    for _ in range(divisions):
        mesh = mesh.subdivide()
    corners = tuple(map(tuple, (mesh.vertices + centre).tolist()))
    return Triangles(corners, tuple(map(tuple, mesh.faces.tolist())), MeshUse.EXACT)


def checker_of(part, others, rpy=(0.0, 0.0, 0.0), offset=(0.0, 0.0, 0.0)):
    """A part on a slide and bodies of surfaces, all of them turned about the origin; offset: of the bodies before."""
    turn = Pose.from_rpy((0.0, 0.0, 0.0), rpy)
    robot = free_body("robot", Shape(part, turn))
    cell = make_cell((robot,), (), tuple(body(f"body{i}", Shape(other)) for i, other in enumerate(others)))
    where = turn.matrix @ at(*offset).matrix
    state = cell.default_state()
    for i in range(len(others)):
        state = place(state, f"body{i}", Pose.from_matrix(where))
    return CollisionChecker(cell, state)


@pytest.mark.parametrize("rpy", TURNS)
@pytest.mark.parametrize("divisions", [0, 2])
@pytest.mark.parametrize("overlap", [1e-12, 1e-9, 1e-6, 8e-6, 2e-5, 1e-3])
def test_a_part_that_lies_on_a_table_collides_if_it_is_deeper_than_a_touch(overlap, divisions, rpy):
    table = surface((1.0, 1.0, 0.2), divisions)
    checker = checker_of(surface(SIZE, divisions), (table,), rpy, (0.013, 0.02, -0.5 * SIZE[2] - 0.1 + overlap))
    assert checker.in_collision(Q) == (overlap > TOUCHING)
    assert checker.report(Q).in_collision == (overlap > TOUCHING)
    found = checker.distance(Q)
    assert found.distance == pytest.approx(-overlap, abs=1e-9)
    expected = checker_of(surface(SIZE), (), rpy)
    assert expected.distance(Q).distance == np.inf
    up = Pose.from_rpy((0.0, 0.0, 0.0), rpy).matrix[:3, 2]
    assert np.allclose(np.cross(found.normal, up), 0.0, atol=1e-6)


@pytest.mark.parametrize("rpy", TURNS)
def test_equal_boxes_on_top_of_each_other_touch(rpy):
    """All their sides are in the same planes."""
    checker = checker_of(surface(SIZE), (surface(SIZE),), rpy, (0.0, 0.0, 3e-6 - SIZE[2]))
    assert not checker.in_collision(Q)
    assert -TOUCHING <= checker.distance(Q).distance <= -3e-6


@pytest.mark.parametrize("overlap", [1e-9, 3e-6, 1e-4])
def test_a_part_in_a_corner_touches_floor_and_walls_of_one_surface(overlap):
    floor = trimesh.creation.box((1.0, 1.0, 0.1)).apply_translation((0.0, 0.0, -0.05))
    walls = [
        trimesh.creation.box(size).apply_translation(centre)
        for size, centre in (((0.1, 1.0, 0.4), (-0.55, 0.0, 0.1)), ((1.0, 0.1, 0.4), (0.0, -0.55, 0.1)))
    ]
    mesh = trimesh.util.concatenate([floor, *walls])
    room = Triangles(tuple(map(tuple, mesh.vertices.tolist())), tuple(map(tuple, mesh.faces.tolist())), MeshUse.EXACT)
    centre = (-0.5 + 0.5 * SIZE[0] - overlap, -0.5 + 0.5 * SIZE[1] - overlap, 0.5 * SIZE[2] - overlap)
    checker = checker_of(surface(SIZE, centre=centre), (room,))
    assert checker.in_collision(Q) == (overlap > TOUCHING)


def test_a_surface_whose_corners_are_in_the_plane_that_it_passes_through_collides():
    """No triangle is deeper than zero: all corners between those above and below the plane are in it."""
    wall = surface((0.2, 0.2, 0.2), 1)  # with corners at z = 0
    sheet = Triangles(((-1.0, -1.0, 0.0), (1.0, -1.0, 0.0), (0.0, 2.0, 0.0)), ((0, 1, 2),), MeshUse.EXACT)
    checker = checker_of(wall, (sheet,))
    assert checker.in_collision(Q)
    assert checker.distance(Q).distance < -TOUCHING


def is_apart(first, second):
    """By coal, as convex shapes: triangles have no functions for pairs of them."""
    shapes = [convex(corners) for corners in (first, second)]
    none, request = coal.Transform3s(), coal.DistanceRequest()
    return coal.distance(shapes[0], none, shapes[1], none, request, coal.DistanceResult()) > 1e-7


def convex(corners):
    points, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    points.extend(list(corners))
    faces.extend([coal.Triangle(0, 1, 2), coal.Triangle(0, 2, 1)])
    return coal.Convex(points, faces)


def test_the_motion_separates_triangles_and_is_the_shortest():
    random = np.random.default_rng(5)
    first, second = random.normal(size=(2, 400, 3, 3))
    crossing = [row for row in range(len(first)) if not is_apart(first[row], second[row])]
    depths, directions = triangle_overlaps(first, second)
    assert len(crossing) > 30
    others = random.normal(size=(60, 3))
    others /= np.linalg.norm(others, axis=1)[:, None]
    for row in crossing:
        assert is_apart(first[row] + (depths[row] + 1e-5) * directions[row], second[row])
        for direction in itertools.chain(others, (directions[row],)):
            assert not is_apart(first[row] + 0.99 * depths[row] * direction, second[row])
    apart = np.setdiff1d(np.arange(len(first)), crossing)
    assert (depths[apart] <= 1e-7).mean() > 0.99


def test_triangles_without_an_area_have_a_finite_depth():
    """Files of meshes contain such triangles; these are in one line, and overlap."""
    line = np.array([(0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.2, 0.0, 0.0)])
    flat = np.array([(0.0, -1.0, 0.0), (1.0, 1.0, 0.0), (-1.0, 1.0, 0.0)])
    others = line + np.array((0.05, 0.0, 0.0)), flat, 1e-9 * line
    depths, _ = triangle_overlaps(np.array((line, line, line)), np.array(others))
    assert depths.tolist() == [0.0, 0.0, 0.0]
