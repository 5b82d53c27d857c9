"""Distances against a search over all pairs, and the arguments of the search."""

import math

import numpy as np
import pytest
from collision_cells import at, body, bracket, make_cell, obstacles, place, settings, with_obstacles, working_cell

from robot_cell_planner.collision.certification.motion_bounds import rigid_bodies
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import InvalidRequestError, UnknownNameError
from robot_cell_planner.model.geometry import Shape

ENGINES = ("coal", "bullet")


def crowded(seed=3, count=20, collision=None):
    rng = np.random.default_rng(seed)
    bodies, poses = obstacles(count, rng)
    return with_obstacles(working_cell(bodies, collision or settings()), poses)


def every_distance(checker, q):
    """Distance of every pair of objects, without bounding boxes."""
    table, engine = checker.geometry_model, checker._engine
    engine.place(checker._expand(q))
    geometries = {}
    for index, obj in enumerate(table.object_indices.tolist()):
        geometries.setdefault(table.allowed_pairs.objects[obj].name, []).append(index)
    found = {}
    for pair in checker.allowed_pairs.checked():
        distances = [engine.distance(i, j).distance for i in geometries[pair.first] for j in geometries[pair.second]]
        found[pair.first, pair.second] = min(distances)
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_the_smallest_distance_is_that_of_all_pairs(engine):
    cell, state = crowded()
    checker = CollisionChecker(cell, state, engine=engine)
    rng = np.random.default_rng(0)
    overlaps = 0
    for _ in range(25):
        q = rng.uniform(-2.5, 2.5, 6)
        expected = sorted(every_distance(checker, q).values())
        found = checker.clearances(q, 5)
        assert [c.distance for c in found] == pytest.approx(expected[:5], abs=1e-6)
        assert checker.distance(q) == found[0]
        overlaps += expected[1] < 0.0
    assert 2 < overlaps < 23


def test_both_engines_have_the_same_distances():
    cell, state = crowded(8)
    coal, bullet = (CollisionChecker(cell, state, engine=engine) for engine in ENGINES)
    rng = np.random.default_rng(1)
    for _ in range(150):
        q = rng.uniform(-2.5, 2.5, 6)
        one, other = coal.distance(q), bullet.distance(q)
        if one.distance > 0.0:
            assert one.distance == pytest.approx(other.distance, abs=1e-3)
            if (one.first, one.second) == (other.first, other.second):
                assert one.margin == other.margin


def test_distance_and_verdict_agree():
    cell, state = crowded(4, collision=settings(margins={"*": 0.01, "arm": 0.002}))
    checker = CollisionChecker(cell, state)
    rng = np.random.default_rng(2)
    for _ in range(100):
        q = rng.uniform(-2.5, 2.5, 6)
        slack = min(c.slack for c in checker.clearances(q, 1000, max_distance=0.2))
        if abs(slack) > 2e-5:
            assert checker.in_collision(q) == (slack < 0.0)


def test_a_search_can_be_limited():
    cell, state = crowded()
    checker = CollisionChecker(cell, state)
    q = np.array([0.3, 0.4, -0.6, 0.2, 0.5, 0.0])
    all_of_them = checker.clearances(q, 10_000)
    assert len(all_of_them) == checker.allowed_pairs.pair_count
    assert [c.distance for c in all_of_them] == sorted(c.distance for c in all_of_them)
    limit = all_of_them[7].distance
    assert checker.clearances(q, 10_000, max_distance=limit) == all_of_them[:8]
    assert checker.distance(q, max_distance=all_of_them[0].distance - 1e-3).distance == math.inf
    named = checker.clearances(q, 10_000, names=("gripper", "obstacle3"))
    expected_named = [c for c in all_of_them if "obstacle3" in c.second or "gripper" in c.first + c.second]
    assert list(named) == expected_named


@pytest.mark.parametrize(("engine", "count"), [("coal", 20), ("bullet", 20), ("coal", 700)])
def test_the_closest_of_many_states_is_the_closest_of_each(engine, count):
    """With 700 obstacles, pairs are no longer listed one by one."""
    cell, state = crowded(6, count)
    checker = CollisionChecker(cell, state, engine=engine)
    rng = np.random.default_rng(4)
    depths = []
    for _ in range(4 if count > 20 else 12):
        configurations = rng.uniform(-2.5, 2.5, (9, 6))
        each = [checker.distance(q) for q in configurations]
        best = min(range(9), key=lambda index: each[index].distance)
        assert checker.closest_of(configurations) == (best, each[best])
        apart = [index for index in range(9) if each[index].distance > 0.0]
        if apart:
            free = configurations[apart]
            best = min(apart, key=lambda index: each[index].distance)
            assert checker.closest_of(free) == (apart.index(best), each[best])
            assert checker.closest_of(free, each[best].distance - 1e-6) is None
            assert checker.closest_of(free, each[best].distance + 1e-6) == (apart.index(best), each[best])
        depths.append(each[best].distance)
    assert min(depths) < 0.0 or count == 20


def moved_apart(checker, q, other):
    """The pairs of objects whose relative placement differs between two configurations."""
    table, found = checker.geometry_model, {}
    poses = [checker._engine.place(checker._expand(each)).copy() for each in (q, other)]
    for index, obj in enumerate(table.object_indices.tolist()):
        name = table.allowed_pairs.objects[obj].name
        static = table.joint_T_geometry[index]
        found[name] = [pose[index] if index < table.moving_count else static for pose in poses]
    for pair in checker.allowed_pairs.checked():
        first, second = found[pair.first], found[pair.second]
        here, there = (np.linalg.solve(one, two) for one, two in zip(first, second, strict=True))
        if not np.allclose(here, there, atol=1e-9):
            yield pair.first, pair.second


@pytest.mark.parametrize("moved", [1, 3, 6])
def test_pairs_that_no_variable_moves_do_not_count_along_paths(moved):
    cell, state = crowded(6)
    variables = CollisionChecker(cell, state).variables[-moved:]
    checker = CollisionChecker(cell, state, variables)
    bodies, rng = rigid_bodies(checker), np.random.default_rng(moved)
    left_out = 0
    for _ in range(20):
        configurations = rng.uniform(-2.0, 2.0, (2, moved))
        pairs = set(moved_apart(checker, *configurations))
        each = [every_distance(checker, q) for q in configurations]
        expected = min(distances[pair] for distances in each for pair in pairs)
        _, found = checker.closest_of(configurations, bodies=bodies)
        assert found.distance == pytest.approx(expected, abs=1e-6)
        assert (found.first, found.second) in pairs
        left_out += min(min(distances.values()) for distances in each) < expected - 1e-3
    assert left_out > 0 or moved == 6


def test_the_first_of_equally_close_states_is_returned():
    cell, state = working_cell((body("far", Shape(bracket())),))
    checker = CollisionChecker(cell, place(state, "far", at(3.0)))
    turned = np.zeros((600, 6))
    turned[:, 5] = np.linspace(0.0, 1.0, 600)
    repeated = np.tile(turned[0], (600, 1))
    assert checker.closest_of(repeated) == (0, checker.distance(repeated[0]))
    closest = min(checker.distance(q).distance for q in turned)
    assert checker.closest_of(turned)[1].distance == pytest.approx(closest, abs=1e-9)


@pytest.mark.parametrize("beyond", [0.0, 0.02])
def test_bounds_of_all_states_hold_at_any_maximum_distance(beyond):
    cell, state = crowded()
    checker = CollisionChecker(cell, state)
    states = np.random.default_rng(5).uniform(-2.5, 2.5, (400, 6))
    distances = np.array([checker.distance(q).distance for q in states])
    free = states[distances > 0.0]
    distances = distances[distances > 0.0]
    for limit in (distances.min() - 1e-4, distances.min() + 1e-4, 0.1, math.inf):
        found, bounds = checker.closest_search().nearest(free, limit, beyond)
        assert (found is None) == (distances.min() > limit)
        if found is not None:
            assert found.distance == pytest.approx(distances.min(), abs=2e-6)
        assert (bounds <= distances + 2e-6).sum() == np.isfinite(bounds).sum() >= (beyond > 0.0)
        assert (distances[np.isinf(bounds)] > min(limit, distances.min()) + beyond - 2e-6).all()


def test_far_objects_are_found_too():
    cell, state = working_cell((body("far", Shape(bracket())),))
    state = place(state, "far", at(500.0))
    found = CollisionChecker(cell, state).clearances(np.zeros(6), names=("far",))
    assert 499.0 < found[0].distance < 500.0


def test_a_search_for_one_pair_finds_its_distance():
    cell, state = crowded()
    checker = CollisionChecker(cell, state)
    states = np.random.default_rng(5).uniform(-2.5, 2.5, (12, 6))
    each = [every_distance(checker, q) for q in states]
    for first, second in list(each[0])[::7]:
        distances = [found[first, second] for found in each]
        index, closest = checker.search_of_pair(second, first).closest_of(states, math.inf)
        assert distances[index] == pytest.approx(min(distances), abs=2e-6)
        assert closest.distance == pytest.approx(min(distances), abs=2e-6)
        assert {closest.first, closest.second} == {first, second}


def test_bad_arguments_are_refused():
    cell, state = crowded()
    checker = CollisionChecker(cell, state)
    with pytest.raises(InvalidRequestError, match="are not checked: SRDF"):
        checker.search_of_pair(
            *next((p.first, p.second) for p in checker.allowed_pairs.skipped() if "SRDF" in p.reason)
        )
    with pytest.raises(InvalidRequestError, match="count is 0"):
        checker.clearances(None, 0)
    with pytest.raises(UnknownNameError, match=r"'obstacle99'.*nearest"):
        checker.clearances(None, 1, names=("obstacle99",))


def test_a_distance_that_is_no_number_is_refused():
    """With more pairs than there are, the search would not end."""
    checker = CollisionChecker(*crowded())
    with pytest.raises(InvalidRequestError, match="max_distance is nan, expected a number or infinity"):
        checker.clearances(count=10_000, max_distance=math.nan)
    with pytest.raises(InvalidRequestError, match="max_distance is nan"):
        checker.closest_of(checker.default[None], math.nan)
    with pytest.raises(InvalidRequestError, match="max_pairs is -1, expected at least 0"):
        checker.report(max_pairs=-1)


def test_without_pairs_the_distance_is_infinite():
    cell = make_cell()
    empty = CollisionChecker(cell, cell.default_state())
    assert empty.closest_of(np.zeros((2, 0))) is None
    assert empty.distance().distance == math.inf
    assert not empty.in_collision(np.zeros(0))
    assert not empty.report().in_collision
