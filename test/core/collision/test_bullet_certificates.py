"""Certificates with the engine Bullet allow for the error of its distances."""

import math

import numpy as np
import pytest
from collision_cells import at, body, box, free_body, make_cell, place, sphere

from robot_cell_planner.collision.certification.certifier import MotionCertifier, Verdict
from robot_cell_planner.collision.certification.fixed_gap import smallest_fixed_gap
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.engines.base import ABSOLUTE_ERROR
from robot_cell_planner.model.geometry import Cylinder, Shape

RADIUS = 0.05


def beside_a_column(gap):
    """A checker with the engine Bullet: a cube on a slide along x, its edge at a gap [m] from a cylinder on the
    diagonal, where neither spheres nor bounding boxes separate the two."""
    cell = make_cell((free_body("robot", box(0.1, 0.1, 0.1)),), (), (body("column", Shape(Cylinder(0.2, 1.0))),))
    along = 0.05 + (0.2 + gap) * math.sqrt(0.5)
    return CollisionChecker(cell, place(cell.default_state(), "column", at(along, along)), engine="bullet")


@pytest.mark.parametrize(("share", "verdict"), [(0.25, Verdict.UNDECIDED), (3.0, Verdict.FREE)])
def test_a_gap_within_the_error_proves_nothing(share, verdict):
    checker = beside_a_column(share * ABSOLUTE_ERROR["bullet"])
    end = checker.default + 1e-5
    assert MotionCertifier(checker).certify(checker.default, end, 0.0).verdict is verdict


def test_the_gap_of_fixed_pairs_allows_for_the_error():
    gap = 0.01
    cell = make_cell((free_body("robot", sphere(RADIUS)),), (), (body("wall", box(0.1, 0.1, 0.1)),))
    state = place(cell.default_state(), "wall", at(0.0, RADIUS + 0.05 + gap))
    gaps = [smallest_fixed_gap(CollisionChecker(cell, state, variables=(), engine=engine)) for engine in ABSOLUTE_ERROR]
    assert np.isclose(gaps[0] - gaps[1], ABSOLUTE_ERROR["bullet"], atol=1e-4)
