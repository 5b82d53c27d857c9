"""Timed Cartesian motions: deviations of the curve through the points of a path, and its places on the path."""

import numpy as np
import pytest
from cartesian_paths import distances_to_line, follow, frames, random_motion, tool_poses

from robot_cell_planner.planning.cartesian.deviations import places_on_path
from robot_cell_planner.trajectory.timing import TimingOptions

LIMIT = 1e-4  # [m]


@pytest.mark.parametrize(("seed", "exceeds"), [(974, True), (91, False), (121, False)])
def test_a_trajectory_that_deviates_further_than_the_points_of_its_path_may_has_a_warning(seed, exceeds):
    cell, state, pose, end = random_motion(seed, 0.2, 0.01)
    timing = TimingOptions()
    plan = follow(
        cell, state, frames(end), max_deviation=LIMIT, max_step_distance=0.003, check_collision=False, timing=timing
    )
    assert plan.cartesian.max_deviation <= LIMIT
    times = np.linspace(0.0, plan.duration, 3000)
    positions = tool_poses(cell, state, plan.variables, plan.trajectory.at(times))[:, :3, 3]
    assert (distances_to_line(positions, pose, end).max() > LIMIT) == exceeds
    assert any(text.startswith("the trajectory deviates by") for text in plan.warnings) == exceeds


class _Read(np.ndarray):
    """A path that counts how often it is read."""

    count = 0

    def __getitem__(self, key):
        _Read.count += 1
        return super().__getitem__(key)


def test_places_of_samples_are_found_without_a_search_of_the_whole_path():
    rng = np.random.default_rng(0)
    path = np.cumsum(rng.uniform(0.1, 1.0, (200, 3)), axis=0)
    passing = np.cumsum(rng.uniform(0.1, 1.0, 200))
    times = np.sort(rng.uniform(passing[0], passing[-1], 1000))
    positions = np.column_stack([np.interp(times, passing, column) for column in path.T])
    _Read.count = 0
    rows, fractions = places_on_path(path.view(_Read), passing, times, positions)
    assert _Read.count < 20
    assert (np.diff(rows + fractions) >= -1e-9).all()
    found = path[rows] + fractions[:, None] * (path[rows + 1] - path[rows])
    assert np.abs(found - positions).max() < 1e-9
