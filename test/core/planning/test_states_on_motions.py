"""States on certified motions are not checked; all others are checked."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from planning_cells import wall_with_gap

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.planning.path.motion_samples import ON_MOTION, on_proven_motions
from robot_cell_planner.planning.path.path_kernels import find_on_motions
from robot_cell_planner.planning.problem.collision_checks import CountedChecks
from robot_cell_planner.planning.problem.progress import ProgressMonitor

THROUGH_GAP = np.array([[-0.8, 0.0], [-0.5, 0.0], [-0.5, 0.6], [0.5, 0.6]])
THROUGH_WALL = np.array([[0.5, 0.2], [-0.5, 0.2]])


def found_on(path, chosen, states, look_ahead=64):
    found = np.empty(len(states), dtype=np.intp)
    find_on_motions(path, np.array(chosen, dtype=np.intp), states, ON_MOTION, look_ahead, found)
    return found.astype(bool)


def along(path, parameters):
    whole = np.minimum(parameters.astype(int), len(path) - 2)
    return path[whole] + (parameters - whole)[:, None] * (path[whole + 1] - path[whole])


@given(st.integers(2, 8), st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_states_on_chosen_motions_are_found_and_no_others(count, dof, seed):
    random = np.random.default_rng(seed)
    path = random.uniform(-3.0, 3.0, (count, dof))
    chosen = random.integers(0, 2, count - 1)
    parameters = np.sort(random.uniform(0.01, count - 1.01, 30))
    parameters = parameters[np.abs(parameters - np.rint(parameters)) > 1e-3]  # not at the waypoint between two motions
    states = along(path, parameters)
    expected = chosen[parameters.astype(int)] == 1
    if dof > 1:  # motions of one joint may overlap each other
        np.testing.assert_array_equal(found_on(path, chosen, states), expected)
    assert found_on(path, np.ones(count - 1), states).all()
    beside = states.copy()
    beside[:, 0] += 10.0
    assert not found_on(path, np.ones(count - 1), beside).any()


def test_a_state_beside_its_motion_is_not_on_it():
    path, middle = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0.5, 0.0])
    states = middle + np.array([[0.0, 0.0], [0.0, 0.5 * ON_MOTION], [0.0, 2.0 * ON_MOTION], [0.0, 1e-6]])
    assert found_on(path, [1], states).tolist() == [True, True, False, False]


def test_a_waypoint_is_on_a_motion_that_begins_or_ends_there():
    path = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    for chosen in ([1, 0], [0, 1]):
        assert found_on(path, chosen, path[1:2]).all()


def test_only_states_on_certified_motions_are_skipped():
    cell, state = wall_with_gap()
    checks = CountedChecks(CollisionChecker(cell, state), ProgressMonitor(), 10**9)
    path = np.concatenate((THROUGH_GAP[:3], THROUGH_WALL))
    states = along(path, np.linspace(0.0, len(path) - 1, 401))
    assert not on_proven_motions(checks, path, states).any()
    proven = checks.certified_motions(path)
    assert proven.any()
    assert not proven.all()
    free = on_proven_motions(checks, path, states)
    assert free.any()
    assert not (free & ~checks.batch_free(states)).any()
