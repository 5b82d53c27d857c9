"""Paths are proven free by valid bounds on speed, and collisions are found."""

from pathlib import Path

import numpy as np
import pytest
from loaded_cells import loaded
from planning_cells import gantry, is_free, scissors, wall_with_gap

from robot_cell_planner.collision.certification.motion_bounds import motion_model
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.planning.path.validity import PathVerifier
from robot_cell_planner.planning.problem.collision_checks import CountedChecks
from robot_cell_planner.planning.problem.progress import ProgressMonitor

DEMO = Path(__file__).parents[3] / "config/demo/cell.yaml"


def verifier(cell, state, resolution=0.001):
    checks = CountedChecks(CollisionChecker(cell, state), ProgressMonitor(), 10**9)
    return PathVerifier(checks, resolution), checks


@pytest.mark.parametrize("make", [scissors, wall_with_gap, loaded], ids=["scissors", "gantry", "demo"])
def test_no_pair_approaches_faster_than_its_bound(make):
    """Compared with coal's distances before and after random steps of all variables."""
    cell, state = make()
    checker = CollisionChecker(cell, state)
    bounds = motion_model(checker).approach_bounds
    random = np.random.default_rng(2)
    limits = [cell.variables[name].limits for name in checker.variables]
    lower, upper = (np.array([getattr(limit, side) for limit in limits]) for side in ("lower", "upper"))
    for _ in range(100):
        q = random.uniform(lower, upper)
        moved = np.clip(q + random.normal(size=len(q)) * random.choice((1e-3, 0.05, 0.3)), lower, upper)
        reach = float(bounds @ np.abs(moved - q))
        before, after = (
            {(found.first, found.second): found.distance for found in checker.clearances(at, 10_000)}
            for at in (q, moved)
        )
        for pair in before.keys() & after.keys():
            if min(before[pair], after[pair]) > 0.0:
                assert abs(after[pair] - before[pair]) <= reach + 1e-5


def test_a_variable_that_moves_both_of_a_pair_counts_twice():
    """Spheres of 10 mm at 0.2 m from their axes turn against each other: points are at most 0.21 m from their axis."""
    bounds = motion_model(CollisionChecker(*scissors())).approach_bounds
    assert bounds.tolist() == pytest.approx([1.0, 0.42], rel=1e-5)
    assert bounds[1] >= 0.42


def test_a_joint_that_carries_both_of_a_pair_does_not_count():
    assert motion_model(CollisionChecker(*scissors(plate=False))).approach_bounds[0] == 0.0


def test_slides_have_a_bound_of_one():
    cell, state = wall_with_gap()
    assert motion_model(CollisionChecker(cell, state)).approach_bounds.tolist() == [1.0, 1.0]
    # Without obstacles there is no pair to bound.
    assert motion_model(CollisionChecker(*gantry())).approach_bounds.tolist() == [0.0, 0.0]


def test_few_states_prove_motions_far_from_obstacles():
    cell, state = wall_with_gap()
    verify, checks = verifier(cell, state)
    assert verify.is_free(np.array([-0.8, -0.9]), np.array([-0.8, 0.9]))
    assert checks.certified_fraction(np.array([[-0.8, -0.9], [-0.8, 0.9]])) == 1.0
    assert checks.states < 40


def test_near_a_wall_exact_distances_prove_the_motion():
    cell, state = wall_with_gap()
    verify, checks = verifier(cell, state)
    # 1 mm from the face of the wall, which the cube touches at -0.1.
    motion = np.array([[-0.101, -0.9], [-0.101, 0.4]])
    assert verify.is_free(*motion)
    assert checks.certified_fraction(motion) == 1.0


def test_along_a_wall_states_are_checked_one_by_one():
    cell, state = wall_with_gap()
    verify, checks = verifier(cell, state)
    # The cube touches the face all along, so that no distance proves the motion free.
    motion = np.array([[-0.1, -0.9], [-0.1, 0.4]])
    assert verify.is_free(*motion)
    assert checks.certified_fraction(motion) == 0.0
    assert checks.states > 1300


@pytest.mark.parametrize("resolution", [0.001, 0.01])
def test_colliding_motions_are_refused(resolution):
    cell, state = wall_with_gap()
    random = np.random.default_rng(4)
    verify, _ = verifier(cell, state, resolution)
    starts, ends = random.uniform(-0.9, 0.9, (2, 200, 2))
    verdicts = []
    for start, end in zip(starts, ends, strict=True):
        if not is_free(start):
            continue
        shares = np.linspace(0.0, 1.0, 4000)[:, None]
        free = all(is_free(q) for q in start + shares * (end - start))
        verdicts.append((verify.is_free(start, end), free))
    assert {verdict for verdict in verdicts if verdict[0] != verdict[1]} <= {(True, False)}
    # Missed motions graze a corner between two states.
    missed = sum(found != truth for found, truth in verdicts)
    assert missed <= 1
    assert sum(truth for _, truth in verdicts) > 20
    assert sum(not truth for _, truth in verdicts) > 20


def test_a_sheet_is_found_at_any_position():
    for x in np.linspace(-0.6, 0.6, 7):
        cell, state = gantry((("sheet", (x, 0.0), (0.0005, 0.5)),))
        verify, _ = verifier(cell, state, 0.05)
        assert not verify.is_free(np.array([-0.9, 0.0]), np.array([0.9, 0.0]))


def test_the_first_blocked_motion_is_named():
    cell, state = wall_with_gap()
    verify, _ = verifier(cell, state)
    path = np.array([[-0.8, 0.0], [-0.5, 0.2], [0.5, 0.2], [0.8, 0.0]])
    assert verify.first_blocked(path) == 1
    assert verify.first_blocked(path[2:]) is None
