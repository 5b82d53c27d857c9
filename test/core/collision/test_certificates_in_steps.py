"""Certificates of motions of many segments are computed in steps, so that a node can reply to others in between."""

import numpy as np
import pytest
from collision_cells import at, body, box, free_body, make_cell, place, sphere

from robot_cell_planner.collision.certification.certificate import Verdict
from robot_cell_planner.collision.certification.certifier import MotionCertifier
from robot_cell_planner.collision.certification.paths import (
    certify_path,
    certify_path_in_steps,
    certify_trajectory,
    certify_trajectory_in_steps,
)
from robot_cell_planner.collision.checker import CollisionChecker

SEGMENTS = 20


@pytest.fixture(scope="module")
def certifier():
    """Of a sphere of 0.05 m on a slide along x, and a wall across it, 0.02 m thick at 0.5 m."""
    cell = make_cell((free_body("robot", sphere(0.05)),), (), (body("wall", box(0.02, 1.0, 1.0)),))
    return MotionCertifier(CollisionChecker(cell, place(cell.default_state(), "wall", at(0.5))))


def counted(steps):
    """The number of steps, and the result."""
    count = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return count, end.value
        count += 1


@pytest.mark.parametrize(("end", "verdict", "steps"), [(0.4, Verdict.FREE, SEGMENTS), (1.6, Verdict.COLLIDING, 6)])
def test_each_segment_of_a_path_up_to_a_collision_is_a_step(certifier, end, verdict, steps):
    """The sphere touches the wall at 0.44 m: segments of 0.08 m collide from the sixth on."""
    path = np.linspace([0.0], [end], SEGMENTS + 1)
    count, found = counted(certify_path_in_steps(certifier, path))
    assert (count, found.verdict) == (steps, verdict)
    assert found == certify_path(certifier, path)


def test_each_piece_of_a_trajectory_is_a_step(certifier):
    breaks = np.linspace(0.0, 2.0, SEGMENTS + 1)
    step = 0.4 / SEGMENTS
    coefficients = np.array([[[step * index], [step / 0.1]] for index in range(SEGMENTS)])
    count, found = counted(certify_trajectory_in_steps(certifier, breaks, coefficients))
    assert (count, found.verdict) == (SEGMENTS, Verdict.FREE)
    assert found == certify_trajectory(certifier, breaks, coefficients)
