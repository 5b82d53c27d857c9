"""Path tools in a plane with a round obstacle."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planning_cells import spinner

from robot_cell_planner.collision.motion_sampling import halving_order, segments
from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.planning.path.simplification import (
    arc_lengths,
    densify,
    drop_waypoints,
    point_at,
    shortcut,
    simplify,
    without_repeats,
)
from robot_cell_planner.planning.problem.collision_checks import CountedChecks
from robot_cell_planner.planning.problem.local_planner import StraightLocalPlanner
from robot_cell_planner.planning.problem.plan import path_length
from robot_cell_planner.planning.problem.progress import ProgressMonitor
from robot_cell_planner.planning.problem.sampled_motions import FreeStates, first_collision
from robot_cell_planner.planning.problem.space import joint_space

RADIUS = 0.5


class Plane:
    """Replaces a collision checker: a disc of radius 0.5 at the origin is not free."""

    engine = "none"
    decomposed_by_engine = ("disc",)  # so that nothing is certified
    default = np.zeros(2)

    def in_collision(self, q):
        return math.hypot(*q) < RADIUS

    def first_collision_on_motion(self, start, end, step):
        count = max(1, math.ceil(np.abs(end - start).max() / step - 1e-9))
        for fraction in halving_order(count):
            if self.in_collision(start + fraction * (end - start)):
                return fraction
        return None


@pytest.fixture
def checks():
    return CountedChecks(Plane(), ProgressMonitor(), 10**9)


def is_free(path, checks):
    return all(checks.motion_free(start, end, 0.001) for start, end in pairwise(path))


ZIGZAG = np.array([[-1.0, 0.0], [-0.9, 0.8], [-0.2, 0.7], [0.0, 1.4], [0.4, 0.9], [0.9, 1.0], [1.0, 0.0]])


def test_simplifying_removes_superfluous_waypoints(checks):
    line = np.column_stack((np.linspace(-1, 1, 9), np.full(9, 0.8)))
    assert len(simplify(line, StraightLocalPlanner(checks, 0.01))) == 2
    simple = simplify(ZIGZAG, StraightLocalPlanner(checks, 0.01))
    assert 2 < len(simple) < len(ZIGZAG)
    assert is_free(simple, checks)


def test_shortcuts_shorten_and_stay_free(checks):
    short = shortcut(ZIGZAG, StraightLocalPlanner(checks, 0.01), seed=1)
    # Around the disc: two tangents of sqrt(1 - 0.25) and the arc of pi - 2 acos(0.5) between them.
    shortest = 2 * math.sqrt(0.75) + RADIUS * (math.pi - 2 * math.acos(RADIUS))
    assert shortest - 0.01 <= path_length(short) <= 1.1 * shortest
    assert path_length(short) < path_length(ZIGZAG)
    assert is_free(short, checks)
    assert (short[0] == ZIGZAG[0]).all()
    assert (short[-1] == ZIGZAG[-1]).all()


def test_shortcuts_repeat_for_a_seed(checks):
    first, second = (shortcut(ZIGZAG, StraightLocalPlanner(checks, 0.01), seed=4) for _ in range(2))
    assert first.tobytes() == second.tobytes()
    assert shortcut(ZIGZAG, StraightLocalPlanner(checks, 0.01), seed=5).tobytes() != first.tobytes()


def test_waypoints_that_can_be_removed_are_removed(checks):
    path = drop_waypoints(ZIGZAG, StraightLocalPlanner(checks, 0.01))
    assert is_free(path, checks)
    for index in range(1, len(path) - 1):
        assert not checks.motion_free(path[index - 1], path[index + 1], 0.01)


def test_densifying_keeps_waypoints_and_spacing():
    points, places = densify(ZIGZAG, 0.07)
    assert np.abs(np.diff(points, axis=0)).max() <= 0.07 + 1e-12
    assert (np.diff(places) > 0.0).all()
    for index, waypoint in enumerate(ZIGZAG):
        assert (points[places == index] == waypoint).all()
    with pytest.raises(InvalidRequestError, match="spacing"):
        densify(ZIGZAG, 0.0)
    with pytest.raises(InvalidRequestError, match="too many"):
        densify(ZIGZAG, 1e-9)


@settings(deadline=None)
@given(st.floats(0.0, 1.0))
def test_points_on_a_path_lie_at_their_length(share):
    places = arc_lengths(ZIGZAG)
    place = share * places[-1]
    point = point_at(ZIGZAG, places, place)
    before = ZIGZAG[: int(np.searchsorted(places, place, side="right"))]
    assert path_length(np.vstack((before, point))) == pytest.approx(place, abs=1e-9)


def test_repeats_are_dropped_and_the_end_kept():
    path = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 1e-12]])
    assert without_repeats(path).tolist() == [[0.0, 0.0], [1.0, 1e-12]]


@settings(deadline=None)
@given(
    st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4),
    st.floats(0.002, 1.0),
    st.integers(0, 2**32 - 1),
    st.lists(st.booleans(), min_size=2, max_size=2),
)
def test_the_first_collision_is_that_of_the_checker(ends, step, seed, known):
    """For any part of the free samples that is certified, and whether or not the ends are known to be free."""
    plane, random = Plane(), np.random.default_rng(seed)
    start, end = np.array(ends[:2]), np.array(ends[2:])
    free_states = FreeStates()
    for q, is_known in zip((start, end), known, strict=True):
        if is_known and not plane.in_collision(q):
            free_states.add(q)

    def proven_free(rows):
        return np.array([not plane.in_collision(q) for q in rows]) & (random.random(len(rows)) < 0.5)

    fraction, count = first_collision(plane, start, end, step, proven_free, free_states)
    assert fraction == plane.first_collision_on_motion(start, end, step)
    order = list(halving_order(segments(start, end, step)))
    assert count == (len(order) if fraction is None else 1 + order.index(fraction))
    assert fraction is not None or (start in free_states and end in free_states)


def test_states_are_counted_one_by_one(checks):
    checked_states = []
    check = checks.checker.in_collision
    checks.checker.in_collision = lambda q: checked_states.append(1) or check(q)
    for start, end in ((-1.0, 1.0), (-1.0, -0.6), (-0.1, 1.0), (-0.99, -0.49)):
        checks.motion_free(np.array([start, 0.0]), np.array([end, 0.0]), 0.013)
        assert checks.states == len(checked_states)
    assert checks.motions == 4
    assert checks.blocked.count == 3
    checks.motion_free(np.array([-1.0, 0.0]), np.array([-0.6, 0.0]), 0.013)
    assert checks.states == len(checked_states) + 2  # both ends count, but are not checked again


def test_equivalents_differ_by_whole_turns_of_revolute_joints():
    cell, state = spinner()
    space = joint_space(cell, state)
    turned = space.equivalents(np.array([1.0, 1.0]), continuous_only=False)
    # The endless joint may move one turn from its start, so 1 and 1 - 2 pi; the limits of the wide one contain four.
    assert len(turned) == 8
    assert turned[0].tolist() == [1.0, 1.0]
    lengths = [np.linalg.norm(q) for q in turned]
    assert lengths == sorted(lengths)
    for q in turned:
        turns = (q - 1.0) / (2.0 * math.pi)
        assert np.allclose(turns, np.round(turns), atol=1e-12)
        assert (q >= space.lower).all()
        assert (q <= space.upper).all()
    assert len(space.equivalents(np.array([1.0, 1.0]), continuous_only=True)) == 2
