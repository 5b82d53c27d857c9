"""Exact certificates divide undecided intervals into as many parts as their distances suggest."""

import math

import numpy as np
import pytest
from collision_cells import at, body, box, free_body, make_cell, place, sphere

from robot_cell_planner.collision.certification.certificate import FINE
from robot_cell_planner.collision.certification.curves import StraightMotion
from robot_cell_planner.collision.certification.exact import AT_ONCE, ExactCertifier, OpenPair, _sufficient_parts
from robot_cell_planner.collision.checker import CollisionChecker

LENGTH = 0.4  # [m] of the motion


def certified(gap):
    """The certifier of a sphere that moves along x beside a wall, at a gap [m], and its result."""
    cell = make_cell((free_body("robot", sphere(0.05)),), (), (body("wall", box(4.0, 0.02, 1.0)),))
    certifier = ExactCertifier(CollisionChecker(cell, place(cell.default_state(), "wall", at(0.0, 0.06 + gap))))
    return certifier, certifier.certify(StraightMotion(np.zeros(1), np.full(1, LENGTH)), 0.5, 0.5, 0.0, FINE)


@pytest.mark.parametrize("parts", [1.5, 2.5, 3.9, 4.3, 6.1, 7.7])
def test_as_many_parts_are_evaluated_as_a_constant_distance_requires(parts):
    """From the middle, the sphere may approach the wall by half of its motion."""
    certifier, found = certified(0.5 * LENGTH / parts)
    assert found.free
    assert certifier.states == 1 + math.ceil(parts)


def test_more_parts_are_evaluated_in_levels():
    certifier, found = certified(0.5 * LENGTH / 20.5)
    assert found.free
    assert certifier.states == 1 + AT_ONCE * (1 + math.ceil(20.5 / AT_ONCE))


def test_a_motion_that_is_far_enough_needs_one_configuration():
    certifier, found = certified(0.55 * LENGTH)
    assert found.free
    assert certifier.states == 1


@pytest.mark.parametrize("distance", [1e-3, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("missing", [5e-324, 1e-18, 1e-16])
def test_an_interval_is_divided_however_little_is_missing(distance, missing):
    assert _sufficient_parts([OpenPair((0, 1), distance, missing)]) == 2
