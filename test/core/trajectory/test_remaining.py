"""The remaining part of a trajectory follows the curve of the whole trajectory."""

import numpy as np
import pytest

from robot_cell_planner.trajectory.remaining import remaining
from robot_cell_planner.trajectory.trajectory import Trajectory

TIMES = np.array([0.5, 1.0, 1.7, 3.0])
WHOLE = Trajectory(("a", "b"), TIMES, np.array([[0.0, 1.0], [0.4, 0.2], [-0.3, 0.5], [1.0, 1.0]]))


@pytest.mark.parametrize("begin", [0.5, 0.9, 1.0, 2.9])
def test_the_curve_and_its_times_are_those_of_the_whole(begin):
    """Also for samples with positions only."""
    rest = remaining(WHOLE, begin)
    assert rest.times[0] == begin
    assert rest.duration == WHOLE.duration
    times = np.linspace(begin, WHOLE.duration, 50)
    for order in range(3):
        assert rest.at(times, order) == pytest.approx(WHOLE.at(times, order), abs=1e-9)


def test_it_may_end_before_the_whole():
    rest = remaining(WHOLE, 0.8, max_points=2)
    assert rest.times.tolist() == [0.8, 1.0]
    times = np.linspace(0.8, 1.0, 50)
    assert rest.at(times) == pytest.approx(WHOLE.at(times), abs=1e-9)


def test_nothing_remains_at_the_end():
    assert remaining(WHOLE, WHOLE.duration) is None
