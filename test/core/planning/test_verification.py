"""Paths are proven free by bounds on speed that nothing exceeds, and what collides is found."""

import numpy as np
import pytest
from planning_cells import gantry, is_free, wall_with_gap

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.solids import local_bounds, solids
from robot_cell_planner.kinematics.forward import forward_batch
from robot_cell_planner.planning.checks import CountedChecks
from robot_cell_planner.planning.speed_bounds import speed_bounds
from robot_cell_planner.planning.verification import PathVerifier
from robot_cell_planner.planning.watch import Watch


def verifier(cell, state, resolution=0.001):
    checks = CountedChecks(CollisionChecker(cell, state), Watch(), 10**9)
    return PathVerifier(checks, resolution), checks


def test_no_point_moves_faster_than_its_bound(demo):
    cell, state = demo
    checker = CollisionChecker(cell, state, group="")
    bounds = speed_bounds(checker)
    random = np.random.default_rng(2)
    lower, upper = (
        np.array([getattr(cell.variables[name].limits, side) for name in checker.variables])
        for side in ("lower", "upper")
    )
    configurations = random.uniform(lower, upper, (300, len(bounds)))
    fastest = np.zeros(len(bounds))
    for owner in checker.rule_book.owners:
        if not owner.moves:
            continue
        points = []
        for shape in owner.shapes:
            for solid in solids(shape.geometry):
                centre, radius = np.zeros(4), 0.5 * np.linalg.norm(np.subtract(*local_bounds(solid))) / np.sqrt(3)
                centre[3] = 1.0
                inside = np.concatenate((0.99 * radius * np.eye(4)[:3], -0.99 * radius * np.eye(4)[:3])) * 0.5
                points.append((shape.pose.matrix @ (inside + centre).T).T)
        points = np.concatenate(points)
        for column in range(len(bounds)):
            moved = configurations.copy()
            moved[:, column] += 1e-6
            before, after = (
                forward_batch(cell, state, owner.name, checker.variables, rows) @ points.T
                for rows in (configurations, moved)
            )
            speeds = np.linalg.norm((after - before)[:, :3], axis=1) / 1e-6
            fastest[column] = max(fastest[column], speeds.max())
    assert (fastest <= bounds * (1.0 + 1e-6)).all()
    # A bound that is far too wide would cost states for nothing.
    assert (bounds[:3] <= 2.0 * fastest[:3]).all()


def test_slides_have_a_bound_of_one():
    cell, state = gantry()
    assert speed_bounds(CollisionChecker(cell, state)).tolist() == [1.0, 1.0]


def test_with_room_all_around_few_states_prove_everything():
    cell, state = wall_with_gap()
    verify, checks = verifier(cell, state)
    assert verify.is_free(np.array([-0.8, -0.9]), np.array([-0.8, 0.9]))
    assert verify.proven == pytest.approx(verify.length)
    assert checks.states < 40


def test_near_a_wall_exact_distances_prove_the_motion():
    cell, state = wall_with_gap()
    verify, _ = verifier(cell, state)
    # 1 mm from the wall's face, which stands at -0.1 for the middle of the cube.
    assert verify.is_free(np.array([-0.101, -0.9]), np.array([-0.101, 0.4]))
    assert verify.proven == verify.length == pytest.approx(1.3)


def test_along_a_wall_states_are_checked_one_by_one():
    cell, state = wall_with_gap()
    verify, checks = verifier(cell, state)
    # Touching its face all along, which no distance proves free.
    assert verify.is_free(np.array([-0.1, -0.9]), np.array([-0.1, 0.4]))
    assert verify.proven == 0.0
    assert checks.states > 1300


@pytest.mark.parametrize("resolution", [0.001, 0.01])
def test_motions_that_collide_on_paper_are_refused(resolution):
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
    # What is missed grazes a corner between two states.
    missed = sum(found != truth for found, truth in verdicts)
    assert missed <= 1
    assert sum(truth for _, truth in verdicts) > 20
    assert sum(not truth for _, truth in verdicts) > 20


def test_a_sheet_is_found_wherever_it_stands():
    for x in np.linspace(-0.6, 0.6, 7):
        cell, state = gantry((("sheet", (x, 0.0), (0.0005, 0.5)),))
        verify, _ = verifier(cell, state, 0.05)
        assert not verify.is_free(np.array([-0.9, 0.0]), np.array([0.9, 0.0]))


def test_the_first_motion_that_is_blocked_is_named():
    cell, state = wall_with_gap()
    verify, _ = verifier(cell, state)
    path = np.array([[-0.8, 0.0], [-0.5, 0.2], [0.5, 0.2], [0.8, 0.0]])
    assert verify.first_blocked(path) == 1
    assert verify.first_blocked(path, 2) is None
