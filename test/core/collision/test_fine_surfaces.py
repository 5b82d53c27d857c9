"""Overlaps of triangle surfaces are found among thousands of triangles that only touch."""

import numpy as np
import pytest
from collision_cells import at, body, box, bracket, free_body, make_cell, place, settings

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.engines.base import TOUCHING
from robot_cell_planner.model.geometry import MeshUse, Shape, Triangles

CELLS = 24  # along each side of the plate


def plate_with_a_dent(depth, side=0.4):
    """A flat plate of 2 * CELLS^2 triangles at z = 0, one vertex of which is below the others."""
    numbers = np.linspace(-0.5 * side, 0.5 * side, CELLS + 1).tolist()
    vertices = [(x, y, 0.0) for x in numbers for y in numbers]
    place = (CELLS - 2) * (CELLS + 2)
    vertices[place] = (*vertices[place][:2], -depth)
    faces = []
    for i in range(CELLS):
        for j in range(CELLS):
            corner = i * (CELLS + 1) + j
            across = corner + CELLS + 1
            faces += [(corner, across, corner + 1), (across, across + 1, corner + 1)]
    return Triangles(tuple(vertices), tuple(faces), MeshUse.EXACT)


def on_a_table(depth, gap, margin=0.0):
    cell = make_cell(
        (free_body("part", Shape(plate_with_a_dent(depth))),),
        (),
        (body("table", box(2.0, 2.0, 0.1)),),
        settings(margins={"table": margin}),
    )
    return CollisionChecker(cell, place(cell.default_state(), "table", at(0.0, 0.0, -0.05 - gap)))


@pytest.mark.parametrize("gap", [-9e-6, -5e-6, 0.0, 2e-6, 1e-4])
@pytest.mark.parametrize("depth", [5e-6, 1e-3, 0.02])
def test_a_dent_of_a_mesh_that_lies_flat_is_found(depth, gap):
    checker = on_a_table(depth, gap)
    expected = min(gap - depth, gap)
    q = np.zeros(1)
    assert checker.in_collision(q) == (expected < -TOUCHING)
    assert [pair.depth for pair in checker.report(q).pairs] == pytest.approx([-expected] * (expected < -TOUCHING))
    assert checker.distance(q).distance == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("gap", [0.01, 1e-3, 0.0])
def test_the_reported_distance_is_the_smallest_at_large_margins(gap):
    checker = on_a_table(5e-4, gap, margin=0.05)
    (pair,) = checker.report(np.zeros(1)).pairs
    assert pair.distance == pytest.approx(gap - 5e-4, abs=2e-6)


@pytest.mark.parametrize("gap", [0.0, 1e-9, 4e-8, 1e-7, 1e-6, 1e-5, 1e-3])
def test_aligned_surfaces_that_are_apart_do_not_collide(gap):
    """Triangles of both are in the same planes, where coal's depth of a touch is that of a deep overlap."""
    side = 0.25
    cell = make_cell((free_body("part", Shape(bracket(side))),), (), (body("wall", Shape(bracket(side))),))
    checker = CollisionChecker(cell, cell.default_state())
    q = np.array([side + 0.02 + gap])
    assert not checker.in_collision(q)
    assert not checker.report(q).in_collision
    assert checker.first_pair(q) is None
    assert checker.distance(q).distance == pytest.approx(gap, abs=1e-9)
