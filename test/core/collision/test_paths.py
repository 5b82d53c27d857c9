"""Checks of paths: an early exit at the first collision, or all collisions in order with parameter, time and pair."""

import math

import numpy as np
import pytest
from collision_cells import arm, at, body, make_cell, place, sphere

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.paths import check_path, smallest_clearance
from robot_cell_planner.errors import InvalidRequestError

POST = 0.05


@pytest.fixture
def checker():
    """The horizontal arm turns about the vertical axis; a post is at the angle zero."""
    cell = make_cell((arm(),), (), (body("post", sphere(POST)),))
    return CollisionChecker(cell, place(cell.default_state(), "post", at(0.5, 0.0, 0.25)))


def sweep(count=9):
    path = np.zeros((count, 6))
    path[:, 0] = np.linspace(-1.0, 1.0, count)
    path[:, 1] = math.pi / 2
    return path


def test_all_collisions_are_listed_in_order(checker):
    path = sweep(41)
    times = np.linspace(0.0, 4.0, 41)
    report = check_path(checker, path, times, find_all=True)
    colliding = [index for index, q in enumerate(path) if checker.in_collision(q)]
    assert colliding
    assert sorted({c.point for c in report.collisions}) == colliding
    assert [c.place for c in report.collisions] == sorted(c.place for c in report.collisions)
    assert report.states_checked == 41
    for collision in report.collisions:
        assert collision.time == pytest.approx(times[collision.point])
        assert collision.pair in checker.report(path[collision.point]).pairs
        assert collision.pair.second == "post"


def test_the_quick_check_ends_at_the_first_collision(checker):
    report = check_path(checker, sweep(41))
    assert not report.valid
    assert len(report.collisions) == 1
    assert report.states_checked < 10
    assert checker.in_collision(sweep(41)[report.collisions[0].point])


def test_motions_between_waypoints_are_checked_on_request(checker):
    path = sweep(2)
    assert check_path(checker, path).valid
    report = check_path(checker, path, (0.0, 10.0), resolution=0.05, find_all=True)
    assert not report.valid
    assert report.states_checked == 41
    for collision in report.collisions:
        assert collision.point == 1
        assert 0.0 < collision.place < 1.0
        assert collision.time == pytest.approx(10.0 * collision.place)
    middle = [c.place for c in report.collisions]
    assert min(middle) + max(middle) == pytest.approx(1.0, abs=0.03)


def test_a_free_path_is_checked_everywhere(checker):
    path = sweep(17)
    path[:, 1] = 0.0
    for find_all in (False, True):
        report = check_path(checker, path, find_all=find_all, resolution=0.01)
        assert report.valid
        assert report.states_checked == 16 * 13 + 1


def test_the_list_can_be_limited(checker):
    report = check_path(checker, sweep(400), find_all=True, max_collisions=3)
    assert report.truncated
    assert len(report.collisions) == 3
    assert not check_path(checker, sweep(41), find_all=True).truncated


def test_smallest_clearance_is_the_smallest_of_all_states(checker):
    path = sweep(41)
    times = np.linspace(0.0, 4.0, 41)
    every = [checker.distance(q) for q in path]
    best = min(range(41), key=lambda index: every[index].distance)
    found = smallest_clearance(checker, path, times)
    assert found.clearance == every[best]
    assert found.place == best
    assert found.time == pytest.approx(times[best])
    assert check_path(checker, path, times, clearance=True).smallest == found
    assert check_path(checker, path).smallest is None


def test_malformed_paths_are_refused(checker):
    with pytest.raises(InvalidRequestError, match=r"expected \(k, 6\)"):
        check_path(checker, np.zeros((3, 5)))
    bad = sweep()
    bad[4, 0] = np.nan
    with pytest.raises(InvalidRequestError, match="configuration 4"):
        check_path(checker, bad)
    with pytest.raises(InvalidRequestError, match="times have shape"):
        check_path(checker, sweep(), (0.0, 1.0))
    with pytest.raises(InvalidRequestError, match="decrease"):
        check_path(checker, sweep(2), (1.0, 0.0))
    with pytest.raises(InvalidRequestError, match="resolution"):
        check_path(checker, sweep(), resolution=-0.1)
    with pytest.raises(InvalidRequestError, match="max_collisions"):
        check_path(checker, sweep(), max_collisions=0)


def test_empty_paths_and_single_points(checker):
    assert check_path(checker, np.empty((0, 6))).valid
    assert check_path(checker, sweep(1), resolution=0.1).states_checked == 1
    assert smallest_clearance(checker, np.empty((0, 6))).clearance.distance == math.inf
