"""2 pi wraps of joints: all within narrow limits, the nearest ones within wide limits, in bounded time and memory."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planning_cells import spinner

from robot_cell_planner.errors import LimitExceededError
from robot_cell_planner.kinematics.joint_wrapping import MAX_WRAPPED, nearest_turns, turns_within, with_all_wraps
from robot_cell_planner.planning.problem.space import MAX_EQUIVALENTS, joint_space, space_of

TURN = 2.0 * math.pi
ANGLES = st.floats(-30.0, 30.0)


@given(ANGLES, ANGLES, ANGLES, st.integers(1, 8))
def test_turns_are_those_within_limits_and_the_nearest_of_them(value, first, second, count):
    low, high = min(first, value), max(second, value)
    turns = turns_within(value, low, high)
    assert list(turns) == [turn for turn in range(-12, 13) if low <= value + turn * TURN <= high or turn == 0]
    near = nearest_turns(turns, (first - value) / TURN, count)
    assert len(near) == min(count, len(turns))
    left = set(turns) - set(near)
    distances = [[abs(value + turn * TURN - first) for turn in group] for group in (near, left)]
    assert not left or max(distances[0]) <= min(distances[1]) + TURN


@pytest.mark.parametrize("limit", [2e4, 1e6])  # 6,366 and 318,310 turns of each joint
def test_more_combinations_than_can_be_listed_are_refused_before_they_are_listed(limit):
    limits = np.array([[-limit] * 6, [limit] * 6])
    with pytest.raises(LimitExceededError, match=f"more than {MAX_WRAPPED} combinations"):
        with_all_wraps(np.zeros((1, 6)), np.zeros(6), limits, np.ones(6, dtype=bool))


def test_all_combinations_within_limits_are_listed():
    limits = np.array([[-7.0, -1.0, -13.0], [7.0, 7.0, 0.5]])
    found, sources = with_all_wraps(np.zeros((2, 3)), np.zeros(3), limits, np.array([True, False, True]))
    expected = [(a * TURN, 0.0, b * TURN) for a, b in product((-1, 0, 1), (-2, -1, 0))] * 2
    np.testing.assert_array_equal(found, expected)
    assert sources.tolist() == [0] * 9 + [1] * 9


def test_wraps_of_a_goal_within_wide_limits_are_those_nearest_to_the_start():
    cell, state = spinner()
    space = joint_space(cell, state)
    wide = space_of(cell, space.variables, space.start + 0.5)
    lower, upper = np.full(space.size, -9e5), np.full(space.size, 9e5)
    wide = type(wide)(**{**vars(wide), "lower": lower, "upper": upper, "wrapping": np.ones(space.size, dtype=bool)})
    found = wide.equivalents(space.start, continuous_only=False)
    grid = [space.start + TURN * np.array(turns) for turns in product(range(-12, 13), repeat=space.size)]
    expected = sorted(float(np.linalg.norm(q - wide.start)) for q in grid)[:MAX_EQUIVALENTS]
    assert len(found) == MAX_EQUIVALENTS
    np.testing.assert_allclose([float(np.linalg.norm(q - wide.start)) for q in found], expected)
