"""Pairs that one joint moves: bounds are compared with closed formulas, and separated pairs are not checked."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.collision_cells import at, box, checker_of_arm, sphere

from robot_cell_planner.collision.certification.certifier import MotionCertifier
from robot_cell_planner.collision.certification.motion_bounds import motion_model
from robot_cell_planner.collision.certification.scene import MotionScene
from robot_cell_planner.collision.certification.single_joint_gaps import LARGEST, SHARE, single_joint_gaps
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.model.mechanism import JointKind

RADIUS = 0.04  # [m] of both spheres
POST = 0.5  # [m] from the axis to the sphere of the link before the joint
Z, Y = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)


def checker_of(reach, kind=JointKind.REVOLUTE, margin=0.0, axis=Z, joints=1):
    """A sphere on a post of one link, and one on a tip at a distance `reach` from the axis of the joint between."""
    links = {"base": [], "post": [sphere(RADIUS, at(POST))], "turning": [], "tip": [sphere(RADIUS, at(reach))]}
    origin = at(0.0)
    chain = [
        ("first", JointKind.REVOLUTE, "base", "post", origin, Z),
        ("second", kind, "post", "turning", origin, axis),
        ("third", JointKind.REVOLUTE if joints == 2 else JointKind.FIXED, "turning", "tip", origin, Y),
    ]
    return checker_of_arm(links, chain, margin)


@given(gap=st.floats(3e-4, 0.015), margin=st.sampled_from((0.0, 2e-4)))
@settings(max_examples=15, deadline=None)
@pytest.mark.parametrize(("kind", "axis"), [(JointKind.REVOLUTE, Z), (JointKind.PRISMATIC, Y)])
def test_a_bound_is_below_the_smallest_distance_and_above_a_fraction_of_it(kind, axis, gap, margin):
    """The spheres are closest where both are on the same side of the axis."""
    bound = single_joint_gaps(checker_of(POST - 2 * RADIUS - gap - margin, kind, margin, axis)).item()
    assert 0.9 * SHARE * gap <= bound <= gap


def test_larger_gaps_are_not_distinguished():
    assert single_joint_gaps(checker_of(0.1)).item() == LARGEST


@pytest.mark.parametrize("gap", [-0.01, 0.0, 1e-5])
def test_no_bound_is_given_for_a_pair_that_touches_at_any_value(gap):
    assert single_joint_gaps(checker_of(POST - 2 * RADIUS - gap)).item() == -math.inf


def test_no_bound_is_given_for_a_pair_that_two_joints_move():
    assert (single_joint_gaps(checker_of(0.1, joints=2)) == -math.inf).all()


def test_bounds_do_not_depend_on_the_states_before():
    """The slider of the first state is far beyond its limits, so that this state has a model of its own, without
    displacements; its other value is that of the model of the others."""
    links = {
        "base": [],
        "post": [sphere(RADIUS, at(POST))],
        "arm": [],
        "tip": [sphere(RADIUS, at(0.23))],
        "slider": [sphere(0.01)],
    }
    chain = [
        ("first", JointKind.REVOLUTE, "base", "post", at(0.0), Z),
        ("fixed", JointKind.REVOLUTE, "post", "arm", at(0.0), Z),
        ("second", JointKind.REVOLUTE, "arm", "tip", at(0.2), Z),
        ("slide", JointKind.PRISMATIC, "base", "slider", at(0.0, 0.0, 3.0), Z),
    ]

    def checker_at(cell, fixed, slide):
        state = cell.default_state().with_configuration({"fixed": fixed, "slide": slide})
        return CollisionChecker(cell, state, ("first", "second"))

    def bounds_of(reverse):
        """Bounds of all states, each of the cells with caches of its own."""
        cell = checker_of_arm(links, chain).cell
        on_grid = motion_model(checker_at(cell, 0.335, 0.0)).values[list(cell.variables).index("fixed")]
        states = [(on_grid, 10.0), (on_grid - 4e-5, 0.0), (on_grid + 4e-5, 0.0)]
        found = {}
        for state in reversed(states) if reverse else states:
            found[state] = single_joint_gaps(checker_at(cell, *state)).tolist()
        return found

    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        found = one.submit(bounds_of, False).result()
        assert found == other.submit(bounds_of, True).result()
    exact, *others = (max(bounds) for bounds in found.values())
    assert all(0.0 < bound < exact - 4e-5 for bound in others)


@pytest.mark.parametrize("angle", [0.28, 0.335, 0.36])
def test_bounds_hold_for_all_values_of_a_fixed_joint_that_share_them(angle):
    """The joint is between the post and the joint that moves the tip, 0.2 m from its axis."""
    links = {"base": [], "post": [sphere(RADIUS, at(POST))], "arm": [], "tip": [sphere(RADIUS, at(0.23))]}
    chain = [
        ("first", JointKind.REVOLUTE, "base", "post", at(0.0), Z),
        ("fixed", JointKind.REVOLUTE, "post", "arm", at(0.0), Z),
        ("second", JointKind.REVOLUTE, "arm", "tip", at(0.2), Z),
    ]
    of_all = checker_of_arm(links, chain)
    turned = np.linspace(-math.pi, math.pi, 2001)
    models, bounds = set(), set()
    for value in angle + np.linspace(-2e-4, 2e-4, 41):
        state = of_all.state.with_configuration({"fixed": float(value)})
        checker = CollisionChecker(of_all.cell, state, ("first", "second"))
        bound = single_joint_gaps(checker).item()
        x, y = (0.2 * of(value) + 0.23 * of(value + turned) for of in (np.cos, np.sin))
        apart = np.hypot(x - POST, y)
        gap = float(apart.min()) - 2 * RADIUS
        assert 0.5 * SHARE * gap < bound <= gap < LARGEST
        models.add(id(motion_model(checker)))
        bounds.add(bound)
    assert len(bounds) == len(models)
    assert 1 < len(models) < 41


def test_the_values_of_a_revolute_joint_beyond_its_limits_count():
    """Motions may lead beyond the limits of revolute joints."""
    checker = checker_of(POST)
    narrow = [np.array((0.0, value)) for value in (-2.0, 2.0)]
    assert single_joint_gaps(checker).item() == -math.inf
    assert not MotionCertifier(checker).quickly_free(*narrow)


def test_only_pairs_that_are_not_proven_free_are_checked():
    assert len(MotionScene(checker_of(0.1)).arrays().pairs) == 0
    assert len(MotionScene(checker_of(POST)).arrays().pairs) == 1


def test_a_pair_is_checked_at_margins_beyond_its_bound():
    checker = checker_of(POST - 2 * RADIUS - 0.01)
    scene, certifier = MotionScene(checker), MotionCertifier(checker)
    bound = single_joint_gaps(checker).item()
    assert len(scene.arrays(0.99 * bound).pairs) == 0
    assert len(scene.arrays(1.01 * bound).pairs) == 1
    start, end = np.array((0.0, -1.0)), np.array((1.0, 1.0))
    assert certifier.certify(start, end, 0.009).free
    assert not certifier.certify(start, end, 0.011).free


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_groups_of_pairs_change_no_verdict(seed):
    """Boxes of one link against those of another, with and without the spheres around all of them."""
    rng = np.random.default_rng(seed)
    parts = [[box(*rng.uniform(0.02, 0.1, 3), at(*rng.uniform(0.05, 0.3, 3)))] for _ in range(6)]
    names = [f"part{number}" for number in range(6)]
    links = {"base": [], "one": [], "two": [], **dict(zip(names, parts, strict=True))}
    chain = [
        ("first", JointKind.REVOLUTE, "base", "one", at(0.0), Z),
        ("second", JointKind.REVOLUTE, "one", "two", at(*rng.uniform(-0.3, 0.3, 3)), Y),
    ]
    chain += [(f"fixed{n}", JointKind.FIXED, ("one", "two")[n % 2], name, at(0.0), Z) for n, name in enumerate(names)]
    checker = checker_of_arm(links, chain)
    certifier = MotionCertifier(checker)
    motions = rng.uniform(-3.0, 3.0, (40, 2, 2))
    for start, end in motions:
        if certifier.quickly_free(start, end):
            along = start + np.linspace(0.0, 1.0, 200)[:, None] * (end - start)
            assert not checker.in_collision_batch(along).any()
