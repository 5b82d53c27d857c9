"""Certificates with the engine Bullet allow for the error of its distances."""

import math

import numpy as np
import pytest
from collision_cells import at, body, box, busy_cell, checker_of_arm, free_body, make_cell, place, sphere
from planning_cells import two_gantries

from robot_cell_planner.collision.certification.certificate import Verdict
from robot_cell_planner.collision.certification.certifier import MotionCertifier
from robot_cell_planner.collision.certification.fixed_gap import smallest_fixed_gap
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.engines.base import ABSOLUTE_ERROR
from robot_cell_planner.model.geometry import Cylinder, Shape
from robot_cell_planner.model.mechanism import JointKind

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


@pytest.mark.parametrize("margin", [0.0, 0.004])
def test_proven_motions_keep_the_error(margin):
    """Random short motions among obstacles: their least true distance exceeds the error of Bullet's distances."""
    cell, state = busy_cell()
    checker = CollisionChecker(cell, state, engine="bullet")
    certifier = MotionCertifier(checker)
    exact, random, least = CollisionChecker(cell, state), np.random.default_rng(7), []
    while len(least) < 12:
        start = random.uniform(-2.0, 2.0, len(exact.variables))
        if not 0.0 < exact.distance(start).slack - margin < 0.01:
            continue
        end = start + random.normal(scale=1e-3, size=len(start))
        if certifier.certify(start, end, margin).free:
            states = start + np.linspace(0.0, 1.0, 20)[:, None] * (end - start)
            assert not checker.in_collision_batch(states).any()
            least.append(min(exact.distance(q).slack for q in states) - margin)
    assert min(least) > ABSOLUTE_ERROR["bullet"]


def test_a_true_collision_that_the_engine_does_not_find_is_undecided(monkeypatch):
    checker = beside_a_column(-0.01)
    end = checker.default + 1e-5
    assert MotionCertifier(checker).certify(checker.default, end).verdict is Verdict.COLLIDING
    monkeypatch.setattr(CollisionChecker, "in_collision", lambda *_: False)
    assert MotionCertifier(checker).certify(checker.default, end).verdict is Verdict.UNDECIDED


def test_fixed_pairs_within_the_error_are_proven_by_the_distances_of_both_engines():
    """A gantry moves while another one is at rest a millimetre from a wall."""
    gap = 0.001
    cell, state = two_gantries((("wall", (0.0, 0.0), (0.1, 0.1)),))
    state = state.with_configuration({"bx": 0.1 + gap, "by": 0.0})
    for engine in ABSOLUTE_ERROR:
        certifier = MotionCertifier(CollisionChecker(cell, state, ("ax", "ay"), engine=engine))
        assert certifier.sphere_test_applies(0.5 * gap)
        assert not certifier.sphere_test_applies(1.5 * gap)
        assert certifier.certify(np.array((-0.5, 0.0)), np.array((-0.1 - 3.0 * ABSOLUTE_ERROR[engine], 0.0))).free


ENGINES_AND_GAPS = [("coal", 0.001, True), ("bullet", 0.001, False), ("bullet", 0.003, True)]


@pytest.mark.parametrize(("engine", "gap", "free"), ENGINES_AND_GAPS)
def test_spheres_prove_motions_that_keep_the_error(engine, gap, free):
    """A sphere slides along a wall."""
    cell = make_cell((free_body("robot", sphere(RADIUS)),), (), (body("wall", box(1.0, 0.1, 0.1)),))
    state = place(cell.default_state(), "wall", at(0.0, RADIUS + 0.05 + gap))
    certifier = MotionCertifier(CollisionChecker(cell, state, engine=engine))
    assert certifier.quickly_free(np.array([-0.1]), np.array([0.1])) is free


@pytest.mark.parametrize(("engine", "gap", "free"), ENGINES_AND_GAPS)
def test_pairs_that_one_joint_moves_keep_the_error(engine, gap, free):
    """The sphere of a turning link passes that of the link before at this gap."""
    apart = 2.0 * RADIUS + gap
    links = {"base": [], "post": [sphere(RADIUS, at(0.5))], "turning": [sphere(RADIUS, at(0.5 - apart))]}
    chain = [
        (name, JointKind.REVOLUTE, *pair, at(0.0), (0.0, 0.0, 1.0))
        for name, *pair in (("first", "base", "post"), ("second", "post", "turning"))
    ]
    checker = checker_of_arm(links, chain).with_engine(engine)
    assert MotionCertifier(checker).certify(np.array((0.0, -1.0)), np.array((1.0, 1.0))).free is free


@pytest.mark.parametrize(("engine", "gap", "free"), ENGINES_AND_GAPS)
def test_pairs_at_rest_keep_the_error(engine, gap, free):
    """A gantry moves while another one, which could move as well, is at rest beside a wall."""
    cell, state = two_gantries((("wall", (0.0, 0.0), (0.1, 0.1)),))
    start = np.array((-0.5, 0.5, 0.1 + gap, 0.0))
    certifier = MotionCertifier(CollisionChecker(cell, state, ("ax", "ay", "bx", "by"), engine=engine))
    assert certifier.certify(start, start + np.array((0.1, 0.1, 0.0, 0.0))).free is free


def test_the_gap_of_fixed_pairs_allows_for_the_error():
    gap = 0.01
    cell = make_cell((free_body("robot", sphere(RADIUS)),), (), (body("wall", box(0.1, 0.1, 0.1)),))
    state = place(cell.default_state(), "wall", at(0.0, RADIUS + 0.05 + gap))
    gaps = [smallest_fixed_gap(CollisionChecker(cell, state, variables=(), engine=engine)) for engine in ABSOLUTE_ERROR]
    assert np.isclose(gaps[0] - gaps[1], ABSOLUTE_ERROR["bullet"], atol=1e-4)
