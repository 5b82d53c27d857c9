"""Sample times of a curve: multiples of a period, rests and jerk steps, with a minimum distance."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from robot_cell_planner.trajectory.curve_kernels import merge_times

APART = 0.1
TIMES = st.lists(st.integers(-5, 105).map(lambda number: 0.04 * number), max_size=12).map(np.array)


def merged(grid, rests, steps):
    found = np.empty(len(grid) + len(rests) + len(steps) + 2)
    return found[: merge_times(grid, rests.astype(float), steps.astype(float), APART, found)]


def near(time, others):
    """Whether a time is closer than APART to one of others."""
    return len(others) > 0 and np.abs(np.asarray(others) - time).min() < APART


@given(st.integers(1, 12), TIMES, TIMES)
def test_each_time_is_sampled_unless_one_with_precedence_is_near(count, rests, steps):
    grid = np.linspace(0.0, 4.0, count) if count > 1 else np.zeros(1)
    found = merged(grid, rests, steps)
    assert (np.diff(found) > 0.0).all()
    ends = grid[[0, -1]]
    kept_rests = [rest for rest in rests if not near(rest, ends)]
    fixed = [*ends, *kept_rests]
    assert set(fixed) <= set(found)
    kept_steps = []
    for step in np.sort(steps):
        if not near(step, [*fixed, *kept_steps]):
            kept_steps.append(step)
    fixed += kept_steps
    assert set(found) == {*fixed, *(time for time in grid if not near(time, fixed))}
