"""Frame constraints: deviations are compared with scipy and closed formulas; projection, and traced motions."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from robot_cell_planner.kinematics._kernels import frame_set_kernels as kernels
from robot_cell_planner.kinematics._kernels import frame_set_motion_kernels as motion_kernels
from robot_cell_planner.kinematics.forward import chain_to
from robot_cell_planner.kinematics.ik.warm_up import practice_arms

RULES = (
    kernels.AXIS_IN_CONE,
    kernels.ORIENTATION,
    kernels.POSITION_IN_BOX,
    kernels.POSITION_ON_PLANE,
    kernels.POSITION_ON_LINE,
)
BASIS = np.eye(6)
STEP = 0.2
CELL, STATE = practice_arms()[0]
CHAIN = chain_to(CELL, STATE, CELL.tip_link(), CELL.robot.group().variables)
seeds = st.integers(0, 2**32 - 1)


def sets_of(rules, random, tolerance=1e-3):
    """Constraint sets in random poses. The box has a free direction."""
    count, rows = len(rules), len(CHAIN.table)
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, :3] = Rotation.random(count, random).as_matrix()
    poses[:, :3, 3] = random.uniform(-0.5, 0.5, (count, 3))
    axes = random.normal(size=(count, 3))
    return kernels.FrameSets(
        chains=np.concatenate([CHAIN.table] * count),
        spans=np.array([(rows * k, rows * (k + 1)) for k in range(count)]),
        rules=np.array(rules),
        tolerances=np.full(count, tolerance),
        poses=poses,
        axes=axes / np.linalg.norm(axes, axis=1)[:, None],
        extents=np.tile((0.1, 0.2, math.inf), (count, 1)),
        bounds=np.array((np.full(6, -math.pi), np.full(6, math.pi))),
    )


def expected(sets, k, q):
    """The deviation by scipy and closed formulas."""
    pose, at, axis = CHAIN.forward(q), sets.poses[k], sets.axes[k]
    offset = pose[:3, 3] - at[:3, 3]
    if sets.rules[k] == kernels.AXIS_IN_CONE:
        return math.acos(np.clip(pose[:3, 2] @ axis, -1.0, 1.0))
    if sets.rules[k] == kernels.ORIENTATION:
        return (Rotation.from_matrix(pose[:3, :3]) * Rotation.from_matrix(at[:3, :3]).inv()).magnitude()
    if sets.rules[k] == kernels.POSITION_ON_PLANE:
        return abs(offset @ axis)
    if sets.rules[k] == kernels.POSITION_ON_LINE:
        return np.linalg.norm(np.cross(offset, axis))
    local = at[:3, :3].T @ offset
    return np.linalg.norm(np.maximum(np.abs(local) - sets.extents[k], 0.0))


@settings(deadline=None)
@given(seeds)
def test_deviations_are_those_of_other_formulas(seed):
    random = np.random.default_rng(seed)
    sets, q = sets_of(RULES, random), random.uniform(-3.0, 3.0, 6)
    found = kernels.deviations(sets, q)
    assert found == pytest.approx([expected(sets, k, q) for k in range(len(RULES))], abs=2e-8)
    assert kernels.excess(sets, np.stack((q, q))) == pytest.approx(np.full(2, found.max() / 1e-3))


@settings(deadline=None)
@given(seeds)
def test_gradients_are_differences_of_deviations(seed):
    random = np.random.default_rng(seed)
    sets, q = sets_of(RULES, random), random.uniform(-3.0, 3.0, 6)
    residuals, gradients = np.empty(len(RULES)), np.empty((len(RULES), 6))
    kernels.residuals(sets, q, residuals, gradients)
    deviations = kernels.deviations(sets, q)
    assert residuals == pytest.approx(np.maximum(deviations - 0.5e-3, 0.0))
    # A deviation is not smooth where it is 0 or, as an angle, half a turn, nor where another face of a box is nearest.
    smooth = (deviations > 1e-3) & (deviations < 3.1)
    for joint in range(6):
        moved = [q + sign * 1e-6 * np.eye(6)[joint] for sign in (1.0, -1.0)]
        difference = (kernels.deviations(sets, moved[0]) - kernels.deviations(sets, moved[1])) / 2e-6
        assert gradients[smooth, joint] == pytest.approx(difference[smooth], abs=1e-4)


def near(sets, q):
    """Sets that contain the frame of a configuration."""
    pose = CHAIN.forward(q)
    count = len(sets.rules)
    return sets._replace(poses=np.tile(pose, (count, 1, 1)), axes=np.tile(pose[:3, 2], (count, 1)))


@settings(deadline=None)
@given(seeds, st.sampled_from([(rule,) for rule in RULES] + [(kernels.POSITION_ON_LINE, kernels.ORIENTATION)]))
def test_projections_are_within_the_tolerance_and_bounds(seed, rules):
    random = np.random.default_rng(seed)
    q = random.uniform(-2.0, 2.0, 6)
    sets = near(sets_of(rules, random), q)
    moved = q + random.uniform(-0.05, 0.05, 6)
    if kernels.project(sets, moved, BASIS):
        assert kernels.deviations(sets, moved).max() <= 0.56e-3
        assert (np.abs(moved) <= math.pi).all()


def test_most_projections_nearby_succeed():
    random = np.random.default_rng(1)
    succeeded = 0
    for _ in range(200):
        q = random.uniform(-2.0, 2.0, 6)
        sets = near(sets_of((kernels.POSITION_ON_PLANE, kernels.AXIS_IN_CONE), random), q)
        succeeded += kernels.project(sets, q + random.uniform(-0.05, 0.05, 6), BASIS)
    assert succeeded >= 195


def test_projection_along_a_basis_leaves_the_rest():
    random = np.random.default_rng(2)
    basis = np.ascontiguousarray(np.eye(6)[:, 1:])
    q = random.uniform(-1.0, 1.0, 6)
    sets = near(sets_of((kernels.POSITION_ON_PLANE,), random), q)
    moved = q + random.uniform(-0.1, 0.1, 6)
    first = moved[0]
    assert kernels.project(sets, moved, basis)
    assert moved[0] == first


@settings(deadline=None)
@given(seeds, st.integers(1, 3))
def test_a_step_is_the_smallest_that_solves_the_equations(seed, count):
    """Compared with the pseudoinverse; residuals within the precision are ignored."""
    random = np.random.default_rng(seed)
    sets, gradients = sets_of((kernels.POSITION_ON_PLANE,) * count, random), random.normal(size=(count, 6))
    residuals = random.uniform(0.01, 0.1, count)
    step = np.zeros(6)
    kernels.add_smallest_step(sets, residuals, gradients, BASIS, step)
    assert step == pytest.approx(-np.linalg.pinv(gradients) @ residuals, rel=1e-6, abs=1e-9)


def test_equal_constraints_count_once():
    """Their gradients depend on each other."""
    random = np.random.default_rng(3)
    q = random.uniform(-1.0, 1.0, 6)
    sets = near(sets_of((kernels.POSITION_ON_PLANE, kernels.POSITION_ON_PLANE), random), q)
    single = ("spans", "rules", "tolerances", "poses", "axes", "extents")
    one = sets._replace(**{name: getattr(sets, name)[:1] for name in single})
    moved, alone = q + 0.05, q + 0.05
    assert kernels.project(sets, moved, BASIS)
    assert kernels.project(one, alone, BASIS)
    assert moved == pytest.approx(alone, abs=1e-12)


@settings(deadline=None, max_examples=30)
@given(seeds)
def test_a_traced_motion_stays_on_the_sets(seed):
    """Also between its points, which are at most two steps apart; the ends are the given ones."""
    random = np.random.default_rng(seed)
    start = random.uniform(-1.5, 1.5, 6)
    sets = near(sets_of((kernels.AXIS_IN_CONE,), random, tolerance=2e-3), start)
    end = start + random.uniform(-0.5, 0.5, 6)
    if not kernels.project(sets, end, BASIS):
        return
    path = kernels.trace(sets, start, end, STEP, BASIS)
    if not len(path):
        return
    path = motion_kernels.refined(sets, path, BASIS)
    if not len(path):
        return
    assert (path[0] == start).all()
    assert (path[-1] == end).all()
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).max() <= 2.0 * STEP
    fractions = np.linspace(0.0, 1.0, 41)[:, None]
    for first, second in pairwise(path):
        assert kernels.excess(sets, first + fractions * (second - first)).max() <= 1.0
