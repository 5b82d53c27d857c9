"""Searches for collisions of pairs have the same result in several processes, and end when no lower minimum is
expected."""

import os
from fractions import Fraction

import pytest
from test_draft_pairs import URDF

from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.setup_assistant import pair_search
from robot_cell_planner.setup_assistant.approach import _are_complete
from robot_cell_planner.setup_assistant.pair_search import PairSearch, smallest_distances

SEED = 3


@pytest.fixture(scope="module")
def alone():
    """A search, and the distance of each pair computed without processes."""
    search = PairSearch(load_robot("panda", URDF))
    pairs = [(pair.first, pair.second) for pair in search._checker.allowed_pairs.checked()][::3]
    return search, pairs, [search.smallest_distance(pair, SEED) for pair in pairs]


@pytest.fixture
def started(monkeypatch):
    """The processes that are started, for as many processors as pairs."""
    found, start = [], pair_search.start_worker

    def recorded(*arguments):
        found.append(start(*arguments))
        return found[-1]

    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(100)))
    monkeypatch.setattr(pair_search, "PAIRS_A_PROCESS", 5)
    monkeypatch.setattr(pair_search, "start_worker", recorded)
    return found


def test_processes_find_the_same_distances_and_end(alone, started):
    search, pairs, expected = alone
    assert smallest_distances(search, pairs, SEED) == expected
    assert len(started) == len(pairs) // 5 - 1 > 0
    assert all(process.poll() is not None for _, _, process in started)


def test_pairs_of_failed_processes_are_searched_again(alone, started, monkeypatch):
    search, pairs, expected = alone
    monkeypatch.setattr(pair_search, "WORKER", "robot_cell_planner.no_such_module")
    assert smallest_distances(search, pairs, SEED) == expected
    assert started


def test_few_pairs_need_no_process(alone, started):
    search, pairs, expected = alone
    assert smallest_distances(search, pairs[:4], SEED) == expected[:4]
    assert smallest_distances(search, [], SEED) == []
    assert not started


@pytest.mark.parametrize("minima", [1, 2, 3, 5, 10, 30])
def test_a_search_ends_when_less_than_a_quarter_of_a_lower_minimum_is_expected(minima):
    """With w different minima after n starts, w (n - 1) / (n - w - 2) are expected (Boender and Rinnooy Kan); each one
    beyond those found is the lowest with a probability of 1 / (w + 1)."""
    for starts in range(minima, 3000):
        spare = starts - minima - 2
        lower = spare > 0 and (Fraction(minima * (starts - 1), spare) - minima) / (minima + 1)
        assert _are_complete(minima, starts) == (spare > 0 and lower < Fraction(1, 4))
    assert _are_complete(minima, 3000)
