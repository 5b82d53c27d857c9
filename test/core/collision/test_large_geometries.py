"""Distances and checks are exact near geometries of many metres, such as the ground of a hall, as near small ones."""

import numpy as np
import pytest
from collision_cells import body, free_body, make_cell, mechanism, place, settings
from scipy.spatial.transform import Rotation

from robot_cell_planner.collision.certification.certificate import Verdict
from robot_cell_planner.collision.certification.certifier import MotionCertifier
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.engines.base import TOUCHING, distance_error
from robot_cell_planner.model.geometry import Box, Cylinder, MeshUse, Shape, Triangles
from robot_cell_planner.model.mechanism import JointKind
from robot_cell_planner.model.pose import IDENTITY, Pose
from robot_cell_planner.model.robot import Robot

THICKNESS = 0.2
SIDES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
FACES = tuple(face for a, b, c, d in SIDES for face in ((a, b, c), (a, c, d)))
GAPS = (-3e-3, -2e-4, -5e-5, -2e-5, -1.2e-5, -8e-6, -2e-6, 0.0, 3e-6, 3e-5, 5e-4, 0.02)
SIZES = (9.0, 20.0, 50.0, 100.0, 1000.0)


def corners(x, y, z):
    return np.array([(a, b, c) for a in (-x / 2, x / 2) for b in (-y / 2, y / 2) for c in (-z / 2, z / 2)])


def mesh(points, use):
    return Triangles(tuple(map(tuple, points.tolist())), FACES, use=use)


def wall(kind, size):
    """A wall normal to the x axis, with its near face at -x."""
    if kind == "cylinder":
        return Cylinder(size / 2, THICKNESS), Pose.from_rpy((0.0, 0.0, 0.0), (0.0, np.pi / 2, 0.0))
    if kind == "box":
        return Box((THICKNESS, size, size)), IDENTITY
    return mesh(corners(THICKNESS, size, size), {"hull": MeshUse.HULL, "surface": MeshUse.EXACT}[kind]), IDENTITY


def scene(rng, kind, size, moving_wall=False, count=1):
    """A checker of a box that the only variable moves along x towards a wall, and the value at contact."""
    shape, turn = wall(kind, size)
    sides = rng.uniform(0.02, 0.4, 3)
    rotation = Rotation.from_rotvec(rng.normal(size=3) * rng.choice((0.0, 1e-3, 1.0)))
    extent = float((corners(*sides) @ rotation.as_matrix()[0]).max())
    y, z = rng.uniform(-0.3, 0.3, 2) * size
    small = Shape(Box(tuple(sides.tolist())), Pose((0.0, 0.0, 0.0), tuple(rotation.as_quat().tolist())))
    aside = Pose((0.0, float(y), float(z)))
    moving, fixed = (Shape(shape, turn), small) if moving_wall else (small, Shape(shape, turn))
    names = ["obstacle", *(f"other{index}" for index in range(1, count))]
    bodies = (body(name, fixed) for name in names)
    cell = make_cell((free_body("moving", moving),), (), tuple(bodies), settings())
    state = place(cell.default_state(), "obstacle", aside)
    for index, name in enumerate(names[1:], start=1):
        state = place(state, name, Pose((5.0 * index, float(y), float(z))))
    return CollisionChecker(cell, state), -(extent + 0.5 * THICKNESS)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["box", "hull", "cylinder", "surface"])
@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("moving_wall", [False, True])
def test_checks_and_distances_near_large_geometries_are_exact(kind, size, moving_wall, count):
    rng = np.random.default_rng(int(size))
    for _ in range(6 if count == 1 else 2):
        checker, contact = scene(rng, kind, size, moving_wall, count)
        for gap in GAPS:
            q = np.array([contact - gap])
            expected = gap < -TOUCHING
            assert checker.in_collision(q) == expected, gap
            assert checker.report(q).in_collision == expected, gap
            assert (checker.in_collision_batch(np.array([q])) == expected).all()
            if kind != "surface" or gap > -2e-5:
                found = checker.distance(q).distance
                assert abs(found - gap) <= distance_error(gap), gap


@pytest.mark.parametrize("size", [20.0, 100.0, 1000.0])
def test_motions_near_large_geometries_are_decided_as_near_small_ones(size):
    rng = np.random.default_rng(3)
    for _ in range(12):
        checker, contact = scene(rng, "box", size)
        certifier = MotionCertifier(checker)
        for gap in GAPS:
            found = certifier.certify(np.array([contact - 0.03]), np.array([contact - gap])).verdict
            if gap < -TOUCHING:
                assert found is not Verdict.FREE, gap
            elif gap > distance_error(gap):
                assert found is Verdict.FREE, gap


def test_a_beam_and_a_panel_that_both_move_are_checked_exactly():
    rng = np.random.default_rng(5)
    for size in (9.0, 30.0, 200.0):
        beam = Shape(Box((0.1, 0.15, 12.0)), Pose((0.0, 0.2 * size, -0.1 * size)))
        panel = Shape(Box((THICKNESS, size, size)))
        joints = [(f"to_{name}", JointKind.PRISMATIC, "rail", name, IDENTITY, (1.0, 0.0, 0.0)) for name in ("a", "b")]
        machine = mechanism("machine", {"rail": [], "a": [beam], "b": [panel]}, joints)
        checker = CollisionChecker(cell := make_cell((Robot("machine", machine),)), cell.default_state())
        for gap in (*GAPS, *rng.uniform(-1e-3, 1e-3, 20)):
            at = rng.uniform(-1.0, 1.0)
            q = np.array([at - 0.5 * (0.1 + THICKNESS) - gap, at])
            assert checker.in_collision(q) == (gap < -TOUCHING), gap
            assert abs(checker.distance(q).distance - gap) <= distance_error(gap), gap
